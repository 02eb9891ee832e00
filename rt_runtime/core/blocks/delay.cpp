#include "blocks/delay.hpp"

#include <algorithm>
#include <cmath>

namespace hmor {

namespace {
constexpr double most_steps = 1e7;

int whole_steps(double steps) {
  if (!(steps >= 0.0 && steps <= most_steps))
    throw std::invalid_argument("steps of Delay must lie between 0 and 1e7.");
  return static_cast<int>(std::floor(steps));
}
}  // namespace

Delay::Delay(double steps, std::vector<double> initial)
    : Block(static_cast<int>(initial.size()), static_cast<int>(initial.size()),
            static_cast<int>(initial.size()) * (whole_steps(steps) + 2)),
      initial_(std::move(initial)),
      whole_(whole_steps(steps)),
      length_(whole_ + 2),
      fraction_(steps - whole_) {
  ring_.resize(initial_.size() * static_cast<std::size_t>(length_));
  reset();
}

void Delay::step(double, const double* in, double* out) noexcept {
  const int n = n_in();
  newest_ = newest_ + 1 == length_ ? 0 : newest_ + 1;
  std::copy(in, in + n, ring_.begin() + static_cast<std::ptrdiff_t>(newest_) * n);
  int row = newest_ - whole_;
  if (row < 0) row += length_;
  const double* recent = ring_.data() + static_cast<std::ptrdiff_t>(row) * n;
  const double* older = ring_.data() + static_cast<std::ptrdiff_t>(row == 0 ? length_ - 1 : row - 1) * n;
  if (fraction_ == 0.0)
    std::copy(recent, recent + n, out);
  else
    for (int i = 0; i < n; ++i) out[i] = (1.0 - fraction_) * recent[i] + fraction_ * older[i];
}

void Delay::reset() noexcept {
  const int n = n_in();
  for (int row = 0; row < length_; ++row)
    std::copy(initial_.begin(), initial_.end(), ring_.begin() + static_cast<std::ptrdiff_t>(row) * n);
  newest_ = 0;
}

}  // namespace hmor
