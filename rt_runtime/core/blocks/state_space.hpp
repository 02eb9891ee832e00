#pragma once

#include <vector>

#include "engine/block.hpp"
#include "math/dense.hpp"

namespace hmor {

/// When a block with state advances within its tick.
enum class Update {
  end,    ///< y_k = g(x_k, u_k), then x_k -> x_{k+1} with u_k. The input may act on the output at once.
  start,  ///< x_{k-1} -> x_k with u read now, then y_k = g(x_k). For inputs that are last tick's values.
};

/// Discrete linear state space.
///
///   Update::end     y_k = C x_k + D u_k,   x_{k+1} = A x_k + B u_k
///   Update::start   x_k = A x_{k-1} + B u,  y_k = C x_k   (D must be zero; the first tick only outputs C x_0)
///
/// Both are one matrix-vector product: [x+; y] = S [x; u]. With Update::end an `entry` matrix G may be given: the first
/// tick starts from x_0 - G u_0 (the change of variables behind a first-order hold).
class StateSpace final : public Block {
 public:
  /// Outside the loop. a (n, n), b (n, m), c (p, n), d (p, m), entry (n, m); `initial` has n numbers.
  StateSpace(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& d, Matrix entry,
             std::vector<double> initial, double period, Update update);

  void step(double t, const double* in, double* out) noexcept override;
  void reset() noexcept override;
  Work work() const noexcept override { return {2.0 * stacked_.rows() * stacked_.cols()}; }

  /// In the loop. The state, n_state numbers.
  const double* state() const noexcept { return now_; }

 private:
  Matrix stacked_;                 // S, rows [x+; y]
  Matrix entry_;                   // G
  std::vector<double> initial_;    // x_0
  std::vector<double> first_;      // C x_0, for Update::start
  Numbers buffer_;                 // two vectors that take turns: [x; u] now, [x+; y] next
  double *now_, *next_;
  MultiplyKernel multiply_;
  Update update_;
  bool started_ = false;
};

}  // namespace hmor
