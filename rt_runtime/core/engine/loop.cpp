#include "engine/loop.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace hmor {

Recorder::Recorder(std::vector<int> signals, int every, std::int64_t frames)
    : signals_(std::move(signals)), every_(every), capacity_(frames) {
  if (every < 1 || frames < 0) throw std::invalid_argument("every of a recorder must be at least 1.");
  data_.assign(signals_.size() * static_cast<std::size_t>(frames), 0.0);  // touched now, not in the loop
  next_ = data_.data();
}

Loop::Loop(double dt, std::vector<double> initial) : dt_(dt), initial_(std::move(initial)), bus_(initial_) {
  if (!(dt > 0.0)) throw std::invalid_argument("dt of a loop must be positive.");
}

Loop::~Loop() {
  for (Call& call : calls_) call.block->detach(health_);
}

void Loop::add(Block& block, std::vector<int> inputs, int first_output, int every, bool timed) {
  const int size = static_cast<int>(bus_.size());
  const bool inside = std::all_of(inputs.begin(), inputs.end(), [&](int i) { return 0 <= i && i < size; });
  if (static_cast<int>(inputs.size()) != block.n_in() || !inside || first_output < 0 ||
      first_output + block.n_out() > size || every < 1)
    throw std::invalid_argument("the wiring of a block does not fit the bus.");
  bool side_by_side = true;
  for (std::size_t i = 1; i < inputs.size(); ++i) side_by_side &= inputs[i] == inputs[i - 1] + 1;
  // A block must not see its own fresh outputs in its inputs while it writes them.
  for (int i : inputs) side_by_side &= i < first_output || i >= first_output + block.n_out();

  Wiring wiring{std::move(inputs), std::vector<double>(block.n_in() + 1, 0.0)};
  Call call{&block, nullptr, nullptr, nullptr, bus_.data() + first_output, block.n_in(), block.n_out(), timed, every, 0};
  if (side_by_side) {
    call.in = bus_.data() + (wiring.inputs.empty() ? 0 : wiring.inputs.front());
  } else {
    call.gather = wiring.inputs.data();  // the heap buffers stay where they are when the vector moves
    call.gathered = wiring.gathered.data();
    call.in = call.gathered;
  }
  wirings_.push_back(std::move(wiring));
  block.attach(health_);
  calls_.push_back(call);
}

void Loop::record(std::vector<int> signals, int every, std::int64_t frames) {
  for (int i : signals)
    if (i < 0 || i >= static_cast<int>(bus_.size())) throw std::invalid_argument("a recorded signal is not on the bus.");
  recorder_ = Recorder(std::move(signals), every, frames);
}

void Loop::reset() noexcept {
  std::copy(initial_.begin(), initial_.end(), bus_.begin());
  health_.clock = true;  // a monitor among the blocks knows better
  for (Call& call : calls_) {
    call.block->reset();
    call.due = 0;
  }
  recorder_.reset();
  health_.asked = health_.late = health_.lost = 0.0;
  health_.elapsed = dt_;
  health_.broken = -1;
  health_.port = 0;
  health_.not_finite = exact_ = asked_to_rest_ = false;
  health_.test_tick = -1;
  health_.missed = 0;
  health_.order.store(0, std::memory_order_relaxed);
  health_.given = 0;
  for (double& argument : health_.given_argument) argument = 0.0;
  health_.taken.store(0, std::memory_order_relaxed);
  k_ = j_ = end_ = 0;
  rest_by_ = -1;
  stopped_by_ = -1;
  asked_.store(false, std::memory_order_relaxed);
}

void Loop::start() {
  for (Call& call : calls_) call.block->start();
}

void Loop::stop() noexcept {
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) call->block->stop();
}

Stop Loop::run(std::int64_t ticks) noexcept {
  aim(ticks);
  return advance(ticks + health_.way_to_rest + 1);
}

namespace {
constexpr std::uint64_t exponent = 0x7ff0'0000'0000'0000;
}

