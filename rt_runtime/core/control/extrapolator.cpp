#include "control/extrapolator.hpp"

#include <algorithm>

namespace hmor {

std::vector<double> Extrapolator::weights(int order, double theta) {
  std::vector<double> w(static_cast<std::size_t>(order) + 1, 1.0);
  for (int a = 0; a <= order; ++a)
    for (int b = 0; b <= order; ++b)
      if (b != a) w[a] *= (theta + b) / (b - a);
  return w;
}

Extrapolator::Extrapolator(int order, int spacing, const std::vector<double>& leads, int channels)
    : Block(channels, channels * static_cast<int>(leads.size()), channels * (order * spacing + 1)),
      points_(order + 1),
      spacing_(spacing),
      length_(order * spacing + 1) {
  if (order < 0 || spacing < 1 || leads.empty() || channels < 1)
    throw std::invalid_argument("order, spacing, leads and channels of Extrapolator do not fit.");
  for (double lead : leads) {
    const std::vector<double> w = weights(order, lead / spacing);
    weights_.insert(weights_.end(), w.begin(), w.end());
  }
  ring_.assign(static_cast<std::size_t>(n_state()), 0.0);
}

void Extrapolator::step(double, const double* in, double* out) noexcept {
  const int n = n_in();
  if (!started_) {
    started_ = true;
    for (int row = 0; row < length_; ++row) std::copy(in, in + n, ring_.begin() + static_cast<std::ptrdiff_t>(row) * n);
  }
  newest_ = newest_ + 1 == length_ ? 0 : newest_ + 1;
  std::copy(in, in + n, ring_.begin() + static_cast<std::ptrdiff_t>(newest_) * n);
  std::fill(out, out + n_out(), 0.0);
  int row = newest_;
  for (int a = 0; a < points_; ++a) {
    const double* values = ring_.data() + static_cast<std::ptrdiff_t>(row) * n;
    const double* weight = weights_.data() + a;
    for (double* y = out; y != out + n_out(); y += n, weight += points_)
      for (int i = 0; i < n; ++i) y[i] += *weight * values[i];
    row -= spacing_;
    if (row < 0) row += length_;
  }
}

}  // namespace hmor
