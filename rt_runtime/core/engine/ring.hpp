#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace hmor {

/// Wait-free ring of frames from the loop to one reader: a frame is its tick and the chosen signals of the bus.
///
/// Against a clock the loop never waits: with the ring full it drops the whole frame and counts it. Without a clock
/// (`waits`) it waits for the reader and nothing is dropped. One writer, one reader.
class Ring {
 public:
  /// Outside the loop. `frames` is rounded up to a power of two; every page is touched here.
  Ring(std::vector<int> signals, int every, std::int64_t frames, bool waits = false)
      : signals_(std::move(signals)), every_(every), stride_(signals_.size() + 1), waits_(waits) {
    if (every < 1 || frames < 1) throw std::invalid_argument("every and frames of a ring must be at least 1.");
    mask_ = std::bit_ceil(static_cast<std::uint64_t>(frames)) - 1;
    data_.assign(stride_ * (mask_ + 1), 0.0);
  }

  /// In the loop. Called after the blocks of a tick.
  void push(std::int64_t k, const double* bus) noexcept {
    if (k != due_) return;
    due_ += every_;
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    for (std::uint64_t tail; head - (tail = tail_.load(std::memory_order_acquire)) > mask_;) {
      if (!waits_) {
        lost_.fetch_add(1, std::memory_order_relaxed);
        return;
      }
      tail_.wait(tail, std::memory_order_acquire);
    }
    double* frame = data_.data() + (head & mask_) * stride_;
    frame[0] = std::bit_cast<double>(k);
    for (std::size_t i = 0; i < signals_.size(); ++i) frame[i + 1] = bus[signals_[i]];
    head_.store(head + 1, std::memory_order_release);
  }

  /// Reader: frames that stand side by side from `front` on; 0 when there is none.
  std::uint64_t ready() const noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    const std::uint64_t filled = head_.load(std::memory_order_acquire) - tail;
    const std::uint64_t to_the_end = mask_ + 1 - (tail & mask_);
    return filled < to_the_end ? filled : to_the_end;
  }
  /// Reader.
  const double* front() const noexcept {
    return data_.data() + (tail_.load(std::memory_order_relaxed) & mask_) * stride_;
  }
  /// Reader. Gives `frames` frames back to the loop.
  void release(std::uint64_t frames) noexcept {
    tail_.store(tail_.load(std::memory_order_relaxed) + frames, std::memory_order_release);
    if (waits_) tail_.notify_one();
  }

  /// Reader. Says that frames did not reach their place, so that the loop knows.
  void refuse(std::int64_t frames) noexcept { refused_.fetch_add(frames, std::memory_order_relaxed); }

  /// Doubles per frame, the tick included.
  std::size_t stride() const noexcept { return stride_; }
  std::uint64_t capacity() const noexcept { return mask_ + 1; }
  std::int64_t dropped() const noexcept { return lost_.load(std::memory_order_relaxed); }   ///< the ring was full
  std::int64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }  ///< the disk was
  std::int64_t lost() const noexcept { return dropped() + refused(); }

 private:
  std::vector<int> signals_;
  std::vector<double> data_;
  std::int64_t every_, due_ = 0;
  std::size_t stride_;
  bool waits_;
  std::uint64_t mask_ = 0;
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::atomic<std::int64_t> lost_{0}, refused_{0};
};

}  // namespace hmor
