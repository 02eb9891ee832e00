#include "engine/paced.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <chrono>

namespace hmor {

namespace {

constexpr std::int64_t lead_in_ns = 2'000'000;  // from the end of the preparation to the first wake-up time

timespec to_timespec(std::int64_t ns) noexcept {
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

/// Touches the pages that the loop's calls will need, so that no tick pays for a page fault.
[[gnu::noinline]] void prefault_stack() noexcept {
  volatile char pages[128 * 1024];
  for (std::size_t i = 0; i < sizeof pages; i += 1024) pages[i] = 0;
}

void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

std::int64_t now_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

PacedRun::PacedRun(Loop& loop, std::int64_t ticks, const PacedOptions& options)
    : loop_(loop), ticks_(ticks), options_(options) {
  if (ticks < 0 || options.spin_ns < 0 || options.priority < 0 || options.priority > 99 ||
      options.overruns_to_trip < 1 || options.grace_ticks < 0)
    throw std::invalid_argument("ticks and options of a paced run do not make sense.");
}

PacedRun::~PacedRun() {
  if (!thread_.joinable()) return;
  loop_.ask_to_stop();
  thread_.join();
}

void PacedRun::start() {
  if (thread_.joinable()) throw std::logic_error("a paced run can be started once.");
  thread_ = std::thread([this] {
    body();
    const std::lock_guard lock(mutex_);
    over_ = true;
    ended_.notify_all();
  });
}

bool PacedRun::wait(double seconds) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return over_; });
}

void PacedRun::prepare_host() noexcept {
  obtained_.timer_slack = prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0) == 0 ? 0 : errno;
  if (options_.cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (options_.cpu < CPU_SETSIZE) CPU_SET(options_.cpu, &set);
    obtained_.cpu = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  }
  if (options_.priority > 0) {
    sched_param parameter{};
    parameter.sched_priority = options_.priority;
    obtained_.scheduler = pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter);
  }
  prefault_stack();
  // Everything the loop touches exists by now, so the present pages are enough; locking future ones as well would make
  // allocations of other threads fail under a small limit.
  if (options_.lock_memory) obtained_.memory = mlockall(MCL_CURRENT) == 0 ? 0 : errno;
}

void PacedRun::sleep_until(std::int64_t due_ns) const noexcept {
  const timespec until = to_timespec(due_ns - options_.spin_ns);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
  if (options_.spin_ns > 0)
    while (now_ns() < due_ns) relax();
}

void PacedRun::body() noexcept {
  prepare_host();
  Health& health = loop_.health();
  const double period_ns = 1e9 * loop_.dt();
  const std::int64_t first = now_ns() + lead_in_ns;
  // Time due is computed from the tick's number, not summed up: a rate like 1024 Hz must not drift.
  const auto due_at = [&](std::int64_t slot) noexcept {
    return first + static_cast<std::int64_t>(std::llround(static_cast<double>(slot) * period_ns));
  };
  std::int64_t slot = 0, k = 0, in_a_row = 0, last_woke = 0;
  loop_.aim(ticks_);
  for (;; ++k, ++slot) {
    const std::int64_t due = due_at(slot);
    sleep_until(due);
    const std::int64_t woke = now_ns();
    wake_.add(woke - due);
    health.elapsed = k > 0 ? 1e-9 * static_cast<double>(woke - last_woke) : loop_.dt();
    last_woke = woke;
    stop_ = loop_.advance(1);
    const std::int64_t end = now_ns();
    own_.add(end - woke);
    tick_.store(loop_.tick(), std::memory_order_relaxed);
    test_tick_.store(health.test_tick, std::memory_order_relaxed);
    state_.store(health.state, std::memory_order_relaxed);
    if (stop_ != Stop::running) break;
    if (end <= due_at(slot + 1)) {
      in_a_row = 0;
      health.late = 0.0;
      continue;
    }
    std::int64_t lost = 1;  // while catching up the other late ticks count themselves
    if (options_.overrun != Overrun::catch_up || health.coming_to_rest) {
      const auto behind = static_cast<std::int64_t>(static_cast<double>(end - first) / period_ns);
      lost = std::max<std::int64_t>(behind - slot, 1);
      skipped_ += lost - 1;
      slot += lost - 1;
    }
    health.missed = missed_.fetch_add(lost, std::memory_order_relaxed) + lost;
    if (k < options_.grace_ticks) continue;
    in_a_row += lost;
    health.late = static_cast<double>(in_a_row);
    if (options_.overrun == Overrun::trip && in_a_row >= options_.overruns_to_trip) {
      if (!health.guarded) {
        stop_ = Stop::overrun;
        break;
      }
      health.asked = 2.0;
    }
  }
  if (options_.lock_memory) munlockall();
}

}  // namespace hmor
