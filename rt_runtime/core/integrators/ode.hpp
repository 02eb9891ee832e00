#pragma once

#include <vector>

#include "integrators/integrator.hpp"

namespace hmor {

/// Ordinary differential equation by classical Runge-Kutta (RK4) with n sub-steps of h = period / n:
///
///   k1 = f(t, x), k2 = f(t + h/2, x + h/2 k1), k3 = f(t + h/2, x + h/2 k2), k4 = f(t + h, x + h k3)
///   x <- x + h/6 (k1 + 2 k2 + 2 k3 + k4)
class Ode final : public Integrator {
 public:
  /// Outside the loop. Arguments as those of Integrator.
  Ode(Equations model, int n_in, int n_out, std::vector<double> initial, std::vector<double> parameters, double period,
      int substeps, Hold hold, Update update)
      : Integrator(model, n_in, n_out, std::move(initial), std::move(parameters), period, substeps, hold, update),
        trial_(n_state() + 1),
        sum_(n_state() + 1),
        k_(n_state() + 1) {}

  void step(double t, const double* in, double* out) noexcept override;

 private:
  friend class Integrator;
  void substep(double t, double h, double* y) noexcept;

  std::vector<double> trial_, sum_, k_;
};

}  // namespace hmor
