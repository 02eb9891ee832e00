#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "engine/histogram.hpp"
#include "engine/loop.hpp"

namespace hmor {

/// What happens after a tick that ended past the wake-up time of the next one.
enum class Overrun {
  skip,      ///< the missed wake-up times are dropped; test time falls behind wall time by whole periods
  catch_up,  ///< ticks follow each other without a pause until the wake-up times are met again; on a way to rest as skip
  trip,      ///< as skip, and `overruns_to_trip` missed wake-up times in a row end the test
};

struct PacedOptions {
  Overrun overrun = Overrun::skip;
  std::int64_t grace_ticks = 0;        ///< overruns of the first ticks are counted but never trip
  std::int64_t overruns_to_trip = 1;
  std::int64_t spin_ns = 0;            ///< busy-wait this long before each wake-up time instead of sleeping
  int priority = 0;                    ///< of SCHED_FIFO, 1 to 99; 0 leaves the scheduler as it is
  int cpu = -1;                        ///< the loop's own CPU; -1 leaves it to the host
  bool lock_memory = false;
};

/// What the host gave: 0 obtained, -1 not asked for, otherwise the errno of the refusal.
struct Obtained {
  int scheduler = -1, memory = -1, cpu = -1, timer_slack = -1;
};

/// Runs a loop against the clock in a thread of its own: tick k is due at start + k / rate, wake-up times are absolute.
///
///   wake = time of waking - time due,   own = end of the tick - time of waking
///   missed = wake-up times that passed before their tick could begin: a stall of 2 s at 1 kHz misses 2000
///   elapsed = time of waking - time of waking in the last tick (Health, for the monitor)
class PacedRun {
 public:
  /// Outside the loop. The loop must outlive the run.
  PacedRun(Loop& loop, std::int64_t ticks, const PacedOptions& options);
  ~PacedRun();
  PacedRun(const PacedRun&) = delete;
  PacedRun& operator=(const PacedRun&) = delete;

  /// Outside the loop. Starts the thread; the first tick comes a few milliseconds later.
  void start();
  /// Outside the loop, from another thread. True when the run has ended.
  bool wait(double seconds);

  /// From any thread, while running.
  std::int64_t tick() const noexcept { return tick_.load(std::memory_order_relaxed); }
  std::int64_t test_tick() const noexcept { return test_tick_.load(std::memory_order_relaxed); }
  std::int64_t missed() const noexcept { return missed_.load(std::memory_order_relaxed); }
  int state() const noexcept { return state_.load(std::memory_order_relaxed); }

  // After the run has ended.
  Stop stop() const noexcept { return stop_; }
  std::int64_t skipped() const noexcept { return skipped_; }
  const Histogram& wake() const noexcept { return wake_; }
  const Histogram& own() const noexcept { return own_; }
  const Obtained& obtained() const noexcept { return obtained_; }

 private:
  void body() noexcept;
  void prepare_host() noexcept;
  void sleep_until(std::int64_t due_ns) const noexcept;

  Loop& loop_;
  std::int64_t ticks_;
  PacedOptions options_;
  Obtained obtained_;
  Histogram wake_, own_;
  Stop stop_ = Stop::finished;
  std::int64_t skipped_ = 0;
  std::atomic<std::int64_t> tick_{0}, missed_{0}, test_tick_{-1};
  std::atomic<int> state_{0};
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
};

/// In the loop. CLOCK_MONOTONIC in ns.
std::int64_t now_ns() noexcept;

}  // namespace hmor
