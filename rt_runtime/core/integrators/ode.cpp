#include "integrators/ode.hpp"

namespace hmor {

inline void Ode::substep(double t, double h, double* y) noexcept {
  const int n = n_state();
  input_at(0.0);
  evaluate(t, x_.data(), k_.data(), y);
  for (int i = 0; i < n; ++i) {
    sum_[i] = k_[i];
    trial_[i] = x_[i] + 0.5 * h * k_[i];
  }
  input_at(0.5);
  evaluate(t + 0.5 * h, trial_.data(), k_.data(), scratch());
  for (int i = 0; i < n; ++i) {
    sum_[i] += 2.0 * k_[i];
    trial_[i] = x_[i] + 0.5 * h * k_[i];
  }
  evaluate(t + 0.5 * h, trial_.data(), k_.data(), scratch());
  for (int i = 0; i < n; ++i) {
    sum_[i] += 2.0 * k_[i];
    trial_[i] = x_[i] + h * k_[i];
  }
  input_at(1.0);
  evaluate(t + h, trial_.data(), k_.data(), scratch());
  for (int i = 0; i < n; ++i) x_[i] += h / 6.0 * (sum_[i] + k_[i]);
}

void Ode::step(double t, const double* in, double* out) noexcept { step_by(*this, t, in, out); }

}  // namespace hmor
