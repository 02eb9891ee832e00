#include "blocks/ode.hpp"

#include <algorithm>

namespace hmor {

Ode::Ode(Rhs f, int n_in, int n_out, std::vector<double> initial, std::vector<double> parameters, double period,
         int substeps, Hold hold, Update update)
    : Block(n_in, n_out, static_cast<int>(initial.size()), period),
      f_(f),
      initial_(std::move(initial)),
      p_(std::move(parameters)),
      x_(initial_.size() + 1),
      trial_(initial_.size() + 1),
      sum_(initial_.size() + 1),
      k_(initial_.size() + 1),
      scratch_(n_out + 1),
      u_(n_in + 1),
      from_(n_in + 1),
      slope_(n_in + 1),
      substeps_(substeps),
      hold_(hold),
      update_(update) {
  if (f == nullptr) throw std::invalid_argument("the right-hand side of Ode must not be null.");
  if (substeps < 1) throw std::invalid_argument("substeps of Ode must be at least 1.");
  if (!(period > 0.0)) throw std::invalid_argument("period of Ode must be positive.");
  if (hold == Hold::first && update == Update::end)
    throw std::invalid_argument("hold 'first' of Ode needs update 'start'.");
  p_.push_back(0.0);  // so that f always gets a valid pointer
  reset();
}

void Ode::step(double t, const double* in, double* out) noexcept {
  const int m = n_in();
  if (n_state() == 0) {
    f_(t, x_.data(), in, p_.data(), k_.data(), out);
    return;
  }
  if (update_ == Update::end) {
    std::copy(in, in + m, u_.begin());
    advance(t, out);
    return;
  }
  if (started_) {
    for (int i = 0; i < m; ++i) {
      slope_[i] = hold_ == Hold::first ? in[i] - from_[i] : 0.0;
      u_[i] = hold_ == Hold::first ? from_[i] : in[i];
    }
    advance(t - period(), scratch_.data());
  }
  started_ = true;
  std::copy(in, in + m, from_.begin());
  f_(t, x_.data(), from_.data(), p_.data(), k_.data(), out);
}

/// x(t) -> x(t + period); the outputs at the first stage, y(t), go to first_output.
void Ode::advance(double t, double* first_output) noexcept {
  const int n = n_state(), m = n_in();
  const double h = period() / substeps_;
  const bool ramp = hold_ == Hold::first;
  const double* u = u_.data();
  double* y = first_output;
  for (int s = 0; s < substeps_; ++s) {
    const double t0 = t + s * h;
    const auto input_at = [&](double fraction) noexcept {
      if (!ramp) return;
      const double w = (s + fraction) / substeps_;
      for (int i = 0; i < m; ++i) u_[i] = from_[i] + w * slope_[i];
    };
    input_at(0.0);
    f_(t0, x_.data(), u, p_.data(), k_.data(), y);
    y = scratch_.data();
    for (int i = 0; i < n; ++i) {
      sum_[i] = k_[i];
      trial_[i] = x_[i] + 0.5 * h * k_[i];
    }
    input_at(0.5);
    f_(t0 + 0.5 * h, trial_.data(), u, p_.data(), k_.data(), y);
    for (int i = 0; i < n; ++i) {
      sum_[i] += 2.0 * k_[i];
      trial_[i] = x_[i] + 0.5 * h * k_[i];
    }
    f_(t0 + 0.5 * h, trial_.data(), u, p_.data(), k_.data(), y);
    for (int i = 0; i < n; ++i) {
      sum_[i] += 2.0 * k_[i];
      trial_[i] = x_[i] + h * k_[i];
    }
    input_at(1.0);
    f_(t0 + h, trial_.data(), u, p_.data(), k_.data(), y);
    for (int i = 0; i < n; ++i) x_[i] += h / 6.0 * (sum_[i] + k_[i]);
  }
}

void Ode::reset() noexcept {
  std::copy(initial_.begin(), initial_.end(), x_.begin());
  std::fill(from_.begin(), from_.end(), 0.0);
  started_ = false;
}

}  // namespace hmor
