#include "engine/live_ring.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

namespace hmor {

namespace {

constexpr std::size_t page = 4096;
constexpr std::uint32_t most_signals = 1 << 16;
constexpr std::uint64_t most_frames = 1 << 24;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw std::runtime_error("Live file " + path + " " + why + ".");
}

/// A load that another process may be storing to; const because the pages are mapped for reading only.
template <class T>
T get(const T& place, std::memory_order order = std::memory_order_relaxed) noexcept {
  return std::atomic_ref(const_cast<T&>(place)).load(order);
}

}  // namespace

LiveRing::LiveRing(const std::string& path, std::vector<int> signals, int every, std::int64_t frames, double rate)
    : path_(path), signals_(std::move(signals)), every_(every), stride_(signals_.size() + 1) {
  if (every < 1 || frames < 1) throw std::invalid_argument("every and frames of a live ring must be at least 1.");
  const std::uint64_t capacity = std::bit_ceil(static_cast<std::uint64_t>(frames));
  mask_ = capacity - 1;
  bytes_ = page + capacity * stride_ * sizeof(double);
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) refuse(path, std::string("cannot be made: ") + std::strerror(errno));
  // Room is taken now: a full /dev/shm would otherwise be a bus error in the loop.
  const int full = posix_fallocate(file, 0, static_cast<off_t>(bytes_));
  void* memory = full ? MAP_FAILED : mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  const int error = full ? full : errno;
  close(file);
  if (memory == MAP_FAILED) {
    unlink(path.c_str());
    refuse(path, std::string("cannot have its memory: ") + std::strerror(error));
  }
  locked_ = mlock(memory, bytes_) == 0;
  std::memset(memory, 0, bytes_);
  header_ = new (memory) LiveHeader;
  header_->signals = static_cast<std::uint32_t>(signals_.size());
  header_->every = static_cast<std::uint32_t>(every);
  header_->capacity = capacity;
  header_->rate = rate;
  frames_ = reinterpret_cast<double*>(static_cast<char*>(memory) + page);
}

LiveRing::~LiveRing() {
  finish();
  unlink(path_.c_str());
  munmap(header_, bytes_);
}

LiveReader::LiveReader(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) refuse(path, std::string("cannot be opened: ") + std::strerror(errno));
  struct stat about {};
  LiveHeader seen;
  const bool read = fstat(file, &about) == 0 && pread(file, &seen, sizeof seen, 0) == static_cast<ssize_t>(sizeof seen);
  const bool ours = read && std::memcmp(seen.magic, LiveHeader().magic, 4) == 0 && seen.version == 1 &&
                    seen.signals < most_signals && std::has_single_bit(seen.capacity) && seen.capacity <= most_frames &&
                    seen.every >= 1;
  stride_ = seen.signals + 1;
  capacity_ = seen.capacity;
  bytes_ = ours ? page + capacity_ * stride_ * sizeof(double) : 0;
  if (!ours || static_cast<std::size_t>(about.st_size) != bytes_) {
    close(file);
    refuse(path, "must be one that a running test made, with all its frames");
  }
  void* memory = mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) refuse(path, std::string("cannot be mapped: ") + std::strerror(errno));
  header_ = static_cast<const LiveHeader*>(memory);
  frames_ = reinterpret_cast<const double*>(static_cast<const char*>(memory) + page);
  next_ = head();
}

LiveReader::~LiveReader() { munmap(const_cast<LiveHeader*>(header_), bytes_); }

std::uint64_t LiveReader::head() const noexcept { return get(header_->head, std::memory_order_acquire); }

/// Copies frames [from, to) and returns the first of them that is whole.
std::uint64_t LiveReader::copy(std::uint64_t from, std::uint64_t to) {
  copied_.resize((to - from) * stride_);
  double* word = copied_.data();
  for (std::uint64_t n = from; n < to; ++n) {
    const double* frame = frames_ + (n & (capacity_ - 1)) * stride_;
    for (std::size_t i = 0; i < stride_; ++i) *word++ = get(frame[i]);
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  const std::uint64_t now = head();
  const std::uint64_t whole = now >= capacity_ ? now - capacity_ + 1 : 0;
  return std::min(std::max(from, whole), to);
}

std::vector<float> LiveReader::buckets(std::int64_t size, std::int64_t most, std::int64_t& first) {
  if (size < 1 || most < 1) throw std::invalid_argument("size and most of buckets must be at least 1.");
  const auto n = static_cast<std::uint64_t>(size);
  const std::uint64_t end = head() / n * n;  // buckets begin at multiples of their size
  const std::uint64_t held = std::min<std::uint64_t>(capacity_ - 1, static_cast<std::uint64_t>(most) * n);
  const std::uint64_t due = (next_ + n - 1) / n * n;
  std::uint64_t from = due;
  if (end > held && from < end - held) from = (end - held + n - 1) / n * n;
  first = -1;
  if (from >= end) return {};
  std::uint64_t begin = copy(from, end);
  begin = (begin + n - 1) / n * n;
  dropped_ += static_cast<std::int64_t>(begin - due);
  next_ = end;
  if (begin >= end) return {};
  const auto word = [&](std::uint64_t i, std::size_t c) { return copied_[(i - from) * stride_ + c]; };
  first = std::bit_cast<std::int64_t>(word(begin, 0));
  const std::size_t columns = stride_ - 1;
  std::vector<float> result((end - begin) / n * columns * 2);
  float* out = result.data();
  for (std::uint64_t b = begin; b < end; b += n)
    for (std::size_t c = 1; c <= columns; ++c) {
      double low = std::numeric_limits<double>::infinity(), high = -low;
      bool finite = true;
      for (std::uint64_t i = b; i < b + n; ++i) {
        const double value = word(i, c);
        finite &= std::isfinite(value);
        low = std::min(low, value);
        high = std::max(high, value);
      }
      constexpr float none = std::numeric_limits<float>::quiet_NaN();
      *out++ = finite ? static_cast<float>(low) : none;
      *out++ = finite ? static_cast<float>(high) : none;
    }
  return result;
}

std::vector<double> LiveReader::latest() {
  for (;;) {
    const std::uint64_t n = head();
    if (n == 0) return {};
    if (copy(n - 1, n) < n) return {copied_.begin() + 1, copied_.end()};
  }
}

LiveHeader LiveReader::status() const noexcept {
  LiveHeader now;
  now.signals = header_->signals;
  now.every = header_->every;
  now.capacity = header_->capacity;
  now.rate = header_->rate;
  now.head = head();
  now.tick = get(header_->tick);
  now.missed = get(header_->missed);
  now.lost = get(header_->lost);
  now.state = get(header_->state);
  now.test_tick = get(header_->test_tick);
  now.taken = get(header_->taken, std::memory_order_acquire);
  now.ended = get(header_->ended);
  return now;
}

}  // namespace hmor
