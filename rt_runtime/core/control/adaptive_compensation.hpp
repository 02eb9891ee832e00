#pragma once

#include <array>
#include <vector>

#include "control/learning_block.hpp"
#include "blocks/filter.hpp"

namespace hmor {

/// First-order adaptive model-based compensation of one channel (T the period, D backward difference / T):
///
///   x_c = a0 x_t + a1 D x_t
///   w_c, w_m = low-pass of x_c, x_m,   e = (w_c - a0 w_m - a1 D w_m) / (1 + w_m^2 + (D w_m)^2)
///   a0 += T Gamma0 e w_m,   a1 += T Gamma1 e D w_m,   both clipped to their bounds
///
/// Inputs: target x_t, measured x_m. Outputs: command x_c, a0, a1. a0 and a1 stay while the monitor holds or ends the
/// test.
class AdaptiveCompensation final : public LearningBlock {
 public:
  struct Coefficient {
    double initial, gain, lower, upper;
  };

  /// Outside the loop. `low_pass` may be empty.
  AdaptiveCompensation(std::array<Coefficient, 2> coefficients, std::vector<Filter::Section> low_pass, double period)
      : LearningBlock(2, 3, 6 + 4 * static_cast<int>(low_pass.size()), period),
        coefficients_(coefficients),
        low_pass_(std::move(low_pass), 2) {
    if (!(period > 0.0)) throw std::invalid_argument("period of AdaptiveCompensation must be positive.");
    reset();
  }

  void step(double t, const double* in, double* out) noexcept override {
    const double rate = started_ ? (in[0] - target_) / period() : 0.0;
    target_ = in[0];
    const double command = a_[0] * in[0] + a_[1] * rate;
    const double raw[2] = {command, in[1]};
    double smooth[2];
    low_pass_.step(t, raw, smooth);
    const double w = smooth[1], dw = started_ ? (w - measured_) / period() : 0.0;
    measured_ = w;
    started_ = true;
    const double error = (smooth[0] - a_[0] * w - a_[1] * dw) / (1.0 + w * w + dw * dw);
    if (learns()) {
      adapt(0, error * w);
      adapt(1, error * dw);
    }
    out[0] = command;
    out[1] = a_[0];
    out[2] = a_[1];
  }
  void reset() noexcept override {
    learns_anew();
    a_ = {coefficients_[0].initial, coefficients_[1].initial};
    low_pass_.reset();
    target_ = measured_ = 0.0;
    started_ = false;
  }
  Work work() const noexcept override { return {28.0 + low_pass_.work().flops}; }

 private:
  void adapt(int i, double slope) noexcept {
    const Coefficient& c = coefficients_[i];
    const double next = a_[i] + period() * c.gain * slope;
    a_[i] = next > c.upper ? c.upper : next < c.lower ? c.lower : next;
  }

  std::array<Coefficient, 2> coefficients_;
  Filter low_pass_;
  std::array<double, 2> a_{};
  double target_ = 0.0, measured_ = 0.0;
  bool started_ = false;
};

}  // namespace hmor
