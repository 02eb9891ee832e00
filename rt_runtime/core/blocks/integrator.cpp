#include "blocks/integrator.hpp"

#include <algorithm>

namespace hmor {

Integrator::Integrator(Equations model, int n_in, int n_out, std::vector<double> initial, std::vector<double> parameters,
                       double period, int substeps, Hold hold, Update update, std::vector<int> fresh)
    : Block(n_in, n_out, static_cast<int>(initial.size()), period),
      x_(initial.size() + 1),
      model_(model),
      initial_(std::move(initial)),
      p_(std::move(parameters)),
      k_(initial_.size() + 1),
      scratch_(n_out + 1),
      from_(n_in + 1),
      slope_(n_in + 1),
      between_(n_in + 1),
      fresh_(std::move(fresh)),
      substeps_(substeps),
      hold_(hold),
      update_(update) {
  if (model_.f == nullptr) throw std::invalid_argument("the right-hand side of an integrator must not be null.");
  if (substeps < 1) throw std::invalid_argument("substeps of an integrator must be at least 1.");
  if (!(period > 0.0)) throw std::invalid_argument("period of an integrator must be positive.");
  if (hold == Hold::first && update == Update::end)
    throw std::invalid_argument("hold 'first' of an integrator needs update 'start'.");
  for (int i : fresh_)
    if (i < 0 || i >= n_in) throw std::invalid_argument("a fresh input of an integrator must be one of its inputs.");
  p_.push_back(0.0);  // so that f always gets a valid pointer
  reset();
}

void Integrator::step(double t, const double* in, double* out) noexcept {
  u_ = in;
  if (n_state() == 0) {
    evaluate(t, x_.data(), k_.data(), out);
    return;
  }
  if (update_ == Update::end) {
    advance(t, out);
    return;
  }
  if (hold_ == Hold::first) {
    for (int i = 0; i < n_in(); ++i) slope_[i] = in[i] - from_[i];
    u_ = between_.data();
  } else if (!fresh_.empty()) {
    std::copy(in, in + n_in(), between_.begin());
    for (int i : fresh_) between_[i] = from_[i];
    u_ = between_.data();
  }
  if (started_) advance(t - period(), scratch_.data());
  started_ = true;
  if (u_ != in) std::copy(in, in + n_in(), from_.begin());
  u_ = in;
  if (model_.g != nullptr)
    model_.g(t, x_.data(), in, p_.data(), out);
  else
    evaluate(t, x_.data(), k_.data(), out);
}

/// x(t) -> x(t + period); the outputs at the first stage, y(t), go to first_output.
void Integrator::advance(double t, double* first_output) noexcept {
  const double h = period() / substeps_;
  double* y = first_output;
  for (present_ = 0; present_ < substeps_; ++present_) {
    substep(t + present_ * h, h, y);
    y = scratch_.data();
  }
}

void Integrator::reset() noexcept {
  std::copy(initial_.begin(), initial_.end(), x_.begin());
  std::fill(from_.begin(), from_.end(), 0.0);
  started_ = false;
  fault_ = 0;
}

}  // namespace hmor
