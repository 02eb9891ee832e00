#include "safety/stability.hpp"

#include <algorithm>

namespace hmor {

namespace {

double dot(const double* a, const double* b, int n) noexcept {
  double sum = 0.0;
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

StabilityWarning::StabilityWarning(Matrix damping, Matrix interface, double margin)
    : Block(2 * damping.rows() + interface.rows(), 3, 2 * damping.rows() + interface.rows() + 2),
      damping_(std::move(damping)),
      interface_(std::move(interface)),
      margin_(margin),
      dx_(damping_.rows()),
      force_(damping_.ld()),
      work_(interface_.ld()),
      x_(damping_.rows()),
      cv_(damping_.ld()),
      f_(interface_.rows()) {
  if (damping_.cols() != damping_.rows() || interface_.cols() != damping_.rows() || !(margin > 0.0))
    throw std::invalid_argument("damping and interface of StabilityWarning do not fit together.");
}

void StabilityWarning::step(double, const double* in, double* out) noexcept {
  const int n = damping_.rows(), m = interface_.rows();
  const double *x = in, *v = in + n, *f = in + 2 * n;
  multiply(damping_, v, force_.data());
  if (started_) {
    for (int i = 0; i < n; ++i) dx_[i] = x[i] - x_[i];
    multiply(interface_, dx_.data(), work_.data());
    for (int i = 0; i < n; ++i) e_ += 0.5 * (force_[i] + cv_[i]) * dx_[i];
    for (int i = 0; i < m; ++i) w_ -= 0.5 * (f[i] + f_[i]) * work_[i];
  }
  started_ = true;
  std::copy(x, x + n, x_.begin());
  std::copy(force_.begin(), force_.end(), cv_.begin());
  std::copy(f, f + m, f_.begin());
  out[0] = w_ > 0.0 ? w_ / (std::max(e_, 0.0) + margin_) : 0.0;
  out[1] = w_;
  out[2] = e_;
}

void StabilityWarning::reset() noexcept {
  w_ = e_ = 0.0;
  started_ = false;
}

EnergyErrorIndicator::EnergyErrorIndicator(Matrix mass, Matrix damping, Matrix stiffness, int m, double e_most, double dt)
    : Block(2 * mass.rows() + 2 * m, 2, 2 * mass.rows() + 2 * m + 3, dt),
      mass_(std::move(mass)),
      damping_(std::move(damping)),
      stiffness_(std::move(stiffness)),
      m_(m),
      e_most_(e_most),
      dx_(mass_.rows()),
      product_(mass_.ld()),
      last_(n_in()) {
  const int n = mass_.rows();
  for (const Matrix* a : {&mass_, &damping_, &stiffness_})
    if (a->rows() != n || a->cols() != n)
      throw std::invalid_argument("mass, damping and stiffness of EnergyErrorIndicator must be square and of one size.");
  if (!(e_most > 0.0) || !(dt > 0.0)) throw std::invalid_argument("e_most and dt of EnergyErrorIndicator must be positive.");
}

void EnergyErrorIndicator::step(double, const double* in, double* out) noexcept {
  const int n = mass_.rows();
  const double *x = in, *p = in + n, *f = in + 2 * n, *x_m = in + 2 * n + m_;
  double kinetic = 0.0;
  if (started_) {
    const double *p_last = last_.data() + n, *f_last = last_.data() + 2 * n, *x_m_last = last_.data() + 2 * n + m_;
    for (int i = 0; i < n; ++i) {
      dx_[i] = x[i] - last_[i];
      w_i_ += 0.5 * (p[i] + p_last[i]) * dx_[i];
    }
    multiply(damping_, dx_.data(), product_.data());
    e_d_ += dot(dx_.data(), product_.data(), n) / period();
    multiply(mass_, dx_.data(), product_.data());
    kinetic = 0.5 * dot(dx_.data(), product_.data(), n) / (period() * period());
    for (int i = 0; i < m_; ++i) w_exp_ -= 0.5 * (f[i] + f_last[i]) * (x_m[i] - x_m_last[i]);
  }
  multiply(stiffness_, x, product_.data());
  const double strain = 0.5 * dot(x, product_.data(), n);
  started_ = true;
  std::copy(in, in + n_in(), last_.begin());
  out[0] = (w_i_ - (kinetic + e_d_ + strain - w_exp_)) / (std::max(w_i_, 0.0) + e_most_);
  out[1] = w_i_;
}

void EnergyErrorIndicator::reset() noexcept {
  w_i_ = e_d_ = w_exp_ = 0.0;
  started_ = false;
}

}  // namespace hmor
