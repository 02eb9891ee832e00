#include "mpc/move_qp.hpp"

#include <algorithm>
#include <limits>

namespace hmor {

namespace {

constexpr double dependent = 1e-9;        // delta / G_pp below which a normal depends on the active ones
constexpr double blurred = 1e-6;          // moves that rounding may change by more are not at the minimum

typedef double Four __attribute__((vector_size(32), aligned(8)));

/// In the loop. A += factor x x' on the leading k rows and columns; x has room up to the padding.
HMOR_CLONES
void rank_one(double* a, int ld, int k, double factor, const double* x) noexcept {
  for (int j = 0; j < k; ++j) {
    const double weight = factor * x[j];
    double* column = a + static_cast<std::ptrdiff_t>(j) * ld;
    for (int i = 0; i < k; i += 4) *reinterpret_cast<Four*>(column + i) += *reinterpret_cast<const Four*>(x + i) * weight;
  }
}

/// In the loop. y = A x on the leading k rows and columns.
HMOR_CLONES
void leading_multiply(const double* a, int ld, int k, const double* x, double* y) noexcept {
  for (int i = 0; i < k; i += 4) {
    Four sum{};
    const double* column = a + i;
    for (int j = 0; j < k; ++j, column += ld) sum += *reinterpret_cast<const Four*>(column) * x[j];
    *reinterpret_cast<Four*>(y + i) = sum;
  }
}

/// In the loop. v = x - sum over w of weight_w G[:, set_w], first `rows` rows.
HMOR_CLONES
void combine(const double* gram, int ld, int rows, const int* set, const double* weight, int k, const double* x,
             double* v) noexcept {
  for (int i = 0; i < rows; i += 4) {
    Four sum = *reinterpret_cast<const Four*>(x + i);
    for (int w = 0; w < k; ++w)
      sum -= *reinterpret_cast<const Four*>(gram + static_cast<std::ptrdiff_t>(set[w]) * ld + i) * weight[w];
    *reinterpret_cast<Four*>(v + i) = sum;
  }
}

/// In the loop. How far each value lies outside its bounds; negative inside. `size` is a multiple of four.
HMOR_CLONES
void distances(const double* v, const double* lower, const double* upper, int size, double* out) noexcept {
  for (int i = 0; i < size; ++i) {
    const double above = v[i] - upper[i], below = lower[i] - v[i];
    out[i] = above > below ? above : below;
  }
}

/// In the loop. Whether all `size` numbers are finite.
bool finite(const double* v, int size) noexcept {
  bool all = true;
  for (int i = 0; i < size; ++i) all &= std::isfinite(v[i]);
  return all;
}

constexpr double infinity = std::numeric_limits<double>::infinity();

/// In the loop. Whether bounds are bounds; none of the comparisons holds for nan.
bool bounds(const double* lower, const double* upper, int size) noexcept {
  bool all = true;
  for (int i = 0; i < size; ++i) all &= lower[i] < infinity && upper[i] > -infinity;
  return all;
}

/// In the loop. x moved into [lower, upper], as far as they are bounds.
double within(double x, double lower, double upper) noexcept {
  if (lower > x && lower < infinity) x = lower;
  return upper < x && upper > -infinity ? upper : x;
}

}  // namespace

MoveQp::MoveQp(int channels, int moves, int max_iterations)
    : channels_(channels), n_(channels * moves), cap_(max_iterations > 0 ? max_iterations : 4 * channels * moves) {
  if (channels < 1 || moves < 1 || max_iterations < 0)
    throw std::invalid_argument("channels and moves of MoveQp must be at least 1.");
  ld_ = padded(n_);
  patience_ = n_ / 10 + 4;
  factor_ = Matrix(n_, n_);
  gram_ = Matrix(2 * n_, 2 * n_);
  inverse_ = Matrix(n_, n_);
  hessian_ = Matrix(n_, n_);
  scale_.assign(2 * n_, 0.0);
  set_.assign(n_, 0);
  is_active_.assign(2 * n_, 0);
  least_.assign(n_, 0.0);
  most_.assign(n_, 0.0);
  // Rounded up: kernels read and write whole groups of four from any offset below n.
  for (std::vector<double>* buffer : {&sign_, &lambda_, &g_, &r_, &slope_}) buffer->assign(ld_ + 4, 0.0);
  for (std::vector<double>* buffer : {&free_, &v_, &excess_, &near_}) buffer->assign(2 * n_ + 8, 0.0);
}

bool MoveQp::set_hessian(const Matrix& h) noexcept {
  for (int j = 0; j < n_; ++j)
    for (int i = j; i < n_; ++i) factor_(i, j) = h(i, j);
  gram_ready_ = hessian_ready_ = false;
  return cholesky(factor_);
}

void MoveQp::build_gram() noexcept {
  const int n = n_, c = channels_;
  for (int j = 0; j < n; ++j) {
    double* column = gram_.column(j);
    std::fill(column, column + n, 0.0);
    column[j] = 1.0;
    solve_lower(factor_, column);  // the rows above j stay zero
    solve_lower_transposed(factor_, column);
  }
  for (int j = 0; j < n; ++j)  // one triangle decides, so that G is symmetric to the last bit
    for (int i = 0; i < j; ++i) gram_(i, j) = gram_(j, i);
  for (int j = 0; j < n; ++j) running_sums(gram_.column(j));
  for (int j = 0; j < n; ++j) {  // normals of the running sums are sums of the normals of the moves
    double* sum = gram_.column(n + j);
    const double* own = gram_.column(j);
    const double* before = j < c ? nullptr : gram_.column(n + j - c);
    for (int i = 0; i < 2 * n; ++i) sum[i] = own[i] + (before ? before[i] : 0.0);
  }
  for (int i = 0; i < 2 * n; ++i) scale_[i] = 1.0 / std::sqrt(gram_(i, i));
  gram_ready_ = true;
  changes_ = stale;  // the kept inverse belongs to the old G
}

void MoveQp::running_sums(double* v) const noexcept {
  const int n = n_, c = channels_;
  for (int i = 0; i < c; ++i) v[n + i] = v[i];
  for (int i = c; i < n; ++i) v[n + i] = v[i] + v[n + i - c];
}

QpResult MoveQp::solve(const double* f, const double* lower, const double* upper) noexcept {
  for (int i = 0; i < n_; ++i) r_[i] = -f[i];
  hmor::solve(factor_, r_.data());
  return solve_from(r_.data(), lower, upper);
}

QpResult MoveQp::solve_from(const double* free_minimum, const double* lower, const double* upper) noexcept {
  std::copy(free_minimum, free_minimum + n_, free_.begin());
  running_sums(free_.data());
  QpResult result{QpStatus::not_finite, 0};
  if (finite(free_.data(), 2 * n_) && bounds(lower, upper, 2 * n_)) {
    result = constrain(lower, upper);
    if (finite(v_.data(), 2 * n_)) return result;
  }
  hold(lower, upper);
  return {QpStatus::not_finite, result.iterations};
}

QpResult MoveQp::constrain(const double* lower, const double* upper) noexcept {
  const int n = n_;
  std::copy(free_.begin(), free_.end(), v_.begin());
  double excess = 0.0;
  for (int w = 0; w < active_; ++w) is_active_[set_[w]] = 0;
  if (most_violated(lower, upper, &excess) < 0) {
    active_ = 0;
    return {QpStatus::optimal, 0};
  }
  if (!gram_ready_) build_gram();
  bool guessed = active_ == 0 && guess(lower, upper);
  warm_start(lower, upper);

  int iterations = 0;
  bool refined = active_ == 0;
  while (true) {
    evaluate();
    const int p = most_violated(lower, upper, &excess);
    if (p < 0) {
      if (refined) return finish(lower, upper, iterations);
      refine(lower, upper);
      refined = true;
      continue;
    }
    const double sign = v_[p] > upper[p] ? 1.0 : -1.0;
    double lambda = 0.0;
    refined = false;
    while (true) {
      if (++iterations > cap_) return stop_early(free_.data(), lower, upper, cap_);
      if (!guessed && iterations > patience_) {  // the last active set was far off: start from another one
        guessed = true;
        if (guess(lower, upper)) {
          warm_start(lower, upper);
          break;
        }
      }
      const double delta = border(p, sign), size = gram_(p, p);
      double longest = infinity;
      int blocking = -1;
      for (int w = 0; w < active_; ++w)
        if (r_[w] > 0.0 && lambda_[w] < longest * r_[w]) {
          longest = lambda_[w] / r_[w];
          blocking = w;
        }
      const bool independent = delta > dependent * size && active_ < n;
      if (blocking < 0 && !(delta > 1e-9 * size && independent)) {
        if (!guessed && guess(lower, upper)) {  // or so it looks from an active set that is far off
          guessed = true;
          warm_start(lower, upper);
          break;
        }
        return stop_early(free_.data(), lower, upper, iterations);
      }
      const double full = independent ? excess / delta : infinity;
      const double step = full < longest ? full : longest;
      for (int w = 0; w < active_; ++w) lambda_[w] -= step * r_[w];
      lambda += step;
      if (independent && full <= longest) {
        append(p, sign, lambda, delta);
        break;
      }
      if (blocking < 0) return stop_early(free_.data(), lower, upper, iterations);  // numbers overflowed
      excess -= step * delta;
      drop(blocking);
    }
  }
}

/// At the minimum. Active bounds are met up to the rounding of free - G lambda only, which is large beside targets many
/// decades beyond them: then they are met step by step. Where that, or the rounding of other moves, is too much of a
/// change, it is no longer the minimum.
QpResult MoveQp::finish(const double* lower, const double* upper, int iterations) noexcept {
  double off = 0.0;
  for (int w = 0; w < active_; ++w) {
    const double limit = bound(w, lower, upper);
    off = std::max(off, std::abs(v_[set_[w]] - limit) / (1.0 + std::abs(limit)));
  }
  if (off <= tolerance) return {QpStatus::optimal, iterations};
  meet_active(lower, upper);
  double moved = settle(v_.data(), lower, upper) && active_ == n_ ? 0.0 : off;  // n active ones leave no other move
  for (int i = 0; i < n_; ++i) moved = std::max(moved, std::abs(near_[i] - v_[i]));
  if (!(moved <= blurred)) return stop_early(v_.data(), lower, upper, iterations);
  std::copy(near_.begin(), near_.end(), v_.begin());
  return {QpStatus::optimal, iterations};
}

/// Without the minimum: a feasible point near `start`, or when there is none, hold.
QpResult MoveQp::stop_early(const double* start, const double* lower, const double* upper, int iterations) noexcept {
  if (approach(start, lower, upper)) {
    std::copy(near_.begin(), near_.end(), v_.begin());
    reset();
    return {QpStatus::iteration_limit, iterations};
  }
  hold(lower, upper);
  return {QpStatus::infeasible, iterations};
}

void MoveQp::evaluate() noexcept {
  for (int w = 0; w < active_; ++w) r_[w] = sign_[w] * lambda_[w];
  combine(gram_.data(), gram_.ld(), n_, set_.data(), r_.data(), active_, free_.data(), v_.data());
  running_sums(v_.data());
}

int MoveQp::most_violated(const double* lower, const double* upper, double* excess) noexcept {
  distances(v_.data(), lower, upper, 2 * n_, excess_.data());
  int worst = -1;
  double most = 0.0;
  for (int i = 0; i < 2 * n_; ++i) {
    if (!(excess_[i] > tolerance) || is_active_[i]) continue;
    const double limit = v_[i] > upper[i] ? upper[i] : lower[i];
    if (!(excess_[i] > tolerance * (1.0 + std::abs(limit)))) continue;
    const double scaled = gram_ready_ ? excess_[i] * scale_[i] : excess_[i];
    if (scaled > most) {
      most = scaled;
      worst = i;
    }
  }
  if (worst >= 0) *excess = excess_[worst];
  return worst;
}

double MoveQp::bound(int w, const double* lower, const double* upper) const noexcept {
  return sign_[w] > 0.0 ? upper[set_[w]] : lower[set_[w]];
}

/// r = G_WW^-1 G_Wp with the signs of W and p; returns delta = G_pp - G_pW r.
double MoveQp::border(int p, double sign) noexcept {
  const double* column = gram_.column(p);
  for (int w = 0; w < active_; ++w) g_[w] = sign * sign_[w] * column[set_[w]];
  leading_multiply(inverse_.data(), inverse_.ld(), active_, g_.data(), r_.data());
  double delta = column[p];
  for (int w = 0; w < active_; ++w) delta -= g_[w] * r_[w];
  return delta;
}

/// The bordered inverse: [[B + r r'/delta, -r/delta], [-r'/delta, 1/delta]], with r left by border().
void MoveQp::append(int p, double sign, double lambda, double delta) noexcept {
  const int k = active_;
  for (int i = k; i < ld_ + 4; ++i) r_[i] = 0.0;
  rank_one(inverse_.data(), inverse_.ld(), k, 1.0 / delta, r_.data());
  double* last = inverse_.column(k);
  for (int i = 0; i < k; ++i) last[i] = inverse_(k, i) = -r_[i] / delta;
  last[k] = 1.0 / delta;
  set_[k] = p;
  sign_[k] = sign;
  lambda_[k] = lambda;
  is_active_[p] = 1;
  active_ = k + 1;
  ++changes_;
}

/// The inverse without row and column q: B - b b'/b_q; the last constraint takes the place of the dropped one.
void MoveQp::drop(int q) noexcept {
  const int last = active_ - 1;
  is_active_[set_[q]] = 0;
  if (q != last) {
    for (int j = 0; j <= last; ++j) std::swap(inverse_(q, j), inverse_(last, j));
    for (int i = 0; i <= last; ++i) std::swap(inverse_(i, q), inverse_(i, last));
    set_[q] = set_[last];
    sign_[q] = sign_[last];
    lambda_[q] = lambda_[last];
  }
  const double* b = inverse_.column(last);
  for (int i = 0; i < last; ++i) g_[i] = b[i];
  for (int i = last; i < ld_ + 4; ++i) g_[i] = 0.0;
  rank_one(inverse_.data(), inverse_.ld(), last, -1.0 / b[last], g_.data());
  for (int i = 0; i <= last; ++i) inverse_(last, i) = inverse_(i, last) = 0.0;
  active_ = last;
  ++changes_;
}

/// Starts from the active set of the last solve: its multipliers are solved for, negative ones are dropped.
void MoveQp::warm_start(const double* lower, const double* upper) noexcept {
  const int before = active_;
  if (changes_ >= stale) {
    active_ = changes_ = 0;
    for (int w = 0; w < before; ++w) {
      const int p = set_[w];  // append() writes positions up to w only
      const double sign = sign_[w];
      if (!std::isfinite(sign > 0.0 ? upper[p] : lower[p])) continue;
      const double delta = border(p, sign);
      if (delta > 1e-9 * gram_(p, p)) append(p, sign, 0.0, delta);
    }
    changes_ = 0;
  } else {
    for (int w = 0; w < before; ++w) is_active_[set_[w]] = 1;
    for (int w = active_ - 1; w >= 0; --w)
      if (!std::isfinite(bound(w, lower, upper))) drop(w);
  }
  for (int w = 0; w < active_; ++w) g_[w] = sign_[w] * (free_[set_[w]] - bound(w, lower, upper));
  leading_multiply(inverse_.data(), inverse_.ld(), active_, g_.data(), lambda_.data());
  while (active_ > 0) {
    int worst = 0;
    for (int w = 1; w < active_; ++w)
      if (lambda_[w] < lambda_[worst]) worst = w;
    if (!(lambda_[worst] < 0.0)) return;
    const double* b = inverse_.column(worst);
    const double ratio = lambda_[worst] / b[worst];
    for (int w = 0; w < active_; ++w) lambda_[w] -= ratio * b[w];
    drop(worst);
  }
}

/// One step of iterative refinement: what the active constraints miss their bounds by goes back into lambda.
void MoveQp::refine(const double* lower, const double* upper) noexcept {
  for (int w = 0; w < active_; ++w) g_[w] = sign_[w] * (v_[set_[w]] - bound(w, lower, upper));
  leading_multiply(inverse_.data(), inverse_.ld(), active_, g_.data(), r_.data());
  for (int w = 0; w < active_; ++w) lambda_[w] = std::max(0.0, lambda_[w] + r_[w]);
}

void MoveQp::hold(const double* lower, const double* upper) noexcept {
  std::fill(v_.begin(), v_.end(), 0.0);
  for (int i = 0; i < channels_; ++i) {
    const double move = within(0.0, lower[n_ + i], upper[n_ + i]);
    v_[i] = within(move, lower[i], upper[i]);
  }
  running_sums(v_.data());
  reset();
}

void MoveQp::reset() noexcept {
  for (int w = 0; w < active_; ++w) is_active_[set_[w]] = 0;
  active_ = changes_ = 0;
}

void MoveQp::multipliers(double* out) const noexcept {
  std::fill(out, out + 2 * n_, 0.0);
  for (int w = 0; w < active_; ++w) out[set_[w]] = sign_[w] * lambda_[w];
}

}  // namespace hmor
