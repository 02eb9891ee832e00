#pragma once

#include <vector>

#include "block.hpp"
#include "blocks/state_space.hpp"

namespace hmor {

/// Right-hand side of a full-order model: reads t, x, u, p; writes dx = dx/dt and the outputs y.
/// Called in the loop: must not allocate, lock, throw or enter the interpreter.
using Rhs = void (*)(double t, const double* x, const double* u, const double* p, double* dx, double* y);

/// Ordinary differential equation by classical Runge-Kutta (RK4) with n sub-steps of h = period / n:
///
///   k1 = f(t, x), k2 = f(t + h/2, x + h/2 k1), k3 = f(t + h/2, x + h/2 k2), k4 = f(t + h, x + h k3)
///   x <- x + h/6 (k1 + 2 k2 + 2 k3 + k4)
///
/// Hold::zero   the input is constant over the tick.
/// Hold::first  the input runs linearly from last tick's value to this tick's; needs Update::start.
/// A system without states is a static map y = f(t, u, p): one evaluation a tick.
enum class Hold { zero, first };

class Ode final : public Block {
 public:
  /// Outside the loop. `initial` has n_state numbers, `parameters` are passed on to f as they are.
  Ode(Rhs f, int n_in, int n_out, std::vector<double> initial, std::vector<double> parameters, double period,
      int substeps, Hold hold, Update update);

  void step(double t, const double* in, double* out) noexcept override;
  void reset() noexcept override;

  /// In the loop. The state, n_state numbers.
  const double* state() const noexcept { return x_.data(); }

 private:
  void advance(double t, double* first_output) noexcept;

  Rhs f_;
  std::vector<double> initial_, p_, x_, trial_, sum_, k_, scratch_;
  std::vector<double> u_, from_, slope_;  // input now, at the start of the interval, its change per tick
  int substeps_;
  Hold hold_;
  Update update_;
  bool started_ = false;
};

}  // namespace hmor
