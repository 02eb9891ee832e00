#pragma once

#include <vector>

#include "engine/block.hpp"
#include "blocks/state_space.hpp"

namespace hmor {

/// Right-hand side of a full-order model: reads t, x, u, p; writes dx = dx/dt and the outputs y.
/// Called in the loop: must not allocate, lock, throw or enter the interpreter.
using Rhs = void (*)(double t, const double* x, const double* u, const double* p, double* dx, double* y);

/// The outputs of the same model alone, y as Rhs writes it. Called in the loop, as Rhs.
using Outputs = void (*)(double t, const double* x, const double* u, const double* p, double* y);

/// A full-order model: its right-hand side and, where it saves work, its outputs alone and what depends on inputs and
/// parameters alone: `held` writes n_held numbers y from u and p (its t, x and dx are not read), and f and g read them
/// behind the inputs, u[n_in] to u[n_in + n_held - 1]. It is called once while the input stays as it is.
struct Equations {
  Equations(Rhs right_hand_side, Outputs outputs_alone = nullptr, Rhs held_alone = nullptr, int n_held_alone = 0)
      : f(right_hand_side), g(outputs_alone), held(held_alone), n_held(n_held_alone) {}
  Rhs f;
  Outputs g;
  Rhs held;
  int n_held;
};

/// How an input runs between two ticks.
enum class Hold {
  zero,   ///< constant over the tick
  first,  ///< linearly from last tick's value to this tick's; needs Update::start
};

/// Ordinary differential equation dx/dt = f(t, x, u), y = g(t, x, u), stepped in n sub-steps of h = period / n.
/// What happens in a sub-step is the method's, `substep(t, h, y)`: x_ at t -> x_ at t + h, the outputs at t go to y; the
/// order of output and advance and the inputs in between stand here. A system without states is a static map y = g(t, u):
/// one evaluation a tick.
class Integrator : public Block {
 public:
  /// Outside the loop. `initial` has n_state numbers, `parameters` are passed on to f as they are. With Update::start and
  /// Hold::zero the inputs count as last tick's values; those in `fresh` are this tick's and taken from the tick before.
  Integrator(Equations model, int n_in, int n_out, std::vector<double> initial, std::vector<double> parameters,
             double period, int substeps, Hold hold, Update update, std::vector<int> fresh = {});

  void reset() noexcept override;

  /// In the loop. The state, n_state numbers.
  const double* state() const noexcept { return x_.data(); }

 protected:
  /// In the loop. The step of a block whose method is `method`; known at compile time, it costs no call.
  template <class Method>
  void step_by(Method& method, double t, const double* in, double* out) noexcept {
    if (n_state() == 0) {
      u_ = with_held(in);
      evaluate(t, x_.data(), k_.data(), out);
      return;
    }
    if (update_ == Update::end) {
      u_ = with_held(in);
      advance(method, t, out);
      return;
    }
    u_ = in;
    if (hold_ == Hold::first) {
      for (int i = 0; i < n_in(); ++i) slope_[i] = in[i] - from_[i];
      u_ = between_.data();
    } else if (!fresh_.empty()) {
      for (int i = 0; i < n_in(); ++i) between_[i] = in[i];
      for (int i : fresh_) between_[i] = from_[i];
      u_ = between_.data();
    }
    u_ = with_held(u_);
    if (started_) advance(method, t - period(), scratch_.data());
    started_ = true;
    if (hold_ == Hold::first || !fresh_.empty()) {
      for (int i = 0; i < n_in(); ++i) from_[i] = in[i];
      u_ = with_held(in);
    }
    if (model_.g != nullptr)
      model_.g(t, x_.data(), u_, p_.data(), out);
    else
      evaluate(t, x_.data(), k_.data(), out);
  }

  /// In the loop. Sets the input to its value after `fraction` (0 to 1) of the present sub-step.
  void input_at(double fraction) noexcept {
    if (hold_ == Hold::zero) return;
    const double w = (present_ + fraction) / substeps_;
    for (int i = 0; i < n_in(); ++i) between_[i] = from_[i] + w * slope_[i];
    u_ = with_held(between_.data());
  }

  /// In the loop. dx = f(t, x, u) and the outputs at the present input.
  void evaluate(double t, const double* x, double* dx, double* y) const noexcept {
    model_.f(t, x, u_, p_.data(), dx, y);
  }
  const double* input() const noexcept { return u_; }
  const double* parameters() const noexcept { return p_.data(); }
  double* scratch() noexcept { return scratch_.data(); }  // n_out numbers nobody reads

  std::vector<double> x_;

 private:
  /// `in` with what `held` makes of it behind; `in` itself when there is no such thing.
  const double* with_held(const double* in) noexcept {
    if (model_.held == nullptr) return in;
    double* const u = between_.data();
    if (in != u)
      for (int i = 0; i < n_in(); ++i) u[i] = in[i];
    model_.held(0.0, nullptr, u, p_.data(), nullptr, u + n_in());
    return u;
  }

  /// x(t) -> x(t + period); the outputs at the first stage, y(t), go to first_output.
  template <class Method>
  void advance(Method& method, double t, double* first_output) noexcept {
    const double h = h_;
    double* y = first_output;
    for (present_ = 0; present_ < substeps_; ++present_) {
      method.substep(t + present_ * h, h, y);
      y = scratch_.data();
    }
  }

  Equations model_;
  std::vector<double> initial_, p_, k_, scratch_;
  std::vector<double> from_, slope_, between_;  // input of the tick before, its change since, its value in between with
                                                // what is held behind it
  const double* u_ = nullptr;                   // the present input: between_, or what the block reads
  std::vector<int> fresh_;
  int substeps_, present_ = 0;
  double h_;  // one sub-step
  Hold hold_;
  Update update_;
  bool started_ = false;
};

}  // namespace hmor
