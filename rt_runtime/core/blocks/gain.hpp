#pragma once

#include <vector>

#include "engine/block.hpp"
#include "math/dense.hpp"

namespace hmor {

/// Weighted sums with an offset: y = K u + c. A gain is a 1 x 1 K, a sum a row of signs.
class Gain final : public Block {
 public:
  /// Outside the loop. matrix (n_out, n_in), offset (n_out).
  Gain(Matrix matrix, std::vector<double> offset)
      : Block(matrix.cols(), matrix.rows()), matrix_(std::move(matrix)), offset_(std::move(offset)), y_(matrix_.ld()) {
    if (static_cast<int>(offset_.size()) != n_out())
      throw std::invalid_argument("offset of Gain must have one number per row of the matrix.");
  }

  void step(double, const double* in, double* out) noexcept override {
    multiply(matrix_, in, y_.data());
    for (int i = 0; i < n_out(); ++i) out[i] = y_[i] + offset_[i];
  }
  void reset() noexcept override {}
  Work work() const noexcept override { return {2.0 * n_in() * n_out() + n_out()}; }

 private:
  Matrix matrix_;
  std::vector<double> offset_, y_;
};

}  // namespace hmor