Stop Loop::advance(std::int64_t ticks) noexcept {
  const double* const bus = bus_.data();
  Call* const first = calls_.data();
  Call* const last = first + calls_.size();
  Ring* const ring = ring_;
  const bool guarded = health_.guarded, goes_to_rest = guarded && !exact_;
  LiveRing* const live = live_;
  std::int64_t k = k_, j = j_;
  const std::int64_t until = k + ticks;
  for (;;) {
    if (k >= until) break;
    if (j >= end_) [[unlikely]] {  // after end_ this is looked at every tick
      k_ = k;
      j_ = j;
      if (!goes_to_rest) return Stop::finished;
      if (health_.asked < 1.0) health_.asked = 1.0;
      if (rest_by_ < 0) rest_by_ = k + health_.way_to_rest;
      if (k >= rest_by_) return health_.tripped ? Stop::tripped : Stop::finished;
    }
    health_.claim();
    const bool clock = health_.clock;
    const std::int64_t number[2] = {k, clock ? j : -1};  // no block is due at -1
    const double time[2] = {static_cast<double>(k) * dt_, static_cast<double>(j) * dt_};
    if (clock) health_.test_tick = j++;
    Stop stop = Stop::running;
    for (Call* c = first; c != last; ++c) {
      Call& call = *c;
      if (number[call.timed] != call.due) continue;
      call.due += call.every;
      if (call.gather)
        for (int i = 0; i < call.n_in; ++i) call.gathered[i] = bus[call.gather[i]];
      call.block->step(time[call.timed], call.in, call.out);
      // The largest exponent tells: all ones in infinity and nan. One by one, without a branch each: reading fresh
      // scalars as vectors would stall on the store buffer.
      std::uint64_t largest = 0;
      for (const double *y = call.out, *const end = y + call.n_out; y != end; ++y)
        largest = std::max(largest, std::bit_cast<std::uint64_t>(*y) & exponent);
      if (largest == exponent || call.block->fault() != 0) [[unlikely]] {
        stop = broken(call);
        if (stop != Stop::running) break;
      }
    }
    recorder_.tick(k, bus);
    if (ring != nullptr) {
      ring->push(k, bus);
      health_.lost = static_cast<double>(ring->lost());
    }
    if (live != nullptr) live->push(k, bus, health_);
    ++k;
    if (stop == Stop::running && (guarded || asked_.load(std::memory_order_relaxed))) stop = asked();
    if (stop != Stop::running) [[unlikely]] {
      k_ = k;
      j_ = j;
      return stop;
    }
  }
  k_ = k;
  j_ = j;
  return exact_ || (j >= end_ && !goes_to_rest) ? Stop::finished : Stop::running;
}

/// A block faulted or gave a value that is not finite: the end, or left to the monitor.
Stop Loop::broken(const Call& call) noexcept {
  if (health_.broken < 0) {
    health_.broken = stopped_by_ = static_cast<int>(&call - calls_.data());
    health_.not_finite = call.block->fault() == 0;
    for (int i = call.n_out - 1; i >= 0; --i)
      if (!std::isfinite(call.out[i])) {
        health_.port = i;
        health_.value = call.out[i];
      }
  }
  if (health_.guarded) return Stop::running;
  return health_.not_finite ? Stop::not_finite : Stop::fault;
}

/// After a tick: whether somebody asked for a stop, and whether the monitor has brought the command to rest.
Stop Loop::asked() noexcept {
  const bool wanted = asked_.load(std::memory_order_relaxed);
  if (!health_.guarded) return wanted ? Stop::asked : Stop::running;
  if (wanted && health_.asked < 1.0) {
    health_.asked = 1.0;
    asked_to_rest_ = true;
  }
  if (!health_.done) return Stop::running;
  if (health_.tripped) return Stop::tripped;
  return asked_to_rest_ || rest_by_ < 0 ? Stop::asked : Stop::finished;
}

}  // namespace hmor
