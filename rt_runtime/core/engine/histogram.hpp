#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace hmor {

/// Durations in ns counted in fixed bins, 32 to each power of two (3 % wide); no allocation, bounded work.
///
///   bin(x) = x                                  for x < 64
///   bin(x) = 32 e + floor(x / 2^e)              for 2^(e+5) <= x < 2^(e+6), e >= 1
class Histogram {
 public:
  static constexpr int bins = 32 * 36;  // up to 2^40 ns, 18 minutes

  /// In the loop.
  void add(std::int64_t ns) noexcept {
    const std::uint64_t x = ns > 0 ? static_cast<std::uint64_t>(ns) : 0;
    const int bin = bin_of(x);
    std::atomic_ref n(counts_[bin < bins ? bin : bins - 1]);  // one writer, read by a live view
    n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    ++count_;
    sum_ += x;
    if (ns > most_) most_ = ns;
    if (ns < least_) least_ = ns;
  }
  /// In the loop.
  void reset() noexcept { *this = Histogram(); }

  static int bin_of(std::uint64_t x) noexcept {
    const int e = x < 64 ? 0 : static_cast<int>(std::bit_width(x)) - 6;
    return 32 * e + static_cast<int>(x >> e);
  }
  /// The smallest duration of a bin, in ns.
  static std::uint64_t edge(int bin) noexcept {
    const int e = bin < 64 ? 0 : bin / 32 - 1;
    return static_cast<std::uint64_t>(bin - 32 * e) << e;
  }

  const std::array<std::uint64_t, bins>& counts() const noexcept { return counts_; }
  /// From any thread, while another one adds: the duration that a part `q` of those counted so far did not exceed, in ns.
  std::uint64_t quantile(double q) const noexcept {
    const auto count = [this](int i) {
      return std::atomic_ref(const_cast<std::uint64_t&>(counts_[i])).load(std::memory_order_relaxed);
    };
    std::uint64_t all = 0, seen = 0;
    for (int i = 0; i < bins; ++i) all += count(i);
    for (int i = 0; i < bins && all > 0; ++i)
      if (static_cast<double>(seen += count(i)) >= q * static_cast<double>(all)) return edge(i + 1);
    return 0;
  }
  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t sum() const noexcept { return sum_; }
  std::int64_t most() const noexcept { return count_ > 0 ? most_ : 0; }
  std::int64_t least() const noexcept { return count_ > 0 ? least_ : 0; }

 private:
  std::array<std::uint64_t, bins> counts_{};
  std::uint64_t count_ = 0, sum_ = 0;
  std::int64_t most_ = 0, least_ = INT64_MAX;
};

}  // namespace hmor
