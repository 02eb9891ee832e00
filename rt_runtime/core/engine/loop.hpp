#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/block.hpp"
#include "engine/health.hpp"
#include "engine/live_ring.hpp"
#include "engine/ring.hpp"

namespace hmor {

/// Copies chosen signals into memory that was allocated before the run, every n-th tick.
class Recorder {
 public:
  /// Outside the loop: allocates room for `frames` frames.
  Recorder(std::vector<int> signals, int every, std::int64_t frames);

  /// In the loop. Called after the blocks of a tick.
  void tick(std::int64_t k, const double* bus) noexcept {
    if (k != due_) return;
    due_ += every_;
    if (frames_ == capacity_) {
      ++left_out_;
      return;
    }
    ++frames_;
    double* frame = next_;
    const int* signal = signals_.data();
    const int* const end = signal + signals_.size();
    while (signal != end) *frame++ = bus[*signal++];
    next_ = frame;
  }
  void reset() noexcept {
    frames_ = due_ = left_out_ = 0;
    next_ = data_.data();
  }

  std::int64_t frames() const noexcept { return frames_; }
  std::int64_t left_out() const noexcept { return left_out_; }  ///< frames there was no room for
  int width() const noexcept { return static_cast<int>(signals_.size()); }
  const double* data() const noexcept { return data_.data(); }

 private:
  std::vector<int> signals_;
  std::vector<double> data_;
  double* next_ = nullptr;
  std::int64_t every_, capacity_, frames_ = 0, due_ = 0, left_out_ = 0;
};

/// Why a run ended. Ordered: a later one is worse.
enum class Stop : int { running = -1, finished = 0, asked = 1, not_finite = 2, fault = 3, overrun = 4, tripped = 5 };

/// A bus of signals and an ordered list of blocks; tick k is at t = k dt and calls each due block once, in that
/// order. Blocks on the test clock see its own time, t = j dt with j the number of its ticks so far (Health).
/// It is built once from a checked description (rt_runtime/loop.py) and trusts its indices.
class Loop {
 public:
  /// Outside the loop. `dt` in s, `initial` one number per signal.
  Loop(double dt, std::vector<double> initial);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Outside the loop. Inputs may stand anywhere on the bus, outputs stand side by side from `first_output` on.
  /// The block must outlive the loop. `timed`: it is on the test clock.
  void add(Block& block, std::vector<int> inputs, int first_output, int every, bool timed = true);

  /// Outside the loop.
  void record(std::vector<int> signals, int every, std::int64_t frames);

  /// Outside the loop. Signals, blocks and recorder back to their start; the next tick is tick 0.
  void reset() noexcept;

  /// Outside the loop. Frames also go into `ring`, which must outlive the loop; null for none.
  void stream(Ring* ring) noexcept { ring_ = ring; }
  /// Outside the loop. Frames also go where a live view reads them; likewise.
  void show(LiveRing* ring) noexcept { live_ = ring; }

  /// Outside the loop. Starts every block, or throws what the first one that cannot start throws.
  void start();
  /// Outside the loop. Stops every block, the last one first.
  void stop() noexcept;

  /// In the loop. The test ends after `ticks` further ticks of the test clock; a guarded loop then takes the command to
  /// rest.
  void aim(std::int64_t ticks) noexcept { end_ = j_ + ticks; }
  /// In the loop. Ends after `ticks` ticks without the way to rest: for a replay, whose record has it.
  void aim_exactly(std::int64_t ticks) noexcept {
    aim(ticks);
    exact_ = true;
  }

  /// In the loop. At most `ticks` ticks towards the end that `aim` set; Stop::running when more are to come. Stops
  /// early at a value that is not finite or a block's fault, unless guarded.
  Stop advance(std::int64_t ticks) noexcept;

  /// In the loop. `aim` and `advance` to the end.
  Stop run(std::int64_t ticks) noexcept;

  /// In the loop, from any thread: the run ends after the current tick, or comes to rest when guarded.
  void ask_to_stop() noexcept { asked_.store(true, std::memory_order_relaxed); }

  std::int64_t tick() const noexcept { return k_; }
  int stopped_by() const noexcept { return stopped_by_; }  // index of the block behind not_finite or fault
  const std::vector<double>& bus() const noexcept { return bus_; }
  double dt() const noexcept { return dt_; }
  Health& health() noexcept { return health_; }
  const Health& health() const noexcept { return health_; }
  /// In the loop. A signal of the bus, for the far side of a rig.
  double& signal(int i) noexcept { return bus_[i]; }
  const Recorder& recorder() const noexcept { return recorder_; }

 private:
  struct Call {
    Block* block;
    const int* gather;         // bus index per input, or null when the inputs stand side by side
    const double* in;          // where the block reads
    double* gathered;          // where gathered inputs go
    double* out;
    int n_in, n_out;
    int timed;                 // 1: on the test clock
    std::int64_t every, due;
  };
  Stop broken(const Call& call) noexcept;
  Stop asked() noexcept;

  struct Wiring {
    std::vector<int> inputs;
    std::vector<double> gathered;
  };

  double dt_;
  std::vector<double> initial_, bus_;
  std::vector<Call> calls_;
  std::vector<Wiring> wirings_;
  Recorder recorder_{{}, 1, 0};
  Ring* ring_ = nullptr;
  LiveRing* live_ = nullptr;
  Health health_;
  std::int64_t k_ = 0, j_ = 0, end_ = 0, rest_by_ = -1;  // j: ticks of the test clock
  bool exact_ = false, asked_to_rest_ = false;
  int stopped_by_ = -1;
  std::atomic<bool> asked_{false};
};

}  // namespace hmor
