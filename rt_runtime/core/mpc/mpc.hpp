#pragma once

#include <vector>

#include "engine/block.hpp"
#include "control/kalman.hpp"
#include "mpc/move_qp.hpp"
#include "math/dense.hpp"

namespace hmor {

/// Weights and constraints of a predictive controller. Bounds per input; rates per control interval; infinity means none.
struct Horizon {
  int prediction = 0;                      // P
  int control = 0;                         // Mc <= P moves
  std::vector<double> output_weight;       // w_y, one per output, inside the square
  std::vector<double> move_weight;         // w_u, one per input, inside the square
  std::vector<double> lower, upper;        // of u
  std::vector<double> least_move, most_move;
  bool preview = false;                    // the reference is given for each step of the horizon
  int max_iterations = 0;                  // of the quadratic programme, 0 means its default
};

/// The bounds of Horizon as boxes on moves and running sums, relative to the input applied last.
class MoveBounds {
 public:
  /// Outside the loop.
  MoveBounds(const Horizon& horizon, int channels);

  /// In the loop. For the last applied input u (channels).
  void update(const double* u) noexcept;
  /// In the loop. u + move, with every limit kept to the last bit.
  double apply(int channel, double u, double move) const noexcept;

  const double* lower() const noexcept { return lower_.data(); }
  const double* upper() const noexcept { return upper_.data(); }

 private:
  Horizon horizon_;
  int channels_, n_;
  std::vector<double> lower_, upper_;  // moves, then running sums
};

/// Model predictive controller with a constant-gain estimator. Model x+ = A x + B u, y = C x, disturbances included
/// in x. With the free response Phi x + S u(k-1) and the effect Theta of the moves D on y(k+1) .. y(k+P):
///
///   min sum_i |w_y (r(k+i) - y(k+i))|^2 + sum_j |w_u D_j|^2,   bounds on D and on u(k-1) + running sums of D
///   H = Theta' W_y^2 Theta + W_u^2,   f = Theta' W_y^2 (Phi x + S u(k-1) - r)
///
/// H is constant, so the minimum without constraints is one product K [x; r; u(k-1)]. The first move is applied,
/// u(k) acts on [k, k+1). Inputs: reference (p numbers, or P p of them step by step with preview), measured (p).
/// Outputs: command (m), iterations and status of the quadratic programme.
class Mpc final : public Block {
 public:
  /// Outside the loop. a (n, n), b (n, m), c (p, n), gain (n, p).
  Mpc(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& gain, const Horizon& horizon, double period);
  /// Outside the loop. References given as R q: `preview` R (P p, n_q); the block then takes q in the place of r.
  Mpc(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& gain, const Horizon& horizon, double period,
      const Matrix& preview);

  void step(double t, const double* in, double* out) noexcept override;
  void reset() noexcept override;
  Work work() const noexcept override {
    const double n = estimator_.size(), ways = n + inputs_ + outputs_;
    return {2.0 * n * ways + 2.0 * gains_.rows() * gains_.cols() + qp_.work().flops, qp_.work().iterations, inputs_};
  }

  /// Outside the loop. H, and K with the minimum without constraints = K [x; r; u(k-1)].
  const Matrix& hessian() const noexcept { return hessian_; }
  const Matrix& gains() const noexcept { return gains_; }
  /// Outside the loop. Gram matrix of the bounds, as MoveQp uses it.
  const Matrix& gram() const noexcept { return qp_.gram(); }
  /// In the loop. The estimate x(k+1|k).
  const double* state() const noexcept { return estimator_.state(); }

 private:
  int inputs_, outputs_, references_;
  Estimator estimator_;
  MoveBounds bounds_;
  MoveQp qp_;
  Matrix hessian_, gains_;
  std::vector<double> argument_;  // [x; r; u(k-1)]
  std::vector<double> moves_;
  std::vector<double> u_;
};

}  // namespace hmor
