#pragma once

#include <vector>

#include "engine/block.hpp"

namespace hmor {

/// Lagrange extrapolation through order + 1 past values that stand `spacing` steps apart, for each of several leads.
/// With theta = lead / spacing and a, b = 0 .. order:
///
///   y = sum_a w_a u_{k - a spacing},   w_a = prod_{b != a} (theta + b) / (b - a)
///
/// Exact for polynomials up to `order`. Order 4 and lead = spacing give 5, -10, 10, -5, 1. Values before the first
/// step are taken equal to the first one. Outputs stand lead by lead, channels within.
class Extrapolator final : public Block {
 public:
  /// Outside the loop. `leads` in steps, any sign.
  Extrapolator(int order, int spacing, const std::vector<double>& leads, int channels);

  void step(double t, const double* in, double* out) noexcept override;
  void reset() noexcept override { started_ = false; }
  Work work() const noexcept override { return {2.0 * points_ * n_out()}; }

  /// Outside the loop. w_a for one theta.
  static std::vector<double> weights(int order, double theta);

 private:
  int points_, spacing_, length_, newest_ = 0;
  std::vector<double> weights_;  // lead by lead
  std::vector<double> ring_;     // `length_` rows of n_in numbers
  bool started_ = false;
};

}  // namespace hmor
