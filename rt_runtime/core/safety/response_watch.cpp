#include "safety/response_watch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

namespace hmor {

namespace {

constexpr std::int64_t solve_every = 8;  // learned samples
constexpr double ridge = 1e-9;

}  // namespace

ResponseWatch::ResponseWatch(WatchSettings settings, double dt)
    : Block(settings.oldest > 0 ? 3 : 2, 6, 0, dt), s_(std::move(settings)), n_(static_cast<int>(s_.lags.size()) - 1) {
  if (n_ < 1 || s_.lags.front() != 0 || 
      std::adjacent_find(s_.lags.begin(), s_.lags.end(), std::greater_equal<>()) != s_.lags.end() || s_.every < 1 ||
      s_.learn < 1 || !(s_.tolerance > 0.0) || !(s_.caution > 0.0) || !std::isfinite(s_.nominal) || s_.window < 1 || s_.memory < 1 || !(s_.experience > 0.0) || s_.oldest < 0 || !(dt > 0.0))
    throw std::invalid_argument("settings of ResponseWatch do not make sense.");
  const std::size_t room = std::bit_ceil(static_cast<std::size_t>(s_.lags.back() + s_.oldest + 1));
  mask_ = room - 1;
  past_.resize(room);
  phi_.resize(n_);
  w_.resize(n_);
  b_.resize(n_);
  a_.resize(static_cast<std::size_t>(n_) * n_);
  l_.resize(a_.size());
  reset();
}

void ResponseWatch::reset() noexcept {
  for (auto* v : {&w_, &a_, &b_, &past_}) std::fill(v->begin(), v->end(), 0.0);
  k_ = learned_ = differences_ = judged_ = 0;
  u0_ = y0_ = zz_ = dd_ = largest_ = cause_ = y1_ = y2_ = d1_ = noise_ = power_ = floor_ = age_ = still_ = 0.0;
  last_ = mean_ = rv_ = vv_ = pp_ = 0.0;
  misfit_ = 1.0;
}

void ResponseWatch::step(double, const double* in, double* out) noexcept {
  const double u = in[0], y = in[1], age = s_.oldest > 0 ? in[2] : 0.0;
  double &doubt = out[0], &drift = out[1], &lag = out[2], &gained = out[3], &frozen = out[4], &hushed = out[5];
  doubt = drift = lag = frozen = hushed = 0.0;
  gained = 1.0;
  if (!std::isfinite(u) || !std::isfinite(y)) return;  // the monitor trips on it; nothing is learned
  if (k_ == 0) {
    u0_ = u;
    y0_ = y1_ = y2_ = y;
  }
  const auto now = static_cast<std::size_t>(k_++);
  past_[now & mask_] = past_[(now - 1) & mask_] + (u - u0_);  // the running sum; zero before the first tick
  const bool fresh = age <= age_, steady = age == age_;
  age_ = age;
  if (!fresh || !(age >= 0.0 && age <= static_cast<double>(s_.oldest))) return;  // a rule on the age acts

  const std::size_t at = now - (s_.together ? 0 : static_cast<std::size_t>(age));
  double predicted = 0.0;
  for (int j = 0; j < n_; ++j) {
    const int from = s_.lags[j], to = s_.lags[j + 1];
    phi_[j] = (past_[(at - static_cast<std::size_t>(from)) & mask_] - past_[(at - static_cast<std::size_t>(to)) & mask_]) /
              static_cast<double>(to - from);
    predicted += w_[j] * phi_[j];
  }
  const double z = y - y0_, r = z - predicted;
  if (steady) hear(y);
  if (y != y1_) still_ = predicted;

  const double weighed = s_.caution * misfit_;
  const double noise = differences_ > 0 ? std::sqrt(dd_ / (6.0 * static_cast<double>(differences_))) : 0.0;
  const double v = predicted - last_;
  last_ = predicted;
  cause_ = std::max(cause_, std::fabs(phi_[0]));
  const bool experienced = a_[0] >= s_.experience * cause_ * cause_;
  if (k_ > s_.learn && experienced && misfit_ < 0.5 && largest_ > 20.0 * noise && largest_ > 0.0) {
    doubt = std::fabs(r) / ((s_.tolerance + 3.0 * weighed) * largest_ + 6.0 * noise);
    look_back(r, v, predicted);
    if (judged_ >= s_.memory) {
      drift = std::fabs(mean_) / ((0.5 * s_.tolerance + 1.5 * weighed) * largest_ + 2.0 * noise);
      const double size = std::sqrt(vv_ * std::max(pp_, 0.01 * largest_ * largest_));
      if (size > 0.0) lag = std::fabs(rv_) / size / (s_.tolerance + 3.0 * weighed);
    }
    gained = gain();
    frozen = std::fabs(predicted - still_) / largest_;
  } else {
    judged_ = 0;
  }
  if (k_ > s_.learn) hushed = quiet();
  if (std::max({doubt, drift, lag}) <= 0.5) {
    largest_ = std::max(largest_, std::fabs(z));
    if (now % static_cast<std::size_t>(s_.every) == 0) learn(z);
  }
  y2_ = y1_;
  y1_ = y;
}

/// Running means of the residual, and of its product with the velocity of the prediction.
void ResponseWatch::look_back(double r, double v, double predicted) noexcept {
  const double a = 1.0 / static_cast<double>(std::min<std::int64_t>(++judged_, s_.memory));
  mean_ += a * (r - mean_);
  rv_ += a * (r * v - rv_);
  vv_ += a * (v * v - vv_);
  pp_ += a * (predicted * predicted - pp_);
}

/// The noise of y: mean square of its second differences, and their running correlation.
void ResponseWatch::hear(double y) noexcept {
  const double d = y - 2.0 * y1_ + y2_;
  if (k_ <= s_.learn) {
    dd_ += d * d;
    ++differences_;
  }
  const double n = static_cast<double>(std::min<std::int64_t>(k_, s_.window));
  noise_ += (-d * d1_ - noise_) / n;
  power_ += (2.0 / 3.0 * d * d - power_) / n;
  if (k_ <= s_.learn && k_ > 3 * s_.window && (floor_ == 0.0 || noise_ < floor_)) floor_ = noise_;
  d1_ = d;
}

void ResponseWatch::learn(double z) noexcept {
  for (int i = 0; i < n_; ++i) {
    b_[i] += phi_[i] * z;
    for (int j = 0; j <= i; ++j) a_[i * n_ + j] += phi_[i] * phi_[j];
  }
  zz_ += z * z;
  if (++learned_ % solve_every == 0) solve();
}

/// w = (A + ridge tr(A) I)^-1 b by Cholesky.
void ResponseWatch::solve() noexcept {
  double trace = 0.0;
  for (int i = 0; i < n_; ++i) trace += a_[i * n_ + i];
  if (!(trace > 0.0)) return;
  for (int i = 0; i < n_; ++i) {
    for (int j = 0; j <= i; ++j) {
      double sum = a_[i * n_ + j] + (i == j ? ridge * trace : 0.0);
      for (int k = 0; k < j; ++k) sum -= l_[i * n_ + k] * l_[j * n_ + k];
      if (i > j) l_[i * n_ + j] = sum / l_[j * n_ + j];
      else if (sum > 0.0) l_[i * n_ + i] = std::sqrt(sum);
      else return;  // numerically singular: the last model stays
    }
  }
  for (int i = 0; i < n_; ++i) {
    double sum = b_[i];
    for (int k = 0; k < i; ++k) sum -= l_[i * n_ + k] * w_[k];
    w_[i] = sum / l_[i * n_ + i];
  }
  for (int i = n_ - 1; i >= 0; --i) {
    double sum = w_[i];
    for (int k = i + 1; k < n_; ++k) sum -= l_[k * n_ + i] * w_[k];
    w_[i] = sum / l_[i * n_ + i];
  }
  double explained = 0.0;
  for (int i = 0; i < n_; ++i) explained += w_[i] * b_[i];
  misfit_ = zz_ > 0.0 ? std::sqrt(std::max(0.0, 1.0 - explained / zz_)) : 1.0;
}

double ResponseWatch::gain() const noexcept {
  if (s_.nominal == 0.0) return 1.0;
  double best = 0.0, slope = s_.nominal;
  for (int j = 0; j < n_; ++j) {
    const double a = a_[j * n_ + j];
    if (a > 0.0 && b_[j] * b_[j] / a > std::max(best, 0.5 * zz_)) {  // a correlation of at least 0.7
      best = b_[j] * b_[j] / a;
      slope = b_[j] / a;
    }
  }
  return slope / s_.nominal;
}

double ResponseWatch::quiet() const noexcept {
  constexpr double most = 1e6;
  if (!(floor_ > 0.0)) return 0.0;
  return power_ > floor_ / most ? floor_ / power_ : most;
}

EnergyWatch::EnergyWatch(double fade, double dt) : Block(2, 1, 0, dt), keep_(1.0 - dt / fade) {
  if (!(fade > dt) || !(dt > 0.0)) throw std::invalid_argument("fade of EnergyWatch must be longer than dt.");
}

void EnergyWatch::reset() noexcept {
  started_ = false;
  energy_ = noise_ = most_x_ = most_f_ = 0.0;
}

void EnergyWatch::step(double, const double* in, double* out) noexcept {
  out[0] = 0.0;
  if (!std::isfinite(in[0]) || !std::isfinite(in[1])) return;
  if (!started_) {
    x0_ = in[0];
    f0_ = in[1];
    x_ = f_ = 0.0;
    started_ = true;
  }
  const double x = in[0] - x0_, f = in[1] - f0_;
  energy_ = keep_ * energy_ + 0.5 * (f + f_) * (x - x_);
  noise_ = keep_ * noise_ + std::fabs((x - x_) * (f - f_));
  most_x_ = std::max(most_x_, std::fabs(x));
  most_f_ = std::max(most_f_, std::fabs(f));
  x_ = x;
  f_ = f;
  const double elastic = 0.5 * most_x_ * most_f_ + 2.0 * noise_;
  if (elastic > 0.0) out[0] = -energy_ / elastic;
}

}  // namespace hmor
