// Not one allocation in 10 000 ticks of a loop with every block of the engine.

#include "allocations.hpp"

#include "integrators/adams_bashforth.hpp"
#include "blocks/delay.hpp"
#include "blocks/filter.hpp"
#include "blocks/gain.hpp"
#include "blocks/mail.hpp"
#include "blocks/noise.hpp"
#include "integrators/ode.hpp"
#include "integrators/rosenbrock.hpp"
#include "blocks/state_space.hpp"
#include "blocks/table.hpp"
#include "blocks/target_path.hpp"
#include "check.hpp"
#include "mpc/tracking_mpc.hpp"
#include "engine/loop.hpp"
#include "kinematics/maps.hpp"
#include "safety/fade.hpp"
#include "safety/response_watch.hpp"

using namespace hmor;

namespace {

void oscillator(double, const double* x, const double* u, const double* p, double* dx, double* y) {
  dx[0] = x[1];
  dx[1] = u[0] - p[0] * x[0] - p[1] * x[1];
  y[0] = x[0];
}

void position(double, const double* x, const double*, const double*, double* y) { y[0] = x[0]; }

Matrix matrix(int rows, int cols, std::initializer_list<double> values) {
  return Matrix::from_rows(values.begin(), rows, cols);
}

}  // namespace

int main() {
  const double dt = 1e-3;
  Table table({0.0, 5.0, 10.0}, matrix(3, 1, {0.0, 1.0, -1.0}));                                     // -> 0
  Noise noise({0.1}, 7);                                                                             // -> 1
  Gain sum(matrix(1, 2, {1.0, 1.0}), {0.0});                                                         // 0 1 -> 2
  StateSpace linear(matrix(2, 2, {0.9, 0.1, -0.1, 0.9}), matrix(2, 1, {0.0, 1.0}), matrix(1, 2, {1.0, 0.0}),
                    matrix(1, 1, {0.0}), Matrix(2, 1), {0.0, 0.0}, dt, Update::end);                 // 2 -> 3
  Ode held(oscillator, 1, 1, {0.0, 0.0}, {100.0, 1.0}, dt, 3, Hold::zero, Update::end);              // 3 -> 4
  Ode ramped(oscillator, 1, 1, {0.0, 0.0}, {100.0, 1.0}, dt, 2, Hold::first, Update::start);         // 4 -> 5
  Delay delay(12.5, {0.0});                                                                          // 5 -> 6
  Filter filter({{0.1, 0.2, 0.1, -0.5, 0.2}, {0.3, 0.0, 0.0, -0.7, 0.0}}, 1);                        // 6 -> 7

  Rosenbrock stiff(oscillator, nullptr, 1, 1, {0.0, 0.0}, {100.0, 1.0}, {1.0, 1.0}, dt, 2, Hold::zero,
                   Update::end);                                                                      // 7 -> 8
  AdamsBashforth cheap({oscillator, position}, 1, 1, {0.0, 0.0}, {100.0, 1.0}, dt, 1, Hold::zero, Update::start,
                       {0});                                                                          // 8 -> 9

  ResponseWatch watch({{0, 2, 5, 10}, 1, 100, 0.05, 1.0, 1.0, 50, 200.0, 250, 0, false}, dt);                // 2 3 -> 10 .. 15
  EnergyWatch energy(0.5, dt);                                                                        // 2 3 -> 16

  const Platform platform({0.1, -0.2, 0.1, 0.1, -0.2, -0.1, -0.1, -0.2, 0.0, 0.3, 0.0, 0.1, 0.3, 0.0, -0.1, 0.0, 0.0, 0.3},
                          {0.1, 0.0, 0.1, 0.1, 0.0, -0.1, -0.1, 0.0, 0.0, 0.1, 0.0, 0.1, 0.1, 0.0, -0.1, 0.0, 0.02, 0.1},
                          {-0.1, 0.1, -0.1, 0.1, -0.1, 0.1, -0.1, 0.1, -0.1, 0.1, -0.1, 0.1});
  InverseKinematics inverse(platform);                                                                // 0 (six times) -> 17 .. 23
  ForwardKinematics forward(platform, 2, 0.2, 1.5, 1e-3);                                             // 17 .. 22 -> 24 .. 31
  ForceTransform transform(platform, true);                                                           // 17 .. 22, 24 .. 29 -> 32 .. 37
  Fade fade(1, 100);                                                                                  // 2, 9 -> 38
  TrackingMpc mpc(matrix(1, 1, {0.9}), matrix(1, 1, {0.1}), matrix(1, 1, {1.0}), matrix(1, 1, {0.2}),
                  {3, 2, {1.0}, {0.1}, {-1.0}, {1.0}, {-1.0}, {1.0}, true, 0}, dt, 1, 2, {1.0, 2.0, 3.0});  // 2 3 -> 39 .. 41

  Mailbox targets(1), answers(3), mail(1);
  const double target = 0.5;
  targets.post(&target);
  TargetPath path(targets, answers, 20, 0.6, 1.0, 10, dt);                                            // 2 3 -> 42 .. 44
  Received received(mail, dt);                                                                        // -> 45 46
  Posted posted(mail);                                                                                // 42 ->

  Loop loop(dt, std::vector<double>(47, 0.0));
  loop.add(table, {}, 0, 1);
  loop.add(noise, {}, 1, 2);
  loop.add(sum, {0, 1}, 2, 1);
  loop.add(linear, {2}, 3, 1);
  loop.add(held, {3}, 4, 1);
  loop.add(ramped, {4}, 5, 1);
  loop.add(delay, {5}, 6, 1);
  loop.add(filter, {6}, 7, 1);
  loop.add(stiff, {7}, 8, 1);
  loop.add(cheap, {8}, 9, 1);
  loop.add(watch, {2, 3}, 10, 1);
  loop.add(energy, {2, 3}, 16, 1);
  loop.add(inverse, {0, 1, 1, 1, 1, 1}, 17, 1);
  loop.add(forward, {17, 18, 19, 20, 21, 22}, 24, 1);
  loop.add(transform, {17, 18, 19, 20, 21, 22, 24, 25, 26, 27, 28, 29}, 32, 1);
  loop.add(fade, {2, 9}, 38, 1);
  loop.add(mpc, {2, 3}, 39, 1);
  loop.add(path, {2, 3}, 42, 1);
  loop.add(received, {}, 45, 1);
  loop.add(posted, {42}, 0, 1);
  loop.record({0, 2, 4, 7}, 3, 4000);

  CHECK(!counting || allocations.load() > 0);  // the counter works
  loop.reset();
  const long before = allocations.load();
  const Stop stop = loop.run(10'000);
  const long during = allocations.load() - before;
  CHECK(stop == Stop::finished);
  CHECK(loop.tick() == 10'000);
  CHECK(loop.recorder().frames() == 3334);
  CHECK(loop.bus()[9] != 0.0);
  CHECK(during == 0);
  std::printf("allocations in 10000 ticks: %ld\n", during);
}
