#pragma once

#include <cmath>
#include <vector>

#include "control/learning_block.hpp"
#include "blocks/filter.hpp"
#include "math/dense.hpp"

namespace hmor {

/// Model-based compensation of one channel. With F the inverse plant behind a low-pass (second-order sections), K the
/// LQG feedback on the low-pass (x+ = A x + B e, mu = C x + D e) and a first-order reference model M:
///
///   e = r - y,   mu = K e,   y_m = M r,   eps = y - y_m,   q = r + mu - theta,   u = F q
///   theta+ = theta + T Gamma g,   f = (theta^2 - theta_max^2) / (eps_t theta_max^2),
///   g = eps (1 - f) when f >= 0 and theta eps > 0, else eps
///
/// No K and Gamma = 0: feedforward. Gamma = 0: modified model-based control (mMBC). All: adaptive model reference
/// control (aMRC) with projection, |theta| <= theta_max sqrt(1 + eps_t). Outputs: command u, theta. theta stays while the
/// monitor holds or ends the test.
class ModelBasedCompensator final : public LearningBlock {
 public:
  struct Adaptation {
    double rate = 0.0;                        // Gamma in 1/s
    double largest = 1.0, margin = 0.1;       // theta_max, eps_t
    double b0 = 1.0, b1 = 0.0, a1 = 0.0;      // M as a discrete section
  };

  /// Outside the loop. Feedback a (n, n), b (n, 1), c (1, n), d; n may be 0.
  ModelBasedCompensator(std::vector<Filter::Section> inverse, const Matrix& a, const Matrix& b, const Matrix& c, double d,
             const Adaptation& adaptation, double period)
      : LearningBlock(2, 2, a.rows() + 2 * static_cast<int>(inverse.size()) + 3, period),
        inverse_(std::move(inverse), 1),
        a_(a),
        b_(b.rows()),
        c_(b.rows()),
        d_(d),
        adaptation_(adaptation),
        x_(a.rows(), 0.0),
        next_(a.ld(), 0.0) {
    const int n = a.rows();
    if (a.cols() != n || b.rows() != n || c.cols() != n || (n > 0 && (b.cols() != 1 || c.rows() != 1)))
      throw std::invalid_argument("A, B and C of the feedback of ModelBasedCompensator do not fit together.");
    for (int i = 0; i < n; ++i) {
      b_[i] = b(i, 0);
      c_[i] = c(0, i);
    }
  }

  void step(double t, const double* in, double* out) noexcept override {
    const double r = in[0], y = in[1];
    const int n = a_.rows();
    double q = r - theta_ + d_ * (r - y);
    for (int i = 0; i < n; ++i) q += c_[i] * x_[i];
    if (n > 0) multiply(a_, x_.data(), next_.data());
    for (int i = 0; i < n; ++i) x_[i] = next_[i] + b_[i] * (r - y);
    out[1] = theta_;
    if (adaptation_.rate != 0.0) adapt(r, y);
    inverse_.step(t, &q, out);
  }
  void reset() noexcept override {
    inverse_.reset();
    x_.assign(x_.size(), 0.0);
    model_ = reference_ = theta_ = 0.0;
    learns_anew();
  }
  Work work() const noexcept override {
    const double n = a_.rows();
    return {2.0 * n * n + 4.0 * n + 6.0 + inverse_.work().flops + (adaptation_.rate != 0.0 ? 24.0 : 0.0)};
  }

 private:
  void adapt(double r, double y) noexcept {
    const Adaptation& s = adaptation_;
    model_ = s.b0 * r + s.b1 * reference_ - s.a1 * model_;
    reference_ = r;
    if (!learns()) return;
    const double eps = y - model_, limit = s.largest * s.largest;
    const double f = (theta_ * theta_ - limit) / (s.margin * limit);
    const double growth = f >= 0.0 && theta_ * eps > 0.0 ? eps * (1.0 - f) : eps;
    // The projection bounds theta in continuous time; one long step must not jump across it.
    const double edge = s.largest * std::sqrt(1.0 + s.margin);
    const double next = theta_ + period() * s.rate * growth;
    theta_ = next > edge ? edge : next < -edge ? -edge : next;
  }

  Filter inverse_;
  Matrix a_;
  std::vector<double> b_, c_;
  double d_;
  Adaptation adaptation_;
  std::vector<double> x_, next_;
  double model_ = 0.0, reference_ = 0.0, theta_ = 0.0;
};

}  // namespace hmor
