// Where MoveQp starts without an active set of its own: a feasible point near the minimum, by bounded work.
#include <algorithm>

#include "mpc/move_qp.hpp"

namespace hmor {

namespace {

constexpr int sweeps = 6;  // of the coordinate descent

/// In the loop. y += weight x, `size` numbers.
HMOR_CLONES
void add_scaled(double weight, const double* x, int size, double* y) noexcept {
  for (int i = 0; i < size; ++i) y[i] += weight * x[i];
}

}  // namespace

Work MoveQp::work() const noexcept {
  const double n = n_, square = n * n;
  const double settled = 20.0 * n, descent = settled + 2.0 * square + sweeps * (6.0 * square + 20.0 * n);
  const double inverses = 2.0 * (4.0 / 3.0 * square * n), dropped = 2.0 * n * 2.0 * square;
  const double evaluated = 2.0 * square + 20.0 * n, iteration = 4.0 * square + 2.0 * evaluated + 2.0 * square;
  return {4.0 * square + 2.0 * descent + inverses + dropped + cap_ * iteration, cap_};
}

/// The Hessian in full, from its factor.
void MoveQp::build_hessian() noexcept {
  for (int j = 0; j < n_; ++j)
    for (int i = j; i < n_; ++i) {
      double sum = 0.0;
      for (int k = 0; k <= j; ++k) sum += factor_(i, k) * factor_(j, k);
      hessian_(i, j) = hessian_(j, i) = sum;
    }
  hessian_ready_ = true;
}

/// The moves of v_ changed so that active moves and sums stand exactly at their bounds.
void MoveQp::meet_active(const double* lower, const double* upper) noexcept {
  for (int w = 0; w < active_; ++w) v_[set_[w]] = bound(w, lower, upper);
  for (int j = 0; j < n_; ++j) {
    const double before = j < channels_ ? 0.0 : v_[n_ + j - channels_];
    if (is_active_[n_ + j]) v_[j] = v_[n_ + j] - before;
    else v_[n_ + j] = before + v_[j];
  }
}

/// `wanted` (n moves) moved into the bounds step by step, into near_. False when no moves keep all bounds. A step must
/// end where the later ones can still keep theirs, which follows from the last step back:
///   least_i = max(lower of s_i, least_{i+c} - upper of x_{i+c}),   most_i = min(upper of s_i, most_{i+c} - lower of x_{i+c})
bool MoveQp::settle(const double* wanted, const double* lower, const double* upper) noexcept {
  const int n = n_, c = channels_;
  for (int i = n - 1; i >= 0; --i) {
    const bool last = i + c >= n;
    least_[i] = last ? lower[n + i] : std::max(lower[n + i], least_[i + c] - upper[i + c]);
    most_[i] = last ? upper[n + i] : std::min(upper[n + i], most_[i + c] - lower[i + c]);
  }
  double *x = near_.data(), *s = near_.data() + n;
  for (int j = 0; j < n; ++j) {
    const double before = j < c ? 0.0 : s[j - c];
    const double least = std::max(lower[j], least_[j] - before), most = std::min(upper[j], most_[j] - before);
    if (!(least <= most + tolerance * (1.0 + std::abs(most)))) return false;
    x[j] = std::min(std::max(wanted[j], least), most);
    s[j] = before + x[j];
  }
  return true;
}

/// A feasible point near the minimum: `start` moved into the bounds step by step, then `sweeps` rounds of exact line
/// searches along single moves, e_j, and along moves that are shifted by a step, e_j - e_{j + channels}. False when there
/// is none.
bool MoveQp::approach(const double* start, const double* lower, const double* upper) noexcept {
  const int n = n_, c = channels_;
  if (!settle(start, lower, upper)) return false;
  if (!hessian_ready_) build_hessian();
  double *x = near_.data(), *s = near_.data() + n;
  std::fill(slope_.begin(), slope_.end(), 0.0);
  for (int j = 0; j < n; ++j) add_scaled(x[j] - free_[j], hessian_.column(j), n, slope_.data());
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    double farthest = 0.0;
    for (int j = 0; j < n; ++j) {
      double least = lower[j] - x[j], most = upper[j] - x[j];
      for (int i = j; i < n; i += c) {  // a move shifts all later sums
        least = std::max(least, lower[n + i] - s[i]);
        most = std::min(most, upper[n + i] - s[i]);
      }
      const double d = std::max(least, std::min(most, -slope_[j] / hessian_(j, j)));
      if (d != 0.0) {
        x[j] += d;
        for (int i = j; i < n; i += c) s[i] += d;
        add_scaled(d, hessian_.column(j), n, slope_.data());
        farthest = std::max(farthest, std::abs(d));
      }
      const int k = j + c;
      if (k >= n) continue;
      const double lowest = std::max({lower[j] - x[j], x[k] - upper[k], lower[n + j] - s[j]});
      const double highest = std::min({upper[j] - x[j], x[k] - lower[k], upper[n + j] - s[j]});
      const double curvature = hessian_(j, j) + hessian_(k, k) - 2.0 * hessian_(j, k);
      const double e = std::max(lowest, std::min(highest, (slope_[k] - slope_[j]) / curvature));
      if (e == 0.0) continue;
      x[j] += e;
      x[k] -= e;
      s[j] += e;
      add_scaled(e, hessian_.column(j), n, slope_.data());
      add_scaled(-e, hessian_.column(k), n, slope_.data());
      farthest = std::max(farthest, std::abs(e));
    }
    if (!(farthest > 0.0)) break;
  }
  return true;
}

/// The bounds that the feasible point touches are the active set to start with; a sum that depends on those is left out.
bool MoveQp::guess(const double* lower, const double* upper) noexcept {
  if (!approach(free_.data(), lower, upper)) return false;
  reset();
  const int n = n_, c = channels_;
  const auto touches = [&](int i) noexcept {
    if (near_[i] >= upper[i] - tolerance * (1.0 + std::abs(upper[i]))) return 1.0;
    return near_[i] <= lower[i] + tolerance * (1.0 + std::abs(lower[i])) ? -1.0 : 0.0;
  };
  const auto take = [&](int i, double sign) noexcept {
    set_[active_] = i;
    sign_[active_++] = sign;
  };
  for (int channel = 0; channel < c; ++channel) {
    int loose = 0;  // moves since the last sum in the set that can still change
    for (int i = channel; i < n; i += c) {
      if (const double sign = touches(i); sign != 0.0) take(i, sign);
      else ++loose;
      if (const double sign = touches(n + i); sign != 0.0 && loose > 0) {
        take(n + i, sign);
        loose = 0;
      }
    }
  }
  changes_ = stale;
  return true;
}

}  // namespace hmor
