#include "blocks/state_space.hpp"

#include <algorithm>

namespace hmor {

namespace {
/// Numbers in whole cache lines that hold n numbers.
constexpr int whole_lines(int n) noexcept { return (n + 7) & ~7; }
}  // namespace

StateSpace::StateSpace(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& d, Matrix entry,
                       std::vector<double> initial, double period, Update update)
    : Block(b.cols(), c.rows(), a.rows(), period),
      stacked_(c.rows() + a.rows(), a.rows() + b.cols()),
      entry_(std::move(entry)),
      initial_(std::move(initial)),
      first_(c.rows()),
      buffer_(2 * static_cast<std::size_t>(whole_lines(stacked_.ld() + b.cols()))),
      now_(buffer_.data()),
      next_(buffer_.data() + buffer_.size() / 2),
      multiply_(multiply_kernel(stacked_.ld())),
      update_(update) {
  const int n = a.rows(), m = b.cols(), p = c.rows();
  if (a.cols() != n || b.rows() != n || c.cols() != n || d.rows() != p || d.cols() != m || entry_.rows() != n ||
      entry_.cols() != m || static_cast<int>(initial_.size()) != n)
    throw std::invalid_argument("A, B, C, D and initial of StateSpace do not fit together.");
  // S = [A B; C D], or [A B; CA CB] when the state advances first.
  for (int j = 0; j < n + m; ++j) {
    const double* column = j < n ? a.column(j) : b.column(j - n);
    for (int i = 0; i < n; ++i) stacked_(i, j) = column[i];
    for (int i = 0; i < p; ++i) {
      const double feedthrough = j < n ? 0.0 : d(i, j - n);
      if (update == Update::start) {
        if (feedthrough != 0.0) throw std::invalid_argument("D of StateSpace must be zero with update 'start'.");
        for (int k = 0; k < n; ++k) stacked_(n + i, j) += c(i, k) * column[k];
      } else {
        stacked_(n + i, j) = j < n ? c(i, j) : feedthrough;
      }
    }
  }
  for (int i = 0; i < p; ++i)
    for (int k = 0; k < n; ++k) first_[i] += c(i, k) * initial_[k];
  reset();
}

void StateSpace::step(double, const double* in, double* out) noexcept {
  const int n = n_state(), p = n_out();
  if (!started_) [[unlikely]] {
    started_ = true;
    if (update_ == Update::start) {
      std::copy(first_.begin(), first_.end(), out);
      return;
    }
    for (int j = 0; j < n_in(); ++j)
      for (int i = 0; i < n; ++i) now_[i] -= entry_(i, j) * in[j];
  }
  for (int i = 0; i < n_in(); ++i) now_[n + i] = in[i];
  multiply_(stacked_.data(), stacked_.ld(), stacked_.cols(), now_, next_);
  for (int i = 0; i < p; ++i) out[i] = next_[n + i];
  std::swap(now_, next_);
}

void StateSpace::reset() noexcept {
  std::copy(initial_.begin(), initial_.end(), now_);
  started_ = false;
}

}  // namespace hmor
