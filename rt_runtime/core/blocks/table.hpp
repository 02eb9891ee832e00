#pragma once

#include <vector>

#include "engine/block.hpp"
#include "math/dense.hpp"

namespace hmor {

/// Excitation from a table by linear interpolation: y(t) between the rows around t, the first and last row outside.
///
///   w = (t - t_i) / (t_{i+1} - t_i),   y = (1 - w) row_i + w row_{i+1}
class Table final : public Block {
 public:
  /// Outside the loop. Strictly increasing times (r), values (r, n_out).
  Table(std::vector<double> times, const Matrix& values);

  void step(double t, const double* in, double* out) noexcept override;
  void reset() noexcept override { row_ = 0; }

 private:
  std::vector<double> times_;
  std::vector<double> values_;  // row by row
  int row_ = 0;                 // where the last call found t
};

}  // namespace hmor
