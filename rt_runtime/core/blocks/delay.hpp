#pragma once

#include <vector>

#include "engine/block.hpp"

namespace hmor {

/// Delay of d >= 0 steps, whole or fractional, the same for every channel; d = n + f with whole n and 0 <= f < 1:
///
///   y_k = (1 - f) u_{k-n} + f u_{k-n-1},   u before the first step = initial
class Delay final : public Block {
 public:
  /// Outside the loop. `initial` has one number per channel.
  Delay(double steps, std::vector<double> initial);

  void step(double t, const double* in, double* out) noexcept override;
  void reset() noexcept override;

 private:
  std::vector<double> initial_;
  std::vector<double> ring_;         // rows of n_in numbers, one row more than the delay needs
  double *write_, *recent_, *older_;  // rows for u_k, u_{k-n}, u_{k-n-1}
  int whole_;
  double fraction_;
};

}  // namespace hmor
