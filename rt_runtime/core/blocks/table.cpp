#include "blocks/table.hpp"

#include <algorithm>

namespace hmor {

Table::Table(std::vector<double> times, const Matrix& values)
    : Block(0, values.cols()), times_(std::move(times)), values_(times_.size() * values.cols()) {
  const int rows = static_cast<int>(times_.size());
  if (rows < 1 || values.rows() != rows) throw std::invalid_argument("times and values of Table do not fit together.");
  for (int i = 1; i < rows; ++i)
    if (!(times_[i] > times_[i - 1])) throw std::invalid_argument("times of Table must increase strictly.");
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < values.cols(); ++j) values_[static_cast<std::size_t>(i) * values.cols() + j] = values(i, j);
}

void Table::step(double t, const double*, double* out) noexcept {
  const int last = static_cast<int>(times_.size()) - 1, n = n_out();
  // The row of the last call or the next one nearly always fits; otherwise bisect, so that the work is bounded.
  if (row_ < last && t >= times_[row_ + 1]) ++row_;
  if (!(times_[row_] <= t && (row_ == last || t < times_[row_ + 1])))
    row_ = std::max(0, static_cast<int>(std::upper_bound(times_.begin(), times_.end(), t) - times_.begin()) - 1);
  const double* here = values_.data() + static_cast<std::size_t>(row_) * n;
  if (row_ == last || t <= times_[0]) {
    std::copy(here, here + n, out);
    return;
  }
  const double w = (t - times_[row_]) / (times_[row_ + 1] - times_[row_]);
  for (int i = 0; i < n; ++i) out[i] = (1.0 - w) * here[i] + w * here[n + i];
}

}  // namespace hmor
