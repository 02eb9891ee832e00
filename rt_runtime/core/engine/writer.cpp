#include "engine/writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>

namespace hmor {

namespace {
constexpr auto look_every = std::chrono::milliseconds(2);
}

Writer::Writer(Ring& ring, const std::string& path)
    : ring_(ring), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)), latest_(ring.stride()) {
  if (file_ < 0)
    throw std::runtime_error("Record file " + path + " cannot be opened: " + std::strerror(errno) + ".");
  thread_ = std::thread([this] { body(); });
}

void Writer::finish() noexcept {
  if (!thread_.joinable()) return;
  ending_.store(true);
  thread_.join();
  if (::fsync(file_) != 0 && errno != EINVAL && errno != EROFS && error_.load() == 0) error_.store(errno);
  ::close(file_);
}

std::vector<double> Writer::latest() const {
  const std::lock_guard lock(mutex_);
  return any_ ? latest_ : std::vector<double>{};
}

void Writer::body() noexcept {
  for (;;) {
    const bool ending = ending_.load();  // read before the last look, so that nothing pushed before it is left behind
    while (drain()) {
    }
    if (ending) return;
    std::this_thread::sleep_for(look_every);
  }
}

bool Writer::drain() noexcept {
  const std::uint64_t count = ring_.ready();
  if (count == 0) return false;
  if (count > fullest_.load(std::memory_order_relaxed)) fullest_.store(count, std::memory_order_relaxed);
  const double pause = pause_.load(std::memory_order_relaxed);
  if (pause > 0.0) std::this_thread::sleep_for(std::chrono::duration<double>(pause));
  {
    const std::lock_guard lock(mutex_);
    std::memcpy(latest_.data(), ring_.front() + (count - 1) * ring_.stride(), ring_.stride() * sizeof(double));
    any_ = true;
  }
  write(ring_.front(), count);
  ring_.release(count);
  return true;
}

void Writer::write(const double* frames, std::uint64_t count) noexcept {
  const std::size_t frame_bytes = ring_.stride() * sizeof(double);
  const char* bytes = reinterpret_cast<const char*>(frames);
  std::size_t left = count * frame_bytes;
  while (left > 0 && error_.load(std::memory_order_relaxed) == 0) {
    const ssize_t done = ::write(file_, bytes, left);
    if (done > 0) {
      bytes += done;
      left -= static_cast<std::size_t>(done);
    } else if (done == 0 || errno != EINTR) {
      error_.store(done == 0 ? ENOSPC : errno);
    }
  }
  const auto whole = static_cast<std::int64_t>(count - (left + frame_bytes - 1) / frame_bytes);
  written_.fetch_add(whole, std::memory_order_relaxed);
  ring_.refuse(static_cast<std::int64_t>(count) - whole);
}

}  // namespace hmor
