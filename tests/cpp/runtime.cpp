// The real-time side: not one allocation with actuators, monitor, reduced models, ring and UDP in the loop; the ring
// keeps every frame in order across threads; bins of the histogram follow each other; a paced loop comes to rest.

#include "allocations.hpp"

#include <cmath>
#include <cstring>
#include <thread>

#include <unistd.h>

#include "actuators/simulated.hpp"
#include "actuators/udp.hpp"
#include "blocks/gain.hpp"
#include "safety/monitor.hpp"
#include "blocks/playback.hpp"
#include "rom/rom.hpp"
#include "safety/stability.hpp"
#include "blocks/table.hpp"
#include "check.hpp"
#include "engine/histogram.hpp"
#include "engine/loop.hpp"
#include "engine/paced.hpp"
#include "rig/rig.hpp"

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
  const SimulatedChannel channel{matrix(1, 1, {0.7}), matrix(1, 1, {0.3}), matrix(1, 1, {1.0}), -1.0, 1.0, 50.0, 1e-6, 1e-7};
  SimulatedActuator actuator({channel}, matrix(1, 1, {1.0}), 2.5, 3, dt);
  Sensor sensor(actuator);                                                                         // -> 0 1 2
  Table table({0.0, 1.0, 2.0}, matrix(3, 1, {0.0, 0.4, -0.4}));                                    // -> 3
  Rom rom(every_kind_of_step(), {0.1}, {-1.0, -1.0}, {1.0, 1.0}, true, 0.0);                       // 0 3 -> 4 5
  StabilityWarning warning(matrix(1, 1, {2.0}), matrix(1, 1, {1.0}), 1.0);                         // 0 3 4 -> 6 7 8
  EnergyErrorIndicator error(matrix(1, 1, {1.0}), matrix(1, 1, {2.0}), matrix(1, 1, {3.0}), 1, 1.0, dt);    // 0 3 4 0 -> 9 10
  HostStatus host;                                                                                 // -> 11 .. 18
  Monitor monitor({{-0.3, 0.3, 5.0, 0.0, 7}}, 2,
                  {{Quantity::value, 7, -1, -9.0, 9.0, Action::warn, 1, 0},
                   {Quantity::rate, 7, -1, -90.0, 90.0, Action::hold, 1, 0},
                   {Quantity::difference, 7, 8, -9.0, 9.0, Action::ramp, 1, 0},
                   {Quantity::unchanged, 7, 0, 0.0, 500.0, Action::trip, 1, 0}},
                  {0, 100, 200, 100, 100, 10, 5, false, false, false, 50}, dt);               // 3 11 14 .. 18 0 6 -> 19 .. 23
  Drive drive(actuator);                                                                           // 19 -> 24
  Loop loop(dt, std::vector<double>(25, 0.0));
  loop.add(sensor, {}, 0, 1);
  loop.add(table, {}, 3, 1);
  loop.add(rom, {0, 3}, 4, 1);
  loop.add(warning, {0, 3, 4}, 6, 1);
  loop.add(error, {0, 3, 4, 0}, 9, 1);
  loop.add(host, {}, 11, 1);
  loop.add(monitor, {3, 11, 14, 15, 16, 17, 18, 0, 6}, 19, 1);
  loop.add(drive, {19}, 24, 1);
  Ring ring({0, 19, 20}, 1, 1 << 15);
  loop.stream(&ring);
  LiveRing live("/dev/shm/hmor-test-" + std::to_string(getpid()) + ".live", {0, 19, 20}, 1, 1000, 1.0 / dt);
  loop.show(&live);
  loop.record({19}, 10, 2000);

  CHECK(!counting || allocations.load() > 0);
  loop.reset();
  const long before = allocations.load();
  const Stop stop = loop.run(10'000);
  const long during = allocations.load() - before;
  CHECK(stop == Stop::finished);
  CHECK(loop.tick() >= 10'200 && loop.bus()[19] == 0.0);  // came to rest
  CHECK(ring.lost() == 0 && loop.health().broken == -1);
  CHECK(during == 0);
  std::printf("allocations in %ld guarded ticks: %ld\n", static_cast<long>(loop.tick()), during);
}

/// Two rigs in one loop, both of them faulty.
void nothing_is_allocated_by_udp_rigs(int version) {
  const std::string key(32, 'k');
  Gain spring(matrix(2, 1, {1.0, 100.0}), {0.0, 0.0}), other_spring(matrix(2, 1, {1.0, 100.0}), {0.0, 0.0});
  Loop specimen(dt, std::vector<double>(3, 0.0)), other(dt, std::vector<double>(3, 0.0));
  specimen.add(spring, {2}, 0, 1);
  other.add(other_spring, {2}, 0, 1);
  RigFaults faults;
  faults.loss = faults.repeat = faults.reorder = faults.forge = faults.replay = 0.05;
  const Patience patience{1'000'000'000, 30'000'000'000, 1'000'000'000};
  Rig first(specimen, {2}, {0, 1}, "127.0.0.1", 0, key, patience, false, faults, version);
  Rig second(other, {2}, {0, 1}, "127.0.0.1", 0, key, patience, false, faults, version);
  std::thread servers[2] = {std::thread([&] { first.serve(60.0); }), std::thread([&] { second.serve(60.0); })};
  UdpRig one(1, 2, "127.0.0.1", first.port(), key, 5.0, "", version), two(1, 2, "127.0.0.1", second.port(), key, 5.0, "", version);
  Sensor read_one(one), read_two(two);      // -> 0 .. 3, 4 .. 7
  Link link_one(one), link_two(two);        // -> 8 .. 15, 16 .. 23
  Table table({0.0, 1.0}, matrix(2, 1, {0.0, 1.0}));  // -> 24
  Drive write_one(one), write_two(two);     // 24 -> 25, 26
  Loop loop(dt, std::vector<double>(27, 0.0));
  loop.add(read_one, {}, 0, 1);
  loop.add(read_two, {}, 4, 1);
  loop.add(link_one, {}, 8, 1);
  loop.add(link_two, {}, 16, 1);
  loop.add(table, {}, 24, 1);
  loop.add(write_one, {24}, 25, 1);
  loop.add(write_two, {24}, 26, 1);
  loop.start();
  loop.reset();
  loop.aim(1'000'000);
  double oldest = 0.0;
  const long before = allocations.load();
  for (int k = 0; k < 2000; ++k) {
    loop.advance(1);
    const std::vector<double>& bus = loop.bus();
    for (const int at : {0, 4}) {
      CHECK(bus[at + 3] == 0.0);                                // status
      CHECK_NEAR(bus[at + 1], 100.0 * bus[at], 1e-12);          // never a forged one
      oldest = std::max(oldest, bus[at + 2]);
    }
    CHECK(bus[25] == 0.0 && bus[26] == 0.0);
    for (const int at : {8, 16}) CHECK(bus[at] == 1.0 && bus[at + 3] == 0.0);  // live, no second rig answers
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  const long during = allocations.load() - before;
  loop.stop();
  first.ask_to_stop();
  second.ask_to_stop();
  for (std::thread& server : servers) server.join();
  CHECK(during == 0);
  for (const Traffic& t : {one.traffic(), two.traffic()})
    CHECK(t.sent == 2000 && t.forged > 20 && t.repeated > 20 && t.damaged == 0);
  std::printf("udp version %d: %ld allocations in 2000 ticks of two rigs, oldest answer %.0f ticks\n", version, during, oldest);
}

void the_window_counts_whatever_the_sequence() {
  Window window;
  Traffic traffic;
  constexpr std::uint64_t most = ~std::uint64_t{0};
  for (int i = 0; i < 10; ++i)
    for (const std::uint64_t wild : {most, most - 1, most / 2, std::uint64_t{0}, Window::widest_gap + 1})
      CHECK(!window.newest(wild, 1, traffic));
  CHECK(traffic.foreign == 50 && traffic.lost == 0 && traffic.reordered == 0 && window.last() == 0);
  CHECK(window.newest(Window::widest_gap, 1, traffic));
  CHECK(traffic.lost == static_cast<std::int64_t>(Window::widest_gap) - 1);
  CHECK(!window.newest(Window::widest_gap, 1, traffic) && traffic.repeated == 1 && traffic.conflicting == 0);
  CHECK(!window.newest(Window::widest_gap, 2, traffic) && traffic.repeated == 2 && traffic.conflicting == 1);
  CHECK(!window.newest(Window::widest_gap - 63, 3, traffic) && traffic.reordered == 1);
  CHECK(!window.newest(Window::widest_gap - 64, 3, traffic) && traffic.repeated == 3);

  // Against the plain rule, with random sequences: the same verdicts and counts.
  window.reset();
  traffic = Traffic();
  std::vector<bool> came(4000, false);
  std::uint64_t newest = 0, state = 1;
  std::int64_t lost = 0, reordered = 0, repeated = 0;
  for (int i = 0; i < 5000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t sequence = std::max<std::uint64_t>(newest, 70) - 69 + (state >> 33) % 80;
    if (sequence >= came.size()) break;
    const bool fresh = window.newest(sequence, 0, traffic);
    CHECK(fresh == (sequence > newest));
    if (fresh) lost += static_cast<std::int64_t>(sequence - newest) - 1;
    else if (came[sequence] || newest - sequence >= 64) ++repeated;
    else ++reordered, --lost;
    came[sequence] = true;
    newest = std::max(newest, sequence);
  }
  CHECK(newest > 1000);
  CHECK(traffic.lost == lost && traffic.reordered == reordered && traffic.repeated == repeated);
}

void a_datagram_is_judged_by_every_byte(int version) {
  const Seal seal(std::string(32, 'k'), version), other(std::string(32, 'j'), version);
  Datagram sent, got;
  sent.kind = Datagram::command;
  sent.count = 3;
  sent.sequence = 7;
  sent.loop_nonce = {1, 2, 3, 4};
  sent.rig_nonce = {5, 6, 7, 8};
  sent.values = {1.0, 2.0, 3.0};
  Wire wire;
  seal.write(sent, wire);
  const std::size_t tag = version == 1 ? 176 : sent.body(), crc_at = wire.size - 8;
  CHECK(wire.size == (version == 1 ? 216 : 120));
  CHECK(seal.read(wire, got) == Verdict::good && got.values[2] == 3.0 && got.sequence == 7 && got.count == 3);
  CHECK(got.loop_nonce == sent.loop_nonce && got.rig_nonce == sent.rig_nonce && got.kind == Datagram::command);
  CHECK(other.read(wire, got) == Verdict::forged);
  CHECK(Seal(std::string(32, 'k'), 3 - version).read(wire, got) != Verdict::good);
  for (std::size_t size = 0; size < 400; ++size) {
    Wire cut = wire;
    cut.size = size;
    if (size != wire.size) CHECK(seal.read(cut, got) != Verdict::good);
  }
  for (std::size_t i = 0; i < wire.size - 4; ++i)  // the last four bytes carry nothing
    for (int bit = 0; bit < 8; ++bit) {
      Wire damaged = wire;
      damaged.bytes[i] = static_cast<std::uint8_t>(damaged.bytes[i] ^ (1u << bit));
      CHECK(seal.read(damaged, got) != Verdict::good);
    }
  for (std::size_t i = 8; i < tag; ++i) {  // with a CRC that fits, as an attacker would
    Wire forged = wire;
    forged.bytes[i] ^= 1;
    const std::uint32_t crc = crc32({forged.bytes.data(), crc_at});
    std::memcpy(forged.bytes.data() + crc_at, &crc, sizeof crc);
    CHECK(seal.read(forged, got) == Verdict::forged);
  }
}

void version_1_says_what_it_has_words_for() {
  const Seal seal("", 1);
  Wire wire;
  for (int kind = 1; kind <= Datagram::notice; ++kind) {
    Datagram message, got;
    message.kind = static_cast<std::uint8_t>(kind);
    message.n_command = 6;
    message.n_measured = 12;
    message.count = kind == Datagram::hello || kind == Datagram::bye ? 0 : 12;
    for (int i = 0; i < 12; ++i) message.values[i] = 1.0 + i;
    seal.write(message, wire);
    CHECK((wire.size > 0) == (kind <= Datagram::bye));
    if (wire.size == 0) continue;
    CHECK(seal.read(wire, got) == Verdict::good && got.kind == kind && got.version == 1);
    if (kind <= Datagram::welcome) CHECK(got.n_command == 6 && got.n_measured == 12);
    if (kind >= Datagram::welcome && kind < Datagram::bye) CHECK(got.count == 12 && got.values[11] == 12.0);
    if (kind == Datagram::bye) CHECK(got.count == 1 && got.values[0] == 0.0);
  }
}

void a_watchdog_acts_in_its_order() {
  Watchdog dog({10, 100, 50, 1000});
  CHECK(dog.look(5) == RigState::idle && !dog.feed(5) && !dog.taken());
  dog.claim(10);
  CHECK(dog.look(900) == RigState::live);  // no command yet: nothing has moved
  CHECK(dog.look(1010) == RigState::idle);
  dog.claim(2000);
  CHECK(dog.feed(2001) && dog.look(2010) == RigState::live && dog.look(2011) == RigState::holding);
  CHECK(dog.feed(2050) && dog.state() == RigState::live);
  CHECK(dog.look(2060) == RigState::holding && dog.look(2149) == RigState::holding);
  CHECK(dog.look(2150) == RigState::ramping && !dog.feed(2151) && dog.taken() && !dog.owned());
  CHECK(dog.look(2199) == RigState::ramping && dog.look(2200) == RigState::off && !dog.feed(2201) && !dog.taken());
  dog.claim(3000);
  CHECK(dog.feed(3000));
  dog.release(false, 3001);
  CHECK(dog.state() == RigState::idle);
  dog.claim(3002);
  dog.release(true, 3003);
  CHECK(dog.state() == RigState::idle);  // it never moved
  dog.claim(3004);
  CHECK(dog.feed(3005));
  dog.release(true, 3006);
  CHECK(dog.state() == RigState::ramping && dog.look(3056) == RigState::off);
}

void the_ring_keeps_frames_whole_and_in_order(bool waits) {
  constexpr std::int64_t frames = 300'000;
  Ring ring({0, 1}, 1, 256, waits);
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
  CHECK(!waits || ring.lost() == 0);
}

void bins_follow_each_other() {
  for (int i = 1; i < Histogram::bins; ++i) {
    CHECK(Histogram::edge(i) > Histogram::edge(i - 1));
    CHECK(Histogram::bin_of(Histogram::edge(i)) == i);
    CHECK(Histogram::bin_of(Histogram::edge(i) - 1) == i - 1);
  }
}

void a_live_reader_sees_whole_frames_only() {
  const std::string path = "/dev/shm/hmor-test-" + std::to_string(getpid()) + ".live";
  const std::vector<int> all(7, 0);
  LiveRing ring(path, all, 1, 64, 1000.0);
  LiveReader reader(path);
  constexpr std::int64_t frames = 200'000;
  std::thread writer([&] {
    Health health;
    for (std::int64_t k = 0; k < frames; ++k) {
      const double value = static_cast<double>(k);
      ring.push(k, &value, health);
    }
  });
  std::int64_t seen = 0;
  while (reader.status().tick + 1 < frames) {
    std::int64_t first = -1;
    const std::vector<float> found = reader.buckets(4, 1 << 20, first);
    for (std::size_t i = 0; i < found.size(); i += 14) {  // a bucket: 7 signals, least and most of 4 frames
      const float least = static_cast<float>(first + static_cast<std::int64_t>(i / 14) * 4);
      for (int s = 0; s < 7; ++s) CHECK(found[i + 2 * s] == least && found[i + 2 * s + 1] == least + 3.0f);
      seen += 4;
    }
  }
  writer.join();
  std::int64_t first = -1;
  seen += static_cast<std::int64_t>(reader.buckets(4, 1 << 20, first).size() / 14 * 4);
  CHECK(seen + reader.dropped() == frames && seen > 0);
}

void a_paced_loop_comes_to_rest_when_asked() {
  Playback wanted({0.1}, 1);
  HostStatus host;
  Monitor monitor({{-1.0, 1.0, 10.0, 0.0}}, 0, {}, {0, 5, 10, 5, 10, 1, 0, false}, dt);
  Loop loop(dt, std::vector<double>(14, 0.0));
  loop.add(wanted, {}, 0, 1);
  loop.add(host, {}, 1, 1);
  loop.add(monitor, {0, 1, 4, 5, 6, 7, 8}, 9, 1);
  loop.reset();
  PacedRun run(loop, 1'000'000, {});
  run.start();
  CHECK(!run.wait(0.05));
  loop.ask_to_stop();
  CHECK(run.wait(20.0));
  CHECK(run.stop() == Stop::asked && loop.bus()[9] == 0.0 && run.state() == static_cast<int>(State::idle));
  CHECK(run.own().count() == static_cast<std::uint64_t>(loop.tick()));
}

}  // namespace

int main() {
  nothing_is_allocated_per_tick();
  for (const int version : {1, 2}) nothing_is_allocated_by_udp_rigs(version);
  a_live_reader_sees_whole_frames_only();
  the_window_counts_whatever_the_sequence();
  for (const int version : {1, 2}) a_datagram_is_judged_by_every_byte(version);
  version_1_says_what_it_has_words_for();
  a_watchdog_acts_in_its_order();
  the_ring_keeps_frames_whole_and_in_order(false);
  the_ring_keeps_frames_whole_and_in_order(true);
  bins_follow_each_other();
  a_paced_loop_comes_to_rest_when_asked();
}
