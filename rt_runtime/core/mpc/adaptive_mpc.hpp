#pragma once

#include <vector>

#include "control/learning_block.hpp"
#include "mpc/arx.hpp"
#include "mpc/move_qp.hpp"
#include "mpc/mpc.hpp"
#include "math/dense.hpp"

namespace hmor {

/// Model predictive controller that identifies its model while it runs; one input, one output. Each interval:
///
///   1. identify     theta = [a_1 .. a_na, b_1 .. b_nb] of y_k = -sum a_i y_{k-i} + sum b_i u_{k-i}   (ArxIdentifier)
///   2. realise      x+ = A x + B u, y = C x: A = [-a, shift], B = b, C = e_1, and one disturbance state d+ = d + b_d w
///   3. estimate     S = C P C' + R,  M = P C' / S,  x(k|k) = x + M (y - C x),  P <- A (P - M C P) A' + Q,
///                   Q = diag(q b b', b_d^2)
///   4. predict      free response and step response s_1 .. s_P;  H, f as in Mpc, built by diagonals:
///                   H_jl = H_{j+1,l+1} + w_y^2 s_{P-j} s_{P-l}
///   5. optimise     MoveQp, apply the first move
///
/// With a largest age, a measurement older than that (a rig that answers late) is not used: the model says what y is,
/// P grows, and nothing is learnt from it or from the n_a measurements after it, whose regressors it is part of. The same
/// holds while the monitor holds or ends the test: the plant then gets another command than this one.
///
/// Everything is rebuilt in memory that was allocated by the constructor. Inputs: reference (1, or P with preview),
/// measured (1), with a largest age also the age of the measurement. Outputs: command, iterations, status, theta
/// (na + nb), trace of the covariance of theta.
class AdaptiveMpc final : public LearningBlock {
 public:
  /// Outside the loop. process_variance q of noise on the input, disturbance_gain b_d, noise_variance R of y; largest_age
  /// is negative when the age is no input.
  AdaptiveMpc(int poles, int zeros, const ArxRules& rules, const Horizon& horizon, double process_variance,
              double disturbance_gain, double noise_variance, double largest_age, double period);

  void step(double t, const double* in, double* out) noexcept override;
  void reset() noexcept override;
  /// Identification and estimate in p = n_a + n_b and n + 1 numbers, H and the Gram matrix from its factor, the programme.
  Work work() const noexcept override {
    const double p = arx_.poles() + arx_.zeros(), n = n_ + 1, m = moves_;
    const double model = 6.0 * p * p + 10.0 * n * n + 2.0 * steps_ * (2.0 * n + m) + 3.0 * m * m;
    return {model + m * m * m / 3.0 + 4.0 * m * m * m + qp_.work().flops, qp_.work().iterations, 1};
  }

  /// In the loop. Gain M of the last step, n_p + 1 numbers.
  const double* gain() const noexcept { return gain_.data(); }
  /// Outside the loop. Covariance of the state every run starts with.
  const Matrix& settled() const noexcept { return settled_; }

 private:
  void realise() noexcept;
  void correct_covariance() noexcept;
  void estimate(double y) noexcept;
  void advance_covariance() noexcept;
  void advance(double* x, double u) const noexcept;
  void predict(const double* reference) noexcept;
  bool build_hessian() noexcept;

  ArxIdentifier arx_;
  MoveBounds bounds_;
  MoveQp qp_;
  int n_, steps_, moves_, references_;  // n_ states of the plant model
  double output_weight_, move_weight_, process_variance_, disturbance_gain_, noise_variance_, largest_age_;
  std::vector<double> a_, b_;           // padded to n_
  std::vector<double> x_;               // n_ + 1, the last one is the disturbance
  Matrix covariance_, product_;
  Matrix settled_;                      // P of the initial model in the steady state, where every run starts
  std::vector<double> gain_;
  std::vector<double> free_, response_, trial_, linear_;
  Matrix hessian_;
  double u_ = 0.0;
  int unlearnt_ = 0;                    // measurements to come that nothing is learnt from
  bool stale_ = true;                   // H belongs to an older model
};

}  // namespace hmor
