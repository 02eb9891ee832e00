#pragma once

#include <vector>

#include "integrators/integrator.hpp"

namespace hmor {

/// Jacobian of a right-hand side: writes df_i/dx_j to jacobian[i * n + j]. Called in the loop, as Rhs.
using Jacobian = void (*)(double t, const double* x, const double* u, const double* p, double* jacobian);

/// Stiff ordinary differential equation by the linearly implicit Rosenbrock method ROS2 (Verwer et al. 1999), with
/// n sub-steps of h = period / n, W = I - g h J, g = 1 + 1/sqrt(2):
///
///   W k1 = f(t, x),   W k2 = f(t + h, x + h k1) - 2 k1,   x <- x + h/2 (3 k1 + k2)
///
/// Second order for whatever matrix stands for J, and L-stable when J is the Jacobian: a stiff mode is damped out instead
/// of limiting the step. Of the two values of g that are L-stable this one damps more, which a contact that closes within
/// a step needs. J is given as a function or formed by forward differences with steps 1e-7 max(|x_j|, scale_j).
class Rosenbrock final : public Integrator {
 public:
  /// Outside the loop. `jacobian` may be null; `scales` holds a typical size, not zero, of each state.
  Rosenbrock(Equations model, Jacobian jacobian, int n_in, int n_out, std::vector<double> initial,
             std::vector<double> parameters, std::vector<double> scales, double period, int substeps, Hold hold,
             Update update);

  void step(double t, const double* in, double* out) noexcept override;

 private:
  friend class Integrator;
  void substep(double t, double h, double* y) noexcept;
  void form_jacobian(double t) noexcept;
  bool factor() noexcept;
  void solve(double* b) const noexcept;

  Jacobian jacobian_;
  std::vector<double> scales_, w_, k1_, k2_, trial_;
  std::vector<int> pivot_;
};

}  // namespace hmor
