// Explicit integrators: AB2 by its recursion, how often the right-hand side is called, outputs alone, fresh inputs, held numbers.

#include "integrators/adams_bashforth.hpp"
#include "integrators/ode.hpp"
#include "check.hpp"

using namespace hmor;

namespace {

int evaluations = 0, outputs_alone = 0, asked = 0;

/// dx/dt = u0 - p x + u1, y = x + u1.
void decay(double, const double* x, const double* u, const double* p, double* dx, double* y) {
  ++evaluations;
  dx[0] = u[0] - p[0] * x[0] + u[1];
  y[0] = x[0] + u[1];
}

void decay_outputs(double, const double* x, const double* u, const double*, double* y) {
  ++outputs_alone;
  y[0] = x[0] + u[1];
}

/// dx/dt = h - p x + u1, y = x + h with h = u0^2, which is held behind the inputs.
void square_decay(double, const double* x, const double* u, const double* p, double* dx, double* y) {
  dx[0] = u[2] - p[0] * x[0] + u[1];
  y[0] = x[0] + u[2];
}

void square_outputs(double, const double* x, const double* u, const double*, double* y) { y[0] = x[0] + u[2]; }

void square(double, const double*, const double* u, const double*, double*, double* h) {
  ++asked;
  h[0] = u[0] * u[0];
}

/// The same without anything held.
void whole_decay(double, const double* x, const double* u, const double* p, double* dx, double* y) {
  dx[0] = u[0] * u[0] - p[0] * x[0] + u[1];
  y[0] = x[0] + u[0] * u[0];
}

/// Both over a moving input: the same bits; returns how often `square` was called.
template <class Method, class... Arguments>
int compare_held(Hold hold, Update update, int substeps, Arguments... arguments) {
  const double h = 0.1;
  Method held({square_decay, square_outputs, square, 1}, 2, 1, {1.0}, {2.0}, h, substeps, hold, update, arguments...);
  Method whole(whole_decay, 2, 1, {1.0}, {2.0}, h, substeps, hold, update, arguments...);
  asked = 0;
  for (int k = 0; k < 10; ++k) {
    const double in[2] = {0.3 * k - 1.0, 1.0 / (k + 1)};
    double a = 0.0, b = 1.0;
    held.step(k * h, in, &a);
    whole.step(k * h, in, &b);
    CHECK(a == b);
    CHECK(held.state()[0] == whole.state()[0]);
  }
  return asked;
}

}  // namespace

int main() {
  const double h = 0.1, p = 2.0;
  {  // free decay: x1 by Heun, then x <- x + h (3/2 f - 1/2 f_before)
    AdamsBashforth block(decay, 2, 1, {1.0}, {p}, h, 1, Hold::zero, Update::end);
    const double rest[2] = {0.0, 0.0};
    double y = 0.0, before = 1.0, x = 1.0 - h * p + 0.5 * h * h * p * p;
    block.step(0.0, rest, &y);
    CHECK(y == 1.0);
    CHECK(evaluations == 2);
    for (int k = 1; k < 20; ++k) {
      block.step(k * h, rest, &y);
      CHECK_NEAR(y, x, 1e-15);
      const double next = x + h * (-1.5 * p * x + 0.5 * p * before);
      before = x;
      x = next;
    }
    CHECK(evaluations == 21);  // one a tick
    CHECK_NEAR(block.state()[0], x, 1e-15);
    block.reset();
    block.step(0.0, rest, &y);
    block.step(h, rest, &y);
    CHECK_NEAR(y, 1.0 - h * p + 0.5 * h * h * p * p, 1e-15);  // Heun again
  }
  {  // advancing first: one evaluation for the rates, the outputs by their own function; a fresh input is taken before
    evaluations = outputs_alone = 0;
    AdamsBashforth block({decay, decay_outputs}, 2, 1, {0.0}, {0.0}, h, 1, Hold::zero, Update::start, {1});
    double in[2] = {5.0, 1.0}, y = 0.0;  // the first tick does not advance
    block.step(0.0, in, &y);
    CHECK(y == 1.0 && evaluations == 0 && outputs_alone == 1);
    in[0] = 3.0;  // of the last tick
    in[1] = 7.0;  // of this tick: 1 at the start of the interval
    block.step(h, in, &y);
    CHECK_NEAR(y, 0.4 + 7.0, 1e-15);
    in[0] = 4.0;
    in[1] = 0.0;
    block.step(2 * h, in, &y);
    CHECK_NEAR(y, 0.4 + h * (1.5 * 11.0 - 0.5 * 4.0), 1e-15);
    CHECK(evaluations == 3 && outputs_alone == 3);  // two in the first step
  }
  {  // RK4 takes four for the step and, without a function of its own, a fifth for the outputs
    evaluations = outputs_alone = 0;
    Ode with({decay, decay_outputs}, 2, 1, {1.0}, {p}, h, 1, Hold::zero, Update::start);
    Ode without(decay, 2, 1, {1.0}, {p}, h, 1, Hold::zero, Update::start);
    const double in[2] = {1.0, 2.0};
    double y = 0.0, other = 0.0;
    for (int k = 0; k < 10; ++k) {
      with.step(k * h, in, &y);
      without.step(k * h, in, &other);
      CHECK(y == other);
    }
    CHECK(evaluations == 9 * 4 + 9 * 4 + 10 && outputs_alone == 10);
  }
  {  // what depends on held inputs alone is asked for once a tick, and at every new value of an input that moves
    CHECK(compare_held<Ode>(Hold::zero, Update::end, 3) == 10);
    CHECK(compare_held<Ode>(Hold::zero, Update::start, 3) == 10);
    CHECK(compare_held<Ode>(Hold::first, Update::start, 2) > 10);
    CHECK(compare_held<AdamsBashforth>(Hold::zero, Update::end, 1) == 10);
    CHECK(compare_held<AdamsBashforth>(Hold::zero, Update::start, 1, std::vector<int>{0}) == 20);
  }
}
