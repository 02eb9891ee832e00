#include "blocks/delay.hpp"

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
      ring_(initial_.size() * static_cast<std::size_t>(whole_steps(steps) + 2)),
      whole_(whole_steps(steps)),
      fraction_(steps - whole_) {
  reset();
}

void Delay::step(double, const double* in, double* out) noexcept {
  const int n = n_in();
  double* const end = ring_.data() + ring_.size();
  const double late = fraction_, soon = 1.0 - late;
  double *const write = write_, *const recent = recent_, *const older = older_;
  for (int i = 0; i < n; ++i) {
    write[i] = in[i];
    out[i] = soon * recent[i] + late * older[i];
  }
  older_ = recent;
  recent_ = recent + n == end ? ring_.data() : recent + n;
  write_ = write + n == end ? ring_.data() : write + n;
}

void Delay::reset() noexcept {
  const std::ptrdiff_t n = n_in();
  for (std::size_t i = 0; i < ring_.size(); ++i) ring_[i] = initial_[i % initial_.size()];
  older_ = ring_.data();
  recent_ = older_ + n;
  write_ = ring_.data() + (whole_ + 1) * n;
}

}  // namespace hmor
