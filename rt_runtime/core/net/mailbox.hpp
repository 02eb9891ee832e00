#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace hmor {

/// The newest message of n numbers from one writer to one reader; neither waits for the other. A reader that meets a
/// message while it is written keeps the one before.
class Mailbox {
 public:
  /// Outside the loop.
  explicit Mailbox(int n) : n_(n), numbers_(new std::atomic<double>[static_cast<std::size_t>(n > 0 ? n : 1)]) {
    for (int i = 0; i < n; ++i) numbers_[i].store(0.0, std::memory_order_relaxed);
  }

  /// In the loop.
  void post(const double* numbers) noexcept {
    const std::uint64_t turn = turn_.load(std::memory_order_relaxed);
    turn_.store(turn + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    for (int i = 0; i < n_; ++i) numbers_[i].store(numbers[i], std::memory_order_relaxed);
    turn_.store(turn + 2, std::memory_order_release);
  }
  /// In the loop. How many messages were posted when `out` was read; 0 (and `out` as it was) when none could be read.
  std::uint64_t read(double* out) const noexcept {
    const std::uint64_t before = turn_.load(std::memory_order_acquire);
    if (before == 0 || before % 2 != 0) return 0;
    for (int i = 0; i < n_; ++i) out[i] = numbers_[i].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    return turn_.load(std::memory_order_relaxed) == before ? before / 2 : 0;
  }
  int size() const noexcept { return n_; }

 private:
  int n_;
  std::unique_ptr<std::atomic<double>[]> numbers_;
  std::atomic<std::uint64_t> turn_{0};
};

}  // namespace hmor
