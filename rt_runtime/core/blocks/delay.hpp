#pragma once

#include <vector>

#include "block.hpp"

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
  std::vector<double> ring_;  // `length_` rows of n_in numbers
  int whole_, length_, newest_ = 0;
  double fraction_;
};

}  // namespace hmor
