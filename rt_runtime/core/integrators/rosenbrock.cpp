#include "integrators/rosenbrock.hpp"

#include <algorithm>
#include <cmath>

namespace hmor {

namespace {
const double gamma_ = 1.0 + std::sqrt(0.5);
}

Rosenbrock::Rosenbrock(Equations model, Jacobian jacobian, int n_in, int n_out, std::vector<double> initial,
                       std::vector<double> parameters, std::vector<double> scales, double period, int substeps,
                       Hold hold, Update update)
    : Integrator(model, n_in, n_out, std::move(initial), std::move(parameters), period, substeps, hold, update),
      jacobian_(jacobian),
      scales_(std::move(scales)),
      w_(static_cast<std::size_t>(n_state()) * n_state() + 1),
      k1_(n_state() + 1),
      k2_(n_state() + 1),
      trial_(n_state() + 1),
      pivot_(n_state() + 1) {
  if (static_cast<int>(scales_.size()) != n_state())
    throw std::invalid_argument("scales of Rosenbrock must have one number per state.");
  for (double scale : scales_)
    if (!(scale > 0.0)) throw std::invalid_argument("scales of Rosenbrock must be positive.");
}

inline void Rosenbrock::substep(double t, double h, double* y) noexcept {
  const int n = n_state();
  input_at(0.0);
  evaluate(t, x_.data(), k1_.data(), y);
  form_jacobian(t);
  const double gh = gamma_ * h;
  for (int i = 0; i < n * n; ++i) w_[i] *= -gh;
  for (int i = 0; i < n; ++i) w_[i * n + i] += 1.0;
  if (!factor()) {
    fault_ = 1;
    return;
  }
  solve(k1_.data());
  for (int i = 0; i < n; ++i) trial_[i] = x_[i] + h * k1_[i];
  input_at(1.0);
  evaluate(t + h, trial_.data(), k2_.data(), scratch());
  for (int i = 0; i < n; ++i) k2_[i] -= 2.0 * k1_[i];
  solve(k2_.data());
  for (int i = 0; i < n; ++i) x_[i] += 0.5 * h * (3.0 * k1_[i] + k2_[i]);
}

/// w_ = df/dx; k1_ holds f(t, x) already.
void Rosenbrock::form_jacobian(double t) noexcept {
  if (jacobian_ != nullptr) {
    jacobian_(t, x_.data(), input(), parameters(), w_.data());
    return;
  }
  const int n = n_state();
  std::copy(x_.begin(), x_.begin() + n, trial_.begin());
  for (int j = 0; j < n; ++j) {
    trial_[j] = x_[j] + 1e-7 * std::max(std::abs(x_[j]), scales_[j]);
    const double moved = trial_[j] - x_[j];
    evaluate(t, trial_.data(), k2_.data(), scratch());
    for (int i = 0; i < n; ++i) w_[i * n + j] = (k2_[i] - k1_[i]) / moved;
    trial_[j] = x_[j];
  }
}

/// In place P W = L U with row exchanges, by rows; false when W is singular.
bool Rosenbrock::factor() noexcept {
  const int n = n_state();
  double* w = w_.data();
  for (int k = 0; k < n; ++k) {
    int best = k;
    for (int i = k + 1; i < n; ++i)
      if (std::abs(w[i * n + k]) > std::abs(w[best * n + k])) best = i;
    pivot_[k] = best;
    if (!(std::abs(w[best * n + k]) > 0.0)) return false;
    if (best != k)
      for (int j = 0; j < n; ++j) std::swap(w[k * n + j], w[best * n + j]);
    const double inverse = 1.0 / w[k * n + k];
    for (int i = k + 1; i < n; ++i) {
      if (w[i * n + k] == 0.0) continue;  // most models couple few of their states
      const double factor = w[i * n + k] *= inverse;
      for (int j = k + 1; j < n; ++j) w[i * n + j] -= factor * w[k * n + j];
    }
  }
  return true;
}

void Rosenbrock::solve(double* b) const noexcept {
  const int n = n_state();
  const double* w = w_.data();
  for (int k = 0; k < n; ++k) std::swap(b[k], b[pivot_[k]]);
  for (int i = 1; i < n; ++i) {
    double sum = b[i];
    for (int j = 0; j < i; ++j) sum -= w[i * n + j] * b[j];
    b[i] = sum;
  }
  for (int i = n - 1; i >= 0; --i) {
    double sum = b[i];
    for (int j = i + 1; j < n; ++j) sum -= w[i * n + j] * b[j];
    b[i] = sum / w[i * n + i];
  }
}

void Rosenbrock::step(double t, const double* in, double* out) noexcept { step_by(*this, t, in, out); }

}  // namespace hmor
