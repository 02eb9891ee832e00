#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/block.hpp"
#include "engine/health.hpp"

namespace hmor {

/// Numbers that the operator may change while the test runs, each within its range and no faster than its rate:
///
///   y <- y + clamp(g - y, -r dt, r dt),   g <- clamp(value, lower, upper) with an order to tune
///
/// The order and its arguments (number of the tunable, value) come from the host, so a replay takes y from the record.
/// Outputs: y.
class Tunables final : public Block {
 public:
  struct Range {
    double initial, lower, upper, rate;
  };
  static constexpr unsigned tune = 9;  ///< the code of its order

  /// Outside the loop.
  Tunables(std::vector<Range> ranges, double dt)
      : Block(0, static_cast<int>(ranges.size()), 2 * static_cast<int>(ranges.size()), dt), ranges_(std::move(ranges)),
        goal_(ranges_.size()), value_(ranges_.size()), dt_(dt) {
    for (const Range& r : ranges_)
      if (!(r.lower <= r.initial && r.initial <= r.upper && r.rate > 0.0 && std::isfinite(r.upper - r.lower)))
        throw std::invalid_argument("a tunable must have lower <= initial <= upper and a positive rate.");
    if (!(dt > 0.0)) throw std::invalid_argument("dt of Tunables must be positive.");
    reset();
  }
  void step(double, const double*, double* out) noexcept override {
    const std::uint64_t order = health_ ? health_->given : 0;
    if (order != last_) {
      last_ = order;
      const double number = health_->given_argument[0], value = health_->given_argument[1];
      if ((order & 0xff) == tune && number >= 0.0 && number < static_cast<double>(ranges_.size()) && std::isfinite(value)) {
        const auto i = static_cast<std::size_t>(number);
        goal_[i] = std::clamp(value, ranges_[i].lower, ranges_[i].upper);
      }
    }
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      const double most = ranges_[i].rate * dt_;
      const double way = goal_[i] - value_[i];
      value_[i] = std::fabs(way) <= most ? goal_[i] : value_[i] + std::copysign(most, way);
      out[i] = value_[i];
    }
  }
  void reset() noexcept override {
    for (std::size_t i = 0; i < ranges_.size(); ++i) goal_[i] = value_[i] = ranges_[i].initial;
    last_ = 0;
  }
  void attach(Health& health) noexcept override { health_ = &health; }
  void detach(const Health& health) noexcept override {
    if (health_ == &health) health_ = nullptr;
  }
  bool external() const noexcept override { return true; }

 private:
  std::vector<Range> ranges_;
  std::vector<double> goal_, value_;
  double dt_;
  std::uint64_t last_ = 0;
  const Health* health_ = nullptr;
};

}  // namespace hmor
