#pragma once

#include <vector>

#include "math/dense.hpp"

namespace hmor {

/// How parameters are followed and kept sane.
struct ArxRules {
  std::vector<double> initial;       // theta = [a_1 .. a_na, b_1 .. b_nb]
  std::vector<double> lower, upper;  // bounds of theta
  std::vector<double> drift;         // diagonal of R_1, the growth of P per step (random-walk parameters)
  double forgetting = 1.0;           // P is divided by it each step; 1 means random walk only
  double covariance = 1.0;           // P(0) = covariance I
  double covariance_cap = 1e6;       // largest trace of P
  double noise_variance = 1.0;       // of y
  double excitation = 0.0;           // no update while |psi| is below it
  double pole_radius = 1.0;          // the model in use has all poles inside
};

/// Recursive identification of y_k = psi' theta + e, psi = [-y_{k-1} .. -y_{k-na}, u_{k-1} .. u_{k-nb}]:
///
///   K = P psi / (r + psi' P psi),   theta <- clip(theta + K (y - psi' theta)),   P <- (P - K psi' P) / forgetting + R_1
///
/// P does not grow (no division, no R_1) while its trace is above the cap: without a cap the directions that the data
/// do not excite grow without bound and the first noise that comes along throws the parameters off. Nothing is updated
/// while |psi| is below `excitation`. The model in use is theta as long as its poles lie inside `pole_radius` and its
/// static gain has the sign it started with; otherwise the last one that did.
class ArxIdentifier {
 public:
  /// Outside the loop.
  ArxIdentifier(int poles, int zeros, const ArxRules& rules);

  /// In the loop. With the measured y_k; true when the model in use changed.
  bool update(double y) noexcept;
  /// In the loop. Shifts y_k and the input u_k that now acts into the memory.
  void advance(double y, double u) noexcept;
  void reset() noexcept;

  /// In the loop. The model in use, n_a + n_b numbers; trace of P.
  const double* theta() const noexcept { return model_.data(); }
  double trace() const noexcept;
  int poles() const noexcept { return na_; }
  int zeros() const noexcept { return nb_; }

 private:
  bool sane() noexcept;

  int na_, nb_, n_;
  ArxRules rules_;
  Matrix p_;
  std::vector<double> theta_, model_, psi_, p_psi_, scratch_;
  double gain_sign_ = 1.0;
};

}  // namespace hmor
