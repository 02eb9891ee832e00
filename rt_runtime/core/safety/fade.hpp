#pragma once

#include "engine/block.hpp"
#include "safety/monitor.hpp"

namespace hmor {

/// Feedback that fades once the monitor leads the test to its end. Inputs: values (n), state of the monitor.
///
///   y = s u,   s = 1 until the state is ramping or tripped, then 1 - 3 r^2 + 2 r^3 with r from 0 to 1 in `ticks` ticks
class Fade final : public Block {
 public:
  /// Outside the loop.
  Fade(int channels, int ticks) : Block(channels + 1, channels, 1), ticks_(ticks) {
    if (ticks < 1) throw std::invalid_argument("ticks of Fade must be at least 1.");
  }
  void step(double, const double* in, double* out) noexcept override {
    const bool ending = in[n_out()] >= static_cast<double>(State::ramping);
    if ((ending || k_ > 0) && k_ < ticks_) ++k_;
    const double r = static_cast<double>(k_) / ticks_;
    const double s = 1.0 - r * r * (3.0 - 2.0 * r);
    for (int i = 0; i < n_out(); ++i) out[i] = s > 0.0 ? s * in[i] : 0.0;
  }
  void reset() noexcept override { k_ = 0; }
  Work work() const noexcept override { return {n_out() + 6.0}; }

 private:
  int ticks_, k_ = 0;
};

}  // namespace hmor
