#include "integrators/adams_bashforth.hpp"

namespace hmor {

inline void AdamsBashforth::substep(double t, double h, double* y) noexcept {
  const int n = n_state();
  double* const x = x_.data();
  double* const k = k_.data();
  const double* const before = before_.data();
  input_at(0.0);
  evaluate(t, x, k, y);
  if (has_past_) {
    for (int i = 0; i < n; ++i) x[i] += h * (1.5 * k[i] - 0.5 * before[i]);
  } else {
    for (int i = 0; i < n; ++i) trial_[i] = x[i] + h * k[i];
    input_at(1.0);
    evaluate(t + h, trial_.data(), before_.data(), scratch());
    for (int i = 0; i < n; ++i) x[i] += 0.5 * h * (k[i] + before[i]);
    has_past_ = true;
  }
  k_.swap(before_);
}

void AdamsBashforth::step(double t, const double* in, double* out) noexcept { step_by(*this, t, in, out); }

}  // namespace hmor
