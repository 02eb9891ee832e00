#pragma once

#include <vector>

#include "integrators/integrator.hpp"

namespace hmor {

/// Ordinary differential equation by the two-step Adams-Bashforth method (AB2) with n sub-steps of h = period / n:
///
///   x <- x + h (3/2 f(t, x) - 1/2 f(t - h, x_before))
///
/// Second order for one evaluation a sub-step, the classical choice of real-time simulation where nothing is stiff (Howe
/// 1991). The first sub-step has no past and is one of Heun: k = f(t, x), x <- x + h/2 (k + f(t + h, x + h k)). An input
/// counts at the start of the interval, and with one sub-step the formula runs it on linearly from its last two values; so
/// with Update::start it matters which inputs are `fresh`. Of several sub-steps only the first sees it run on.
class AdamsBashforth final : public Integrator {
 public:
  /// Outside the loop. Arguments as those of Integrator.
  AdamsBashforth(Equations model, int n_in, int n_out, std::vector<double> initial, std::vector<double> parameters,
                 double period, int substeps, Hold hold, Update update, std::vector<int> fresh = {})
      : Integrator(model, n_in, n_out, std::move(initial), std::move(parameters), period, substeps, hold, update,
                   std::move(fresh)),
        k_(n_state() + 1),
        before_(n_state() + 1),
        trial_(n_state() + 1) {}

  void reset() noexcept override {
    Integrator::reset();
    has_past_ = false;
  }

  void step(double t, const double* in, double* out) noexcept override;

 private:
  friend class Integrator;
  void substep(double t, double h, double* y) noexcept;

  std::vector<double> k_, before_, trial_;
  bool has_past_ = false;
};

}  // namespace hmor
