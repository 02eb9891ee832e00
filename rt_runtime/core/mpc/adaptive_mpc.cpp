#include "mpc/adaptive_mpc.hpp"

#include <algorithm>

namespace hmor {

namespace {
constexpr int most_riccati_steps = 200000;
}

AdaptiveMpc::AdaptiveMpc(int poles, int zeros, const ArxRules& rules, const Horizon& horizon, double process_variance,
                         double disturbance_gain, double noise_variance, double largest_age, double period)
    : LearningBlock((horizon.preview ? horizon.prediction : 1) + (largest_age < 0.0 ? 1 : 2), 4 + poles + zeros,
                    std::max(poles, zeros) + 1, period),
      arx_(poles, zeros, rules),
      bounds_(horizon, 1),
      qp_(1, horizon.control, horizon.max_iterations),
      n_(std::max(poles, zeros)),
      steps_(horizon.prediction),
      moves_(horizon.control),
      references_(horizon.preview ? horizon.prediction : 1),
      process_variance_(process_variance),
      disturbance_gain_(disturbance_gain),
      noise_variance_(noise_variance),
      largest_age_(largest_age),
      covariance_(n_ + 1, n_ + 1),
      product_(n_ + 1, n_ + 1),
      hessian_(moves_, moves_) {
  if (steps_ < moves_ || horizon.output_weight.size() != 1 || horizon.move_weight.size() != 1 ||
      !(noise_variance > 0.0))
    throw std::invalid_argument("horizon and weights of AdaptiveMpc do not fit.");
  output_weight_ = horizon.output_weight[0];
  move_weight_ = horizon.move_weight[0];
  for (std::vector<double>* buffer : {&a_, &b_}) buffer->assign(n_, 0.0);
  for (std::vector<double>* buffer : {&x_, &gain_, &trial_}) buffer->assign(n_ + 1, 0.0);
  for (std::vector<double>* buffer : {&free_, &response_}) buffer->assign(steps_, 0.0);
  linear_.assign(moves_, 0.0);
  realise();
  double before = -1.0;
  for (int i = 0; i < most_riccati_steps && !(std::abs(covariance_(n_, n_) - before) <= 1e-15 * before); ++i) {
    before = covariance_(n_, n_);
    correct_covariance();
    advance_covariance();
  }
  settled_ = covariance_;
  reset();
}

/// The model in use as state space.
void AdaptiveMpc::realise() noexcept {
  const double* theta = arx_.theta();
  std::copy(theta, theta + arx_.poles(), a_.begin());
  std::copy(theta + arx_.poles(), theta + arx_.poles() + arx_.zeros(), b_.begin());
}

void AdaptiveMpc::reset() noexcept {
  arx_.reset();
  qp_.reset();
  std::fill(x_.begin(), x_.end(), 0.0);
  std::copy(settled_.data(), settled_.data() + settled_.ld() * settled_.cols(), covariance_.data());
  u_ = 0.0;
  fault_ = 0;
  unlearnt_ = 0;
  learns_anew();
  stale_ = true;
}

/// x <- A x + B u; the disturbance stays.
void AdaptiveMpc::advance(double* x, double u) const noexcept {
  const double first = x[0];
  for (int i = 0; i + 1 < n_; ++i) x[i] = x[i + 1] - a_[i] * first + b_[i] * u;
  x[n_ - 1] = b_[n_ - 1] * u - a_[n_ - 1] * first;
}

void AdaptiveMpc::step(double, const double* in, double* out) noexcept {
  const bool known = largest_age_ < 0.0 || in[references_ + 1] <= largest_age_;
  const double y = known ? in[references_] : x_[0] + x_[n_];
  // The regressors hold as many measurements and commands; a late measurement spoils the former, a stray command both.
  if (!known) unlearnt_ = std::max(unlearnt_, arx_.poles() + 1);
  if (!learns()) unlearnt_ = std::max(arx_.poles(), arx_.zeros()) + 1;
  if (unlearnt_ > 0) --unlearnt_;
  else if (arx_.update(y)) stale_ = true;
  if (stale_) realise();
  if (known) estimate(y);
  else advance_covariance();
  predict(in);
  bounds_.update(&u_);
  QpResult result{QpStatus::infeasible, 0};
  double move = 0.0;
  if (!stale_ || build_hessian()) {
    result = qp_.solve(linear_.data(), bounds_.lower(), bounds_.upper());
    move = qp_.solution()[0];
  }
  u_ = bounds_.apply(0, u_, move);
  arx_.advance(y, u_);
  advance(x_.data(), u_);
  out[0] = u_;
  out[1] = result.iterations;
  out[2] = static_cast<double>(result.status);
  fault_ = result.status == QpStatus::not_finite ? 1 : 0;
  const int parameters = arx_.poles() + arx_.zeros();
  for (int i = 0; i < parameters; ++i) out[3 + i] = arx_.theta()[i];
  out[3 + parameters] = arx_.trace();
}

/// M of this interval and P(k|k). C = [1 0 .. 0 1]: P C' is the sum of two columns.
void AdaptiveMpc::correct_covariance() noexcept {
  const double* first = covariance_.column(0);
  const double* last = covariance_.column(n_);
  double* pc = trial_.data();
  for (int i = 0; i <= n_; ++i) pc[i] = first[i] + last[i];
  const double variance = pc[0] + pc[n_] + noise_variance_;
  for (int i = 0; i <= n_; ++i) gain_[i] = pc[i] / variance;
  for (int j = 0; j <= n_; ++j)
    for (int i = 0; i <= n_; ++i) covariance_(i, j) -= gain_[i] * pc[j];
}

void AdaptiveMpc::estimate(double y) noexcept {
  correct_covariance();
  const double error = y - x_[0] - x_[n_];
  for (int i = 0; i <= n_; ++i) x_[i] += gain_[i] * error;
  advance_covariance();
}

/// P <- A P A' + Q; A is a shift, a column of -a and a one for the disturbance.
void AdaptiveMpc::advance_covariance() noexcept {
  const int d = n_;
  for (int j = 0; j <= d; ++j) {  // product = A P
    const double* p = covariance_.column(j);
    double* q = product_.column(j);
    for (int i = 0; i < d; ++i) q[i] = (i + 1 < d ? p[i + 1] : 0.0) - a_[i] * p[0];
    q[d] = p[d];
  }
  const double* q0 = product_.column(0);
  for (int j = 0; j <= d; ++j) {  // P = product A'
    double* p = covariance_.column(j);
    const double* shifted = product_.column(j + 1 < d ? j + 1 : d);
    if (j == d)
      std::copy(shifted, shifted + d + 1, p);
    else
      for (int i = 0; i <= d; ++i) p[i] = (j + 1 < d ? shifted[i] : 0.0) - a_[j] * q0[i];
  }
  for (int j = 0; j < d; ++j)
    for (int i = 0; i < d; ++i) covariance_(i, j) += process_variance_ * b_[i] * b_[j];
  covariance_(d, d) += disturbance_gain_ * disturbance_gain_;
  for (int j = 0; j <= d; ++j)  // one triangle decides, so that P stays symmetric
    for (int i = 0; i < j; ++i) covariance_(i, j) = covariance_(j, i);
}

/// Free response with the input held, step response when the model changed, and the linear term of the cost.
void AdaptiveMpc::predict(const double* reference) noexcept {
  std::copy(x_.begin(), x_.end(), trial_.begin());
  for (int i = 0; i < steps_; ++i) {
    advance(trial_.data(), u_);
    free_[i] = trial_[0] + trial_[n_];
  }
  if (stale_) {
    std::fill(trial_.begin(), trial_.end(), 0.0);
    for (int i = 0; i < steps_; ++i) {
      advance(trial_.data(), 1.0);
      response_[i] = trial_[0];
    }
  }
  const double w = output_weight_ * output_weight_;
  for (int i = 0; i < steps_; ++i) free_[i] = w * (free_[i] - reference[references_ == 1 ? 0 : i]);
  for (int j = 0; j < moves_; ++j) {
    double sum = 0.0;
    for (int i = j; i < steps_; ++i) sum += response_[i - j] * free_[i];
    linear_[j] = sum;
  }
}

bool AdaptiveMpc::build_hessian() noexcept {
  const double w = output_weight_ * output_weight_;
  const int last = moves_ - 1;
  // The last row is summed in full, every other entry follows from the one below it on its diagonal.
  for (int j = 0; j <= last; ++j) {
    double sum = 0.0;
    for (int i = last; i < steps_; ++i) sum += response_[i - last] * response_[i - j];
    hessian_(last, j) = w * sum;
  }
  for (int i = last - 1; i >= 0; --i)
    for (int j = 0; j <= i; ++j)
      hessian_(i, j) = hessian_(i + 1, j + 1) + w * response_[steps_ - 1 - i] * response_[steps_ - 1 - j];
  for (int i = 0; i <= last; ++i) hessian_(i, i) += move_weight_ * move_weight_;
  stale_ = !qp_.set_hessian(hessian_);
  return !stale_;
}

}  // namespace hmor
