#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/ring.hpp"

namespace hmor {

/// Empties a ring into a file in a thread of its own, so that a loop on a clock never waits for the disk.
///
/// The file gets frame after frame as the ring holds them: tick as int64, then the signals as float64, little-endian.
/// When the disk refuses (full, gone), the writer keeps emptying the ring and counts what could not be written.
class Writer {
 public:
  /// Outside the loop. Opens `path` anew; throws when that fails. `ring` must outlive the writer.
  Writer(Ring& ring, const std::string& path);
  ~Writer() { finish(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Outside the loop. Writes what is left, syncs and ends the thread.
  void finish() noexcept;

  /// Outside the loop. The newest frame that has passed, for a live view; empty before the first.
  std::vector<double> latest() const;

  std::int64_t written() const noexcept { return written_.load(std::memory_order_relaxed); }
  int error() const noexcept { return error_.load(std::memory_order_relaxed); }  ///< errno of the first refusal, or 0
  std::uint64_t fullest() const noexcept { return fullest_.load(std::memory_order_relaxed); }

  /// For tests of a slow disk: the thread waits this long before each write.
  void slow_down(double seconds) noexcept { pause_.store(seconds, std::memory_order_relaxed); }

 private:
  void body() noexcept;
  bool drain() noexcept;
  void write(const double* frames, std::uint64_t count) noexcept;

  Ring& ring_;
  int file_;
  std::atomic<bool> ending_{false};
  std::atomic<std::int64_t> written_{0};
  std::atomic<std::uint64_t> fullest_{0};
  std::atomic<int> error_{0};
  std::atomic<double> pause_{0.0};
  mutable std::mutex mutex_;
  std::vector<double> latest_;
  bool any_ = false;
  std::thread thread_;
};

}  // namespace hmor
