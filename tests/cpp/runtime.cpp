// The real-time side: not one allocation with actuators, monitor, reduced models, ring and UDP in the loop; the ring
// keeps every frame in order across threads; bins of the histogram follow each other; a paced loop comes to rest.

#include "allocations.hpp"

#include <cmath>
#include <thread>

#include "actuators/simulated.hpp"
#include "actuators/udp.hpp"
#include "blocks/gain.hpp"
#include "blocks/monitor.hpp"
#include "blocks/playback.hpp"
#include "blocks/rom.hpp"
#include "blocks/stability.hpp"
#include "blocks/table.hpp"
#include "check.hpp"
#include "histogram.hpp"
#include "loop.hpp"
#include "paced.hpp"
#include "rig.hpp"

using namespace hmor;

namespace {

constexpr double dt = 1e-3;

Matrix matrix(int rows, int cols, std::initializer_list<double> values) {
  return Matrix::from_rows(values.begin(), rows, cols);
}

/// 2-3-1 tanh network and a polynomial of its output: every kind of step.
Plan every_kind_of_step() {
  Plan plan(2, 1, std::vector<double>(64, 0.5), {40}, {40});
  plan.dense({0, 1}, matrix(3, 2, {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}), {48, 48, 48}, Unary::tanh, 4);
  plan.unary(Unary::abs, {4, 5, 6}, 8);
  plan.binary(Binary::add, {8, 9, 10}, {4, 5, 6}, 12);
  plan.product({12, 13, 14, 12}, 2, 16);
  plan.factors({16, 17, 0, 1, 2}, {{1.0, 2.0}, {1.0}, {0.5}, {0.5}, {0.1}}, {{0.0, 1.0}, {1.0}, {1.0}, {1.0}, {1.0}}, 20);
  plan.terms({{20, 21, 22}, {23, 24, 20}}, matrix(1, 3, {0.1, 0.2, 0.3}), {0.5}, 40);
  return plan;
}

void nothing_is_allocated_per_tick() {
  SimulatedActuator actuator(1, matrix(1, 1, {0.7}), matrix(1, 1, {0.3}), matrix(1, 1, {1.0}), 2.5, {-1.0, 1.0, 50.0},
                             1e-6, 1e-7, 3, dt);
  Sensor sensor(actuator);                                                                         // -> 0 1 2
  Table table({0.0, 1.0, 2.0}, matrix(3, 1, {0.0, 0.4, -0.4}));                                    // -> 3
  Rom rom(every_kind_of_step(), {0.1}, {-1.0, -1.0}, {1.0, 1.0}, true, 0.0);                       // 0 3 -> 4 5
  StabilityWarning warning(matrix(1, 1, {2.0}), matrix(1, 1, {1.0}), 1.0);                         // 0 3 4 -> 6 7 8
  EnergyError error(matrix(1, 1, {1.0}), matrix(1, 1, {2.0}), matrix(1, 1, {3.0}), 1, 1.0, dt);    // 0 3 4 0 -> 9 10
  Host host;                                                                                       // -> 11 12 13
  Monitor monitor({{-0.3, 0.3, 5.0, 0.0}}, 2,
                  {{Quantity::value, 2, -1, -9.0, 9.0, Action::warn, 1, 0},
                   {Quantity::rate, 2, -1, -90.0, 90.0, Action::hold, 1, 0},
                   {Quantity::difference, 2, 3, -9.0, 9.0, Action::ramp, 1, 0},
                   {Quantity::unchanged, 2, 0, 0.0, 500.0, Action::trip, 1, 0}},
                  {0, 100, 200, 100, 100, 10, 5, false}, dt);                                      // 3 11 0 6 -> 14 .. 17
  Drive drive(actuator);                                                                           // 14 -> 18
  Loop loop(dt, std::vector<double>(19, 0.0));
  loop.add(sensor, {}, 0, 1);
  loop.add(table, {}, 3, 1);
  loop.add(rom, {0, 3}, 4, 1);
  loop.add(warning, {0, 3, 4}, 6, 1);
  loop.add(error, {0, 3, 4, 0}, 9, 1);
  loop.add(host, {}, 11, 1);
  loop.add(monitor, {3, 11, 0, 6}, 14, 1);
  loop.add(drive, {14}, 18, 1);
  Ring ring({0, 14, 15}, 1, 1 << 15);
  loop.stream(&ring);
  loop.record({14}, 10, 2000);

  CHECK(!counting || allocations.load() > 0);
  loop.reset();
  const long before = allocations.load();
  const Stop stop = loop.run(10'000);
  const long during = allocations.load() - before;
  CHECK(stop == Stop::finished);
  CHECK(loop.tick() >= 10'200 && loop.bus()[14] == 0.0);  // came to rest
  CHECK(ring.lost() == 0 && loop.health().broken == -1);
  CHECK(during == 0);
  std::printf("allocations in %ld guarded ticks: %ld\n", static_cast<long>(loop.tick()), during);
}

void nothing_is_allocated_by_a_udp_rig() {
  const std::string key(32, 'k');
  Gain spring(matrix(2, 1, {1.0, 100.0}), {0.0, 0.0});
  Loop specimen(dt, std::vector<double>(3, 0.0));
  specimen.add(spring, {2}, 0, 1);
  RigFaults faults;
  faults.loss = faults.repeat = faults.reorder = faults.forge = faults.replay = 0.05;
  Rig rig(specimen, {2}, {0, 1}, "127.0.0.1", 0, key, faults);
  std::thread server([&] { rig.serve(60.0); });
  UdpRig client(1, 2, "127.0.0.1", rig.port(), key, 5.0);
  client.start();
  double measured[2] = {0.0, 0.0}, age = 0.0, command = 0.0, oldest = 0.0;
  const long before = allocations.load();
  for (int k = 0; k < 2000; ++k) {
    CHECK(client.read(0.0, measured, &age) == 0);
    CHECK_NEAR(measured[1], 100.0 * measured[0], 1e-12);  // never a forged one
    oldest = std::max(oldest, age);
    command = std::sin(0.01 * k);
    CHECK(client.write(0.0, &command) == 0);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  const long during = allocations.load() - before;
  client.stop();
  rig.ask_to_stop();
  server.join();
  CHECK(during == 0);
  const Traffic& t = client.traffic();
  CHECK(t.sent == 2000 && t.forged > 20 && t.repeated > 20 && t.damaged == 0);
  std::printf("udp: %ld allocations in 2000 ticks, %ld lost, oldest answer %.0f ticks\n", during,
              static_cast<long>(t.lost), oldest);
}

void the_ring_keeps_frames_whole_and_in_order() {
  constexpr std::int64_t frames = 300'000;
  Ring ring({0, 1}, 1, 256);
  std::atomic<bool> over{false};
  std::int64_t seen = 0, last = -1;
  std::thread reader([&] {
    for (bool ending = false;;) {
      const std::uint64_t n = ring.ready();
      const double* frame = ring.front();
      for (std::uint64_t i = 0; i < n; ++i, frame += ring.stride()) {
        const auto k = std::bit_cast<std::int64_t>(frame[0]);
        CHECK(k > last && frame[1] == static_cast<double>(k) && frame[2] == -static_cast<double>(k));
        last = k;
        ++seen;
      }
      ring.release(n);
      if (n == 0) {
        if (ending) return;
        ending = over.load();
      }
    }
  });
  double bus[2];
  for (std::int64_t k = 0; k < frames; ++k) {
    bus[0] = static_cast<double>(k);
    bus[1] = -bus[0];
    ring.push(k, bus);
  }
  over.store(true);
  reader.join();
  CHECK(seen + ring.lost() == frames);
}

void bins_follow_each_other() {
  for (int i = 1; i < Histogram::bins; ++i) {
    CHECK(Histogram::edge(i) > Histogram::edge(i - 1));
    CHECK(Histogram::bin_of(Histogram::edge(i)) == i);
    CHECK(Histogram::bin_of(Histogram::edge(i) - 1) == i - 1);
  }
}

void a_paced_loop_comes_to_rest_when_asked() {
  Playback wanted({0.1}, 1);
  Host host;
  Monitor monitor({{-1.0, 1.0, 10.0, 0.0}}, 0, {}, {0, 5, 10, 5, 10, 1, 0, false}, dt);
  Loop loop(dt, std::vector<double>(8, 0.0));
  loop.add(wanted, {}, 0, 1);
  loop.add(host, {}, 1, 1);
  loop.add(monitor, {0, 1}, 4, 1);
  loop.reset();
  PacedRun run(loop, 1'000'000, {});
  run.start();
  CHECK(!run.wait(0.05));
  loop.ask_to_stop();
  CHECK(run.wait(20.0));
  CHECK(run.stop() == Stop::asked && loop.bus()[4] == 0.0 && run.state() == static_cast<int>(State::idle));
  CHECK(run.own().count() == static_cast<std::uint64_t>(loop.tick()));
}

}  // namespace

int main() {
  nothing_is_allocated_per_tick();
  nothing_is_allocated_by_a_udp_rig();
  the_ring_keeps_frames_whole_and_in_order();
  bins_follow_each_other();
  a_paced_loop_comes_to_rest_when_asked();
}
