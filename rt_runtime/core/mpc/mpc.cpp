#include "mpc/mpc.hpp"

#include <algorithm>

namespace hmor {

MoveBounds::MoveBounds(const Horizon& horizon, int channels)
    : horizon_(horizon), channels_(channels), n_(channels * horizon.control) {
  const auto size = static_cast<std::size_t>(channels);
  for (const std::vector<double>* list : {&horizon.lower, &horizon.upper, &horizon.least_move, &horizon.most_move})
    if (list->size() != size) throw std::invalid_argument("bounds of a horizon must have one number per input.");
  lower_.assign(2 * n_, 0.0);
  upper_.assign(2 * n_, 0.0);
  for (int i = 0; i < n_; ++i) {
    lower_[i] = horizon.least_move[i % channels];
    upper_[i] = horizon.most_move[i % channels];
  }
}

void MoveBounds::update(const double* u) noexcept {
  for (int i = 0, c = 0; i < n_; ++i) {
    lower_[n_ + i] = horizon_.lower[c] - u[c];
    upper_[n_ + i] = horizon_.upper[c] - u[c];
    if (++c == channels_) c = 0;
  }
}

double MoveBounds::apply(int channel, double u, double move) const noexcept {
  move = std::min(std::max(move, horizon_.least_move[channel]), horizon_.most_move[channel]);
  return std::min(std::max(u + move, horizon_.lower[channel]), horizon_.upper[channel]);
}

namespace {

/// Theta (P p, Mc m) and the free response [Phi S] (P p, n + m).
struct Prediction {
  Matrix theta, free;
};

Prediction predict(const Matrix& a, const Matrix& b, const Matrix& c, int steps, int moves) {
  const int n = a.rows(), m = b.cols(), p = c.rows();
  Prediction result{Matrix(steps * p, moves * m), Matrix(steps * p, n + m)};
  Matrix power = c;           // C A^(i-1)
  Matrix response(p, m);      // s_i = sum_{l < i} C A^l B
  for (int i = 0; i < steps; ++i) {
    for (int r = 0; r < p; ++r)
      for (int q = 0; q < m; ++q)
        for (int k = 0; k < n; ++k) response(r, q) += power(r, k) * b(k, q);
    Matrix next(p, n);
    for (int r = 0; r < p; ++r)
      for (int q = 0; q < n; ++q)
        for (int k = 0; k < n; ++k) next(r, q) += power(r, k) * a(k, q);
    power = next;
    for (int r = 0; r < p; ++r) {
      for (int q = 0; q < n; ++q) result.free(i * p + r, q) = power(r, q);
      for (int q = 0; q < m; ++q) result.free(i * p + r, n + q) = response(r, q);
      for (int row = i, j = 0; j < moves && row < steps; ++row, ++j)
        for (int q = 0; q < m; ++q) result.theta(row * p + r, j * m + q) = response(r, q);
    }
  }
  return result;
}

}  // namespace

namespace {

/// References as they come in: one for each step, or the same for all of them.
Matrix plain_preview(const Horizon& horizon, int outputs) {
  const int all = horizon.prediction * outputs;
  Matrix map(all, horizon.preview ? all : outputs);
  for (int k = 0; k < all; ++k) map(k, horizon.preview ? k : k % outputs) = 1.0;
  return map;
}

}  // namespace

Mpc::Mpc(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& gain, const Horizon& horizon, double period)
    : Mpc(a, b, c, gain, horizon, period, plain_preview(horizon, c.rows())) {}

Mpc::Mpc(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& gain, const Horizon& horizon, double period,
         const Matrix& preview)
    : Block(preview.cols() + c.rows(), b.cols() + 2, a.rows() + b.cols(), period),
      inputs_(b.cols()),
      outputs_(c.rows()),
      references_(preview.cols()),
      estimator_(a, b, c, gain),
      bounds_(horizon, b.cols()),
      qp_(b.cols(), horizon.control, horizon.max_iterations),
      u_(b.cols(), 0.0) {
  const int n = a.rows(), m = inputs_, p = outputs_, steps = horizon.prediction, size = qp_.size();
  if (steps < horizon.control || preview.rows() != steps * p || horizon.output_weight.size() != static_cast<std::size_t>(p) ||
      horizon.move_weight.size() != static_cast<std::size_t>(m))
    throw std::invalid_argument("horizon and weights of Mpc do not fit the model.");
  const auto [theta, free] = predict(a, b, c, steps, horizon.control);

  // Theta' W_y^2, then H and the linear term as a product with [x; r; u(k-1)].
  Matrix weighted(size, steps * p);
  for (int i = 0; i < size; ++i)
    for (int k = 0; k < steps * p; ++k) {
      const double w = horizon.output_weight[k % p];
      weighted(i, k) = w * w * theta(k, i);
    }
  hessian_ = Matrix(size, size);
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j)
      for (int k = 0; k < steps * p; ++k) hessian_(i, j) += weighted(i, k) * theta(k, j);
    const double w = horizon.move_weight[i % m];
    hessian_(i, i) += w * w;
  }
  if (!qp_.set_hessian(hessian_)) throw std::invalid_argument("the cost of Mpc is not strictly convex.");
  gains_ = Matrix(size, n + references_ + m);
  for (int i = 0; i < size; ++i)
    for (int k = 0; k < steps * p; ++k) {
      for (int j = 0; j < n; ++j) gains_(i, j) -= weighted(i, k) * free(k, j);
      for (int j = 0; j < references_; ++j)
        if (preview(k, j) != 0.0) gains_(i, n + j) += weighted(i, k) * preview(k, j);
      for (int j = 0; j < m; ++j) gains_(i, n + references_ + j) -= weighted(i, k) * free(k, n + j);
    }
  for (int j = 0; j < gains_.cols(); ++j) solve(qp_.factor(), gains_.column(j));
  argument_.assign(gains_.cols(), 0.0);
  moves_.assign(gains_.ld(), 0.0);
  qp_.prepare();
}

void Mpc::step(double, const double* in, double* out) noexcept {
  const int n = estimator_.size();
  estimator_.correct(in + references_);
  double* z = argument_.data();
  std::copy(estimator_.state(), estimator_.state() + n, z);
  std::copy(in, in + references_, z + n);
  std::copy(u_.begin(), u_.end(), z + n + references_);
  multiply(gains_, z, moves_.data());
  bounds_.update(u_.data());
  const QpResult result = qp_.solve_from(moves_.data(), bounds_.lower(), bounds_.upper());
  for (int i = 0; i < inputs_; ++i) out[i] = u_[i] = bounds_.apply(i, u_[i], qp_.solution()[i]);
  out[inputs_] = result.iterations;
  out[inputs_ + 1] = static_cast<double>(result.status);
  fault_ = result.status == QpStatus::not_finite ? 1 : 0;
  estimator_.predict(u_.data());
}

void Mpc::reset() noexcept {
  estimator_.reset();
  qp_.reset();
  fault_ = 0;
  u_.assign(u_.size(), 0.0);
}

}  // namespace hmor
