#pragma once

#include <vector>

#include "engine/block.hpp"
#include "math/dense.hpp"

namespace hmor {

/// What a solve gave. Anything but `optimal` returns the fallback of MoveQp.
enum class QpStatus : int { optimal = 0, iteration_limit = 1, infeasible = 2, not_finite = 3 };

struct QpResult {
  QpStatus status;
  int iterations;  // constraints added or dropped
};

/// The quadratic programme of a receding-horizon controller: `moves` increments of `channels` inputs,
/// x = [x_0; x_1; ...] move by move, n = moves * channels.
///
///   min 1/2 x' H x + f' x   subject to   lower <= [x; s] <= upper,   s_i = x_i + s_{i - channels}
///
/// Rate limits are boxes on x, input limits are boxes on the running sums s; nothing else is needed, so a constraint is
/// an index i < 2n and its normal is never stored. Dual active-set method of Goldfarb and Idnani (1983): start at the
/// minimum without constraints, add the most violated one, drop those whose multiplier would turn negative. All it
/// needs of H is the Gram matrix G = A H^-1 A' of all 2n normals, which is H^-1 summed up. For the active set W:
///
///   [x; s] = [x; s]_free - sum_W  sign_w lambda_w G[:, w],    r = G_WW^-1 G_Wp,    delta = G_pp - G_pW r
///
/// The inverse of G_WW is kept and changed by rank-one steps, and the active set is the start of the next solve. Without
/// one, or when it leads nowhere, the start is what a feasible point touches that a few rounds of coordinate descent
/// found (`approach`): its work is bounded, and it leaves a handful of changes to be made.
///
/// When the iteration cap is hit, or rounding leaves no step to make (targets many decades beyond the bounds), that
/// feasible point is the answer; where rounding pushes the optimum itself out of its bounds, it is moved back into them.
/// Whether a feasible point exists at all is decided step by step from the end (`settle`). When there is none, the
/// fallback is "hold": all moves zero except the first, which is moved into the bounds of the running sum and then into
/// its own box (the rate limit has the last word). So it is when the minimum without constraints is not finite, a bound is
/// none (nan, a lower of +infinity), or numbers overflow on the way: `not_finite`.
class MoveQp {
 public:
  static constexpr double tolerance = 1e-10;  ///< of every bound, relative to 1 + |bound|

  /// Outside the loop: allocates. max_iterations 0 means 4 n.
  MoveQp(int channels, int moves, int max_iterations = 0);

  /// In the loop. Takes H (n, n), lower triangle; false when it is not positive definite (the old one is then lost).
  bool set_hessian(const Matrix& h) noexcept;

  /// In the loop. Does now what the first solve with an active constraint would do with a new H.
  void prepare() noexcept {
    if (!gram_ready_) build_gram();
    if (!hessian_ready_) build_hessian();
  }

  /// In the loop. Solves for the linear term f (n); lower may be -infinity, upper infinity (2n).
  QpResult solve(const double* f, const double* lower, const double* upper) noexcept;

  /// In the loop. The same from the minimum without constraints, x = -H^-1 f, when the caller has it already.
  QpResult solve_from(const double* free_minimum, const double* lower, const double* upper) noexcept;

  /// In the loop. The solution: n moves, then n running sums.
  const double* solution() const noexcept { return v_.data(); }
  /// In the loop. Multipliers of the active constraints, positive at an upper bound; 2n numbers.
  void multipliers(double* out) const noexcept;
  /// In the loop. Forget the active set of the last solve.
  void reset() noexcept;

  int size() const noexcept { return n_; }
  int channels() const noexcept { return channels_; }
  int max_iterations() const noexcept { return cap_; }
  /// Outside the loop. The most that a solve can cost with H and G at hand: two starts (coordinate descent, an inverse
  /// built by n borders, n multipliers dropped), then `max_iterations` borders, rank-one steps, evaluations, refinements.
  Work work() const noexcept;
  /// In the loop. Cholesky factor of H, for callers that need H^-1 themselves.
  const Matrix& factor() const noexcept { return factor_; }
  /// In the loop. G (2n, 2n) after `prepare`.
  const Matrix& gram() const noexcept { return gram_; }

 private:
  static constexpr int stale = 64;  // rank-one steps before the kept inverse is built anew

  QpResult constrain(const double* lower, const double* upper) noexcept;
  void build_gram() noexcept;
  void build_hessian() noexcept;
  void meet_active(const double* lower, const double* upper) noexcept;
  bool settle(const double* wanted, const double* lower, const double* upper) noexcept;
  bool approach(const double* start, const double* lower, const double* upper) noexcept;
  bool guess(const double* lower, const double* upper) noexcept;
  QpResult finish(const double* lower, const double* upper, int iterations) noexcept;
  QpResult stop_early(const double* start, const double* lower, const double* upper, int iterations) noexcept;
  void running_sums(double* v) const noexcept;
  void evaluate() noexcept;
  int most_violated(const double* lower, const double* upper, double* excess) noexcept;
  double bound(int w, const double* lower, const double* upper) const noexcept;
  double border(int p, double sign) noexcept;
  void append(int p, double sign, double lambda, double delta) noexcept;
  void drop(int position) noexcept;
  void warm_start(const double* lower, const double* upper) noexcept;
  void refine(const double* lower, const double* upper) noexcept;
  void hold(const double* lower, const double* upper) noexcept;

  int channels_, n_, cap_, ld_;
  Matrix factor_;                     // Cholesky factor of H
  Matrix gram_;                       // G (2n, 2n)
  std::vector<double> scale_;         // 1 / sqrt(G_ii): violations are compared in the metric of H
  Matrix inverse_;                    // G_WW^-1, leading active_ rows and columns
  std::vector<int> set_;              // W
  std::vector<double> sign_, lambda_; // of W; +1 at an upper bound
  std::vector<double> g_, r_;         // G_Wp and G_WW^-1 G_Wp
  std::vector<double> free_, v_;      // [x; s] without constraints and now
  std::vector<double> excess_;
  std::vector<double> near_, slope_;  // [x; s] that is feasible, and the gradient there
  std::vector<double> least_, most_;  // sums from which all later bounds can be kept
  Matrix hessian_;                    // H in full, when it is needed
  std::vector<unsigned char> is_active_;
  int active_ = 0;
  int changes_ = 0;                   // rank-one steps since inverse_ was built
  int patience_ = 0;                  // iterations from the last active set before another start is tried
  bool gram_ready_ = false, hessian_ready_ = false;
};

}  // namespace hmor
