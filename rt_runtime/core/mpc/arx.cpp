#include "mpc/arx.hpp"

#include <algorithm>

namespace hmor {

ArxIdentifier::ArxIdentifier(int poles, int zeros, const ArxRules& rules)
    : na_(poles), nb_(zeros), n_(poles + zeros), rules_(rules), p_(n_, n_) {
  const auto size = static_cast<std::size_t>(n_);
  if (poles < 1 || zeros < 1 || rules.initial.size() != size || rules.lower.size() != size ||
      rules.upper.size() != size || rules.drift.size() != size)
    throw std::invalid_argument("parameters of ArxIdentifier must have one number per pole and zero.");
  psi_.assign(n_, 0.0);
  p_psi_.assign(p_.ld(), 0.0);
  scratch_.assign(2 * static_cast<std::size_t>(na_) + 2, 0.0);
  theta_ = model_ = rules.initial;
  double gain = 0.0;
  for (int i = na_; i < n_; ++i) gain += theta_[i];
  gain_sign_ = gain < 0.0 ? -1.0 : 1.0;
  reset();
}

void ArxIdentifier::reset() noexcept {
  std::copy(rules_.initial.begin(), rules_.initial.end(), theta_.begin());
  std::copy(rules_.initial.begin(), rules_.initial.end(), model_.begin());
  std::fill(psi_.begin(), psi_.end(), 0.0);
  for (int j = 0; j < n_; ++j)
    for (int i = 0; i < n_; ++i) p_(i, j) = i == j ? rules_.covariance : 0.0;
}

double ArxIdentifier::trace() const noexcept {
  double sum = 0.0;
  for (int i = 0; i < n_; ++i) sum += p_(i, i);
  return sum;
}

bool ArxIdentifier::update(double y) noexcept {
  double energy = 0.0, error = y;
  for (int i = 0; i < n_; ++i) {
    energy += psi_[i] * psi_[i];
    error -= psi_[i] * theta_[i];
  }
  if (!(energy > 0.0) || energy < rules_.excitation * rules_.excitation) return false;
  multiply(p_, psi_.data(), p_psi_.data());
  double variance = rules_.noise_variance;
  for (int i = 0; i < n_; ++i) variance += psi_[i] * p_psi_[i];
  for (int i = 0; i < n_; ++i)
    theta_[i] = std::min(std::max(theta_[i] + p_psi_[i] * (error / variance), rules_.lower[i]), rules_.upper[i]);
  for (int j = 0; j < n_; ++j) {
    const double weight = p_psi_[j] / variance;
    for (int i = 0; i < n_; ++i) p_(i, j) -= p_psi_[i] * weight;  // the same products for (i, j) and (j, i) up to rounding
  }
  for (int j = 0; j < n_; ++j)  // one triangle decides, so that P stays symmetric
    for (int i = 0; i < j; ++i) p_(i, j) = p_(j, i);
  if (trace() < rules_.covariance_cap * rules_.forgetting) {
    const double growth = 1.0 / rules_.forgetting;
    for (int j = 0; j < n_; ++j)
      for (int i = 0; i < n_; ++i) p_(i, j) *= growth;
    for (int i = 0; i < n_; ++i) p_(i, i) += rules_.drift[i];
  }
  if (!sane()) return false;
  std::copy(theta_.begin(), theta_.end(), model_.begin());
  return true;
}

void ArxIdentifier::advance(double y, double u) noexcept {
  for (int i = na_ - 1; i > 0; --i) psi_[i] = psi_[i - 1];
  psi_[0] = -y;
  for (int i = n_ - 1; i > na_; --i) psi_[i] = psi_[i - 1];
  psi_[na_] = u;
}

/// Schur-Cohn recursion on z^na + a_1 z^(na-1) + .. with z scaled by the radius, and the sign of the static gain.
bool ArxIdentifier::sane() noexcept {
  double gain = 0.0, scale = 1.0;
  for (int i = na_; i < n_; ++i) gain += theta_[i];
  if (!(gain * gain_sign_ > 0.0)) return false;
  double* a = scratch_.data();
  double* next = a + na_ + 1;
  a[0] = 1.0;
  for (int i = 0; i < na_; ++i) {
    scale /= rules_.pole_radius;
    a[i + 1] = theta_[i] * scale;
  }
  for (int n = na_; n > 0; --n) {
    const double k = a[n];
    if (!(std::abs(k) < 1.0)) return false;
    const double rest = 1.0 / (1.0 - k * k);
    for (int i = 0; i < n; ++i) next[i] = (a[i] - k * a[n - i]) * rest;
    std::copy(next, next + n, a);
  }
  return true;
}

}  // namespace hmor
