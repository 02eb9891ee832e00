#pragma once

#include <vector>

#include "engine/block.hpp"
#include "math/dense.hpp"

namespace hmor {

/// State estimate of x+ = A x + B u, y = C x with a constant gain M:
///
///   correct    x(k|k)   = x(k|k-1) + M [y(k) - C x(k|k-1)]
///   predict    x(k+1|k) = A x(k|k) + B u(k)
class Estimator {
 public:
  /// Outside the loop. a (n, n), b (n, m), c (p, n), gain (n, p).
  Estimator(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& gain)
      : advance_(a.rows(), a.rows() + b.cols()), c_(c), gain_(gain), u_(a.rows()), x_(a.rows() + b.cols() + 4),
        next_(advance_.ld()), error_(c_.ld()), change_(gain_.ld()) {
    const int n = a.rows();
    if (a.cols() != n || b.rows() != n || c.cols() != n || gain.rows() != n || gain.cols() != c.rows())
      throw std::invalid_argument("A, B, C and gain of an estimator do not fit together.");
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n + b.cols(); ++j) advance_(i, j) = j < n ? a(i, j) : b(i, j - n);
  }

  // In the loop.
  void correct(const double* y) noexcept {
    multiply(c_, x_.data(), error_.data());
    for (int i = 0; i < c_.rows(); ++i) error_[i] = y[i] - error_[i];
    multiply(gain_, error_.data(), change_.data());
    for (int i = 0; i < u_; ++i) x_[i] += change_[i];
  }
  void predict(const double* u) noexcept {
    for (int i = u_; i < advance_.cols(); ++i) x_[i] = u[i - u_];
    multiply(advance_, x_.data(), next_.data());
    for (int i = 0; i < u_; ++i) x_[i] = next_[i];
  }
  void reset() noexcept { x_.assign(x_.size(), 0.0); }
  const double* state() const noexcept { return x_.data(); }
  int size() const noexcept { return u_; }

 private:
  Matrix advance_;  // [A B]
  Matrix c_, gain_;
  int u_;                                            // where u stands behind x
  std::vector<double> x_, next_, error_, change_;
};

/// Kalman filter with a constant gain as a block: [u(k-1), y(k)] -> x(k|k).
class KalmanFilter final : public Block {
 public:
  /// Outside the loop.
  KalmanFilter(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& gain, double period)
      : Block(b.cols() + c.rows(), a.rows(), a.rows(), period), estimator_(a, b, c, gain), inputs_(b.cols()) {}

  void step(double, const double* in, double* out) noexcept override {
    estimator_.predict(in);
    estimator_.correct(in + inputs_);
    for (int i = 0; i < n_out(); ++i) out[i] = estimator_.state()[i];
  }
  void reset() noexcept override { estimator_.reset(); }
  /// [A B] once, C and the gain once each.
  Work work() const noexcept override {
    const double n = n_out(), m = inputs_, p = n_in() - inputs_;
    return {2.0 * n * (n + m) + 4.0 * n * p + n + p};
  }

 private:
  Estimator estimator_;
  int inputs_;
};

}  // namespace hmor
