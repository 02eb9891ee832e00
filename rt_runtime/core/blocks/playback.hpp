#pragma once

#include <vector>

#include "engine/block.hpp"

namespace hmor {

/// Gives out a recorded row each step, the last one again at the end: y_k = values[min(k, rows - 1)].
class Playback final : public Block {
 public:
  /// Outside the loop. `values` row after row, `width` numbers each.
  Playback(std::vector<double> values, int width) : Block(0, width, 1), values_(std::move(values)) {
    if (width < 1 || values_.empty() || values_.size() % static_cast<std::size_t>(width) != 0)
      throw std::invalid_argument("values of Playback must have at least one whole row.");
    last_ = values_.size() / static_cast<std::size_t>(width) - 1;
  }
  void step(double, const double*, double* out) noexcept override {
    const double* row = values_.data() + k_ * static_cast<std::size_t>(n_out());
    for (int i = 0; i < n_out(); ++i) out[i] = row[i];
    if (k_ < last_) ++k_;
  }
  void reset() noexcept override { k_ = 0; }

 private:
  std::vector<double> values_;
  std::size_t k_ = 0, last_;
};

}  // namespace hmor
