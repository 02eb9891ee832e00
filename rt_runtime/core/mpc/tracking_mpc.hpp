#pragma once

#include <algorithm>
#include <vector>

#include "control/extrapolator.hpp"
#include "mpc/mpc.hpp"

namespace hmor {

/// Predictive controller that makes the preview of its reference itself. For i = 1 .. P one of
///
///   r(k+i) = sum_a w_a((i + lead) / spacing) target(k - a spacing),   a = 0 .. order, w_a as of Extrapolator
///   r(k+i) = target(k) + E_i x(k),   x the state of the numerical part, E_i x the change of the target until then
///
/// Both are r = R q with a constant R and few numbers q, so that R is part of the gains of the controller.
/// Inputs: target (p), measured (p), then x where E is given. Outputs: command (m), iterations and status as of Mpc.
class TrackingMpc final : public Block {
 public:
  /// Outside the loop. Arguments of Mpc, then of Extrapolator; leads in intervals, one for each step.
  TrackingMpc(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& gain, const Horizon& horizon,
              double period, int order, int spacing, const std::vector<double>& leads)
      : TrackingMpc(a, b, c, gain, horizon, period, polynomial(order, spacing, leads, c.rows()), order, spacing, 0) {}
  /// Outside the loop. e (P p, n_x), step by step.
  TrackingMpc(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& gain, const Horizon& horizon,
              double period, const Matrix& e)
      : TrackingMpc(a, b, c, gain, horizon, period, from_state(e, c.rows()), 0, 1, e.cols()) {}

  void step(double t, const double* in, double* out) noexcept override {
    const int p = outputs_;
    if (!started_) {  // values before the first are taken equal to it
      started_ = true;
      for (int row = 0; row < length_; ++row) std::copy(in, in + p, past_.begin() + static_cast<std::ptrdiff_t>(row) * p);
    }
    newest_ = newest_ + 1 == length_ ? 0 : newest_ + 1;
    std::copy(in, in + p, past_.begin() + static_cast<std::ptrdiff_t>(newest_) * p);
    double* q = argument_.data();
    for (int a = 0, row = newest_; a < points_; ++a, q += p) {
      std::copy_n(past_.begin() + static_cast<std::ptrdiff_t>(row) * p, p, q);
      row = row < spacing_ ? row - spacing_ + length_ : row - spacing_;
    }
    q = std::copy(in + 2 * p, in + 2 * p + states_, q);
    std::copy(in + p, in + 2 * p, q);
    mpc_.step(t, argument_.data(), out);
    fault_ = mpc_.fault();
  }
  void reset() noexcept override {
    mpc_.reset();
    fault_ = 0;
    started_ = false;
  }

  /// The preview is part of the gains; targets are only copied.
  Work work() const noexcept override { return mpc_.work(); }

  /// Outside the loop. K with the minimum without constraints = K [x; q; u(k-1)].
  const Matrix& gains() const noexcept { return mpc_.gains(); }
  /// Outside the loop. H and the Gram matrix of the bounds, as of Mpc.
  const Matrix& hessian() const noexcept { return mpc_.hessian(); }
  const Matrix& gram() const noexcept { return mpc_.gram(); }
  /// Outside the loop. R with references = R q.
  const Matrix& preview() const noexcept { return preview_; }

 private:
  TrackingMpc(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& gain, const Horizon& horizon,
              double period, const Matrix& preview, int order, int spacing, int states)
      : Block(2 * c.rows() + states, b.cols() + 2, a.rows() + b.cols() + c.rows() * (order * spacing + 1), period),
        outputs_(c.rows()),
        points_(order + 1),
        spacing_(spacing),
        length_(order * spacing + 1),
        states_(states),
        preview_(preview),
        mpc_(a, b, c, gain, horizon, period, preview),
        past_(static_cast<std::size_t>(length_ * outputs_), 0.0),
        argument_(static_cast<std::size_t>(mpc_.n_in()), 0.0) {}

  static Matrix polynomial(int order, int spacing, const std::vector<double>& leads, int p) {
    if (order < 0 || spacing < 1) throw std::invalid_argument("order and spacing of TrackingMpc do not fit.");
    Matrix map(static_cast<int>(leads.size()) * p, (order + 1) * p);
    for (int i = 0; i < static_cast<int>(leads.size()); ++i) {
      const std::vector<double> w = Extrapolator::weights(order, leads[i] / spacing);
      for (int a = 0; a <= order; ++a)
        for (int j = 0; j < p; ++j) map(i * p + j, a * p + j) = w[a];
    }
    return map;
  }
  static Matrix from_state(const Matrix& e, int p) {
    Matrix map(e.rows(), p + e.cols());
    for (int k = 0; k < e.rows(); ++k) {
      map(k, k % p) = 1.0;
      for (int j = 0; j < e.cols(); ++j) map(k, p + j) = e(k, j);
    }
    return map;
  }

  int outputs_, points_, spacing_, length_, states_;
  int newest_ = 0;
  bool started_ = false;
  Matrix preview_;
  Mpc mpc_;
  std::vector<double> past_, argument_;
};

}  // namespace hmor
