#pragma once

#include <atomic>
#include <cstdint>

namespace hmor {

/// What the loop and its monitor tell each other. One writer per field, all of it inside the loop's thread.
///
/// A loop with a monitor is guarded: it does not end at a value that is not finite or a fault, because the actuator
/// still needs commands; the monitor takes the command to rest and says when the loop may end.
///
/// The test clock: blocks of the test itself (excitation, models, controller) are stepped, and their time counts, only
/// while `clock` is set; sensors, host, monitor and drive are stepped in every tick. Without a monitor it always runs.
struct Health {
  // Written by the loop and its pacer.
  double asked = 0.0;  ///< 0 go on, 1 come to rest (end of the test, signal, operator), 2 trip (overruns)
  double late = 0.0;   ///< wake-up times missed in a row, lost periods included
  double lost = 0.0;   ///< frames the record dropped so far
  double elapsed = 0.0;  ///< real time from the start of the last tick to that of this one, in s; dt without a clock
  int broken = -1;     ///< index of the first block with a fault or a value that is not finite
  bool not_finite = false;  ///< which of the two
  int port = 0;             ///< the output that was not finite, and its value
  double value = 0.0;
  std::int64_t test_tick = -1;  ///< number of the newest tick of the test clock; -1 before the first
  std::int64_t missed = 0;      ///< wake-up times missed so far

  // Written by the operator's thread: arguments first, then the order, sequence << 8 | code; one at a time. The loop
  // claims it at the begin of a tick; until then it can be withdrawn, and only one of the two happens.
  static constexpr std::uint64_t claimed = std::uint64_t{1} << 63;
  std::atomic<std::uint64_t> order{0};  ///< 0 when it was withdrawn
  std::atomic<double> argument[3]{};    ///< of a limit: rule, lower, upper; of a tunable: number, value

  // Written by the loop: the newest order it has claimed.
  std::uint64_t given = 0;
  double given_argument[3] = {0.0, 0.0, 0.0};

  // Written by the monitor.
  bool guarded = false;
  bool done = false;     ///< the command is at rest (or held after a trip); the loop may end
  bool tripped = false;
  bool coming_to_rest = false;  ///< ramping or tripped: the way takes its time on the wall
  int state = 0;
  std::int64_t strayed = 0;  ///< ticks so far in which a command was not what was wanted: faded, limited, held, at rest
  std::int64_t way_to_rest = 0;  ///< ticks a stop takes at most
  bool clock = true;             ///< whether the test clock runs in the next tick
  std::atomic<std::uint64_t> taken{0};  ///< newest order the monitor has seen, sequence << 8 | Refusal

  /// In the loop.
  void claim() noexcept {
    std::uint64_t word = order.load(std::memory_order_acquire);
    if (word == 0 || (word & claimed) != 0) return;
    double read[3];
    for (int i = 0; i < 3; ++i) read[i] = argument[i].load(std::memory_order_acquire);
    if (!order.compare_exchange_strong(word, word | claimed, std::memory_order_acq_rel)) return;  // withdrawn just now
    given = word;
    for (int i = 0; i < 3; ++i) given_argument[i] = read[i];
  }
  /// From the operator's thread.
  void post(std::uint64_t word, const double* arguments) noexcept {
    for (int i = 0; i < 3; ++i) argument[i].store(arguments[i], std::memory_order_release);
    order.store(word, std::memory_order_release);
  }
  /// From the operator's thread. False when the loop has the order already.
  bool withdraw() noexcept {
    std::uint64_t word = order.load(std::memory_order_acquire);
    return word != 0 && (word & claimed) == 0 && order.compare_exchange_strong(word, 0, std::memory_order_acq_rel);
  }
};

}  // namespace hmor
