#pragma once

#include "engine/block.hpp"

namespace hmor {

/// PI controller behind a phase lead on the reference; one channel, bilinear (Tustin) rule.
///
///   v_k = b0 r_k + b1 r_{k-1} - a1 v_{k-1},   e = v - y,   i_k = i_{k-1} + k_i T/2 (e_k + e_{k-1}),   u = k_p e + i
///
/// u is clipped to its limits; the integral stands still while that clips u and e would push it further.
class PiLead final : public Block {
 public:
  /// Outside the loop. Lead as a discrete first-order section b0 b1 a1; limits may be infinite.
  PiLead(double kp, double ki, double b0, double b1, double a1, double lower, double upper, double period)
      : Block(2, 1, 4, period), kp_(kp), half_(0.5 * ki * period), b0_(b0), b1_(b1), a1_(a1), lower_(lower), upper_(upper) {}

  void step(double, const double* in, double* out) noexcept override {
    lead_ = b0_ * in[0] + b1_ * reference_ - a1_ * lead_;
    reference_ = in[0];
    const double error = lead_ - in[1];
    const double integral = integral_ + half_ * (error + error_);
    error_ = error;
    const double u = kp_ * error + integral;
    const bool stuck = (u > upper_ && integral > integral_) || (u < lower_ && integral < integral_);
    if (!stuck) integral_ = integral;
    out[0] = u > upper_ ? upper_ : u < lower_ ? lower_ : u;
  }
  void reset() noexcept override { lead_ = reference_ = error_ = integral_ = 0.0; }

 private:
  double kp_, half_, b0_, b1_, a1_, lower_, upper_;
  double lead_ = 0.0, reference_ = 0.0, error_ = 0.0, integral_ = 0.0;
};

}  // namespace hmor
