#pragma once

#include <algorithm>
#include <vector>

#include "engine/block.hpp"
#include "net/mailbox.hpp"

namespace hmor {

/// The newest message of a mailbox as signals. Outputs: its n numbers (NaN-free: 0 until the first comes), then how long
/// ago it came in s, 1e9 before the first.
class Received final : public Block {
 public:
  /// Outside the loop. The mailbox must outlive the block.
  Received(Mailbox& box, double period)
      : Block(0, box.size() + 1, 0, period), box_(box), next_(static_cast<std::size_t>(box.size())),
        last_(static_cast<std::size_t>(box.size())) {}
  void step(double, const double*, double* out) noexcept override {
    const std::uint64_t number = box_.read(next_.data());
    age_ += period();
    if (number != 0 && number != known_) {
      known_ = number;
      last_ = next_;
      age_ = 0.0;
    }
    std::copy(last_.begin(), last_.end(), out);
    out[last_.size()] = age_;
  }
  void reset() noexcept override {
    std::fill(last_.begin(), last_.end(), 0.0);
    known_ = 0;
    age_ = 1e9;
  }
  bool external() const noexcept override { return true; }

 private:
  Mailbox& box_;
  std::vector<double> next_, last_;
  std::uint64_t known_ = 0;
  double age_ = 1e9;
};

/// Posts its inputs to a mailbox in every tick.
class Posted final : public Block {
 public:
  /// Outside the loop. The mailbox must outlive the block.
  explicit Posted(Mailbox& box) : Block(box.size(), 0), box_(box) {}
  void step(double, const double* in, double*) noexcept override { box_.post(in); }
  void reset() noexcept override {}

 private:
  Mailbox& box_;
};

}  // namespace hmor
