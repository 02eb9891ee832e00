#pragma once

#include <array>
#include <vector>

#include "engine/block.hpp"

namespace hmor {

/// Digital filter as a cascade of second-order sections, the same for every channel (transposed direct form II).
/// Section with coefficients b0 b1 b2 a1 a2 (a0 = 1) and memory s1, s2:
///
///   y = b0 u + s1,   s1 <- b1 u - a1 y + s2,   s2 <- b2 u - a2 y
class Filter final : public Block {
 public:
  using Section = std::array<double, 5>;  // b0 b1 b2 a1 a2

  /// Outside the loop.
  Filter(std::vector<Section> sections, int channels)
      : Block(channels, channels, channels * 2 * static_cast<int>(sections.size())),
        sections_(std::move(sections)),
        memory_(static_cast<std::size_t>(n_state()), 0.0) {}

  void step(double, const double* in, double* out) noexcept override {
    double* s = memory_.data();
    for (int i = 0; i < n_in(); ++i) {
      double value = in[i];
      for (const auto& [b0, b1, b2, a1, a2] : sections_) {
        const double y = b0 * value + s[0];
        s[0] = b1 * value - a1 * y + s[1];
        s[1] = b2 * value - a2 * y;
        value = y;
        s += 2;
      }
      out[i] = value;
    }
  }
  void reset() noexcept override { memory_.assign(memory_.size(), 0.0); }
  Work work() const noexcept override { return {9.0 * n_in() * static_cast<double>(sections_.size())}; }

 private:
  std::vector<Section> sections_;
  std::vector<double> memory_;
};

}  // namespace hmor
