#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/health.hpp"

namespace hmor {

/// The first page of a live file. One writer (the loop), any number of readers in other processes.
struct LiveHeader {
  char magic[4] = {'H', 'M', 'L', 'V'};
  std::uint32_t version = 1;
  std::uint32_t signals = 0;
  std::uint32_t every = 1;
  std::uint64_t capacity = 0;  ///< frames, a power of two
  double rate = 0.0;           ///< ticks per s
  alignas(64) std::uint64_t head = 0;  ///< frames pushed so far
  alignas(64) std::int64_t tick = -1;
  std::int64_t missed = 0, lost = 0, state = 0, test_tick = -1;
  std::uint64_t taken = 0;  ///< newest order the monitor has seen, sequence << 8 | refusal
  std::uint64_t ended = 0;  ///< 1 after the last tick
};
static_assert(sizeof(LiveHeader) <= 4096);

/// A file in shared memory with the newest frames: overwritten, never full; the loop waits for nobody.
///
/// A frame is its tick (int64) and the chosen signals (float64), as in frames.bin. Frame n stands in slot n mod capacity:
///
///   writer: words of frame n;  head <- n + 1 (release);  fence (release) before the words of the next frame
///   reader: n <- head (acquire);  copy;  fence (acquire);  m <- head;  frames up to m - capacity may be torn: dropped
class LiveRing {
 public:
  /// Outside the loop. Makes the file `path` anew (it must not exist), mode 0600, every page touched and locked where
  /// the host allows it. `frames` is rounded up to a power of two. Throws std::runtime_error when it cannot be made.
  LiveRing(const std::string& path, std::vector<int> signals, int every, std::int64_t frames, double rate);
  /// Removes the file; readers keep what they have mapped.
  ~LiveRing();
  LiveRing(const LiveRing&) = delete;
  LiveRing& operator=(const LiveRing&) = delete;

  /// In the loop. Called after the blocks of a tick.
  void push(std::int64_t k, const double* bus, const Health& health) noexcept {
    put(header_->tick, k);
    put(header_->missed, health.missed);
    put(header_->lost, static_cast<std::int64_t>(health.lost));
    put(header_->state, static_cast<std::int64_t>(health.state));
    put(header_->test_tick, health.test_tick);
    put(header_->taken, health.taken.load(std::memory_order_relaxed));
    if (k != due_) return;
    due_ += every_;
    double* frame = frames_ + (head_ & mask_) * stride_;
    put(frame[0], std::bit_cast<double>(k));
    for (std::size_t i = 0; i + 1 < stride_; ++i) put(frame[i + 1], bus[signals_[i]]);
    std::atomic_ref(header_->head).store(++head_, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_release);
  }
  /// Outside the loop. Tells readers that no frame will follow.
  void finish() noexcept { std::atomic_ref(header_->ended).store(1, std::memory_order_release); }

  bool locked() const noexcept { return locked_; }

 private:
  template <class T>
  static void put(T& place, T value) noexcept {
    std::atomic_ref(place).store(value, std::memory_order_relaxed);
  }

  std::string path_;
  std::vector<int> signals_;
  std::int64_t every_, due_ = 0;
  std::size_t stride_, bytes_ = 0;
  std::uint64_t mask_, head_ = 0;
  LiveHeader* header_ = nullptr;
  double* frames_ = nullptr;
  bool locked_ = false;
};

/// Reads a live file of another process; outside the loop. What it misses it counts, and the writer never notices it.
class LiveReader {
 public:
  /// Throws std::runtime_error with a sentence when the file is not one of ours.
  explicit LiveReader(const std::string& path);
  ~LiveReader();
  LiveReader(const LiveReader&) = delete;
  LiveReader& operator=(const LiveReader&) = delete;

  /// Smallest and largest value of each signal in every bucket of `size` frames that is complete by now, in float32
  /// [bucket][signal][2]; both are nan when a value is not finite. `first` is the tick of the first bucket. At most
  /// `most` buckets, the newest.
  std::vector<float> buckets(std::int64_t size, std::int64_t most, std::int64_t& first);
  /// The newest frame without its tick; empty before the first.
  std::vector<double> latest();

  LiveHeader status() const noexcept;
  std::int64_t dropped() const noexcept { return dropped_; }  ///< frames that were overwritten before they were read
  std::uint32_t signals() const noexcept { return header_->signals; }

 private:
  std::uint64_t head() const noexcept;
  std::uint64_t copy(std::uint64_t from, std::uint64_t to);

  const LiveHeader* header_ = nullptr;
  const double* frames_ = nullptr;
  std::size_t bytes_ = 0, stride_ = 0;
  std::uint64_t capacity_ = 0, next_ = 0;
  std::int64_t dropped_ = 0;
  std::vector<double> copied_;
};

}  // namespace hmor
