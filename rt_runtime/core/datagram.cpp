#include "datagram.hpp"

#include <sys/random.h>
#include <time.h>

#include <cstddef>
#include <stdexcept>

namespace hmor {

namespace {

Bytes bytes_before(const Datagram& message, std::size_t end) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(&message), end};
}

}  // namespace

Seal::Seal(const std::string& key) {
  if (!key.empty()) hmac_.emplace(Bytes(reinterpret_cast<const std::uint8_t*>(key.data()), key.size()));
}

void Seal::close(Datagram& message) const noexcept {
  message.tag = hmac_ ? hmac_->of(bytes_before(message, offsetof(Datagram, tag))) : Digest{};
  message.crc = crc32(bytes_before(message, offsetof(Datagram, crc)));
}

Verdict Seal::judge(const Datagram& message, std::size_t size) const noexcept {
  if (size != sizeof message || message.magic != Datagram{}.magic || message.count > Datagram::most_values ||
      message.crc != crc32(bytes_before(message, offsetof(Datagram, crc))))
    return Verdict::damaged;
  if (message.version != Datagram::version_now) return Verdict::other_version;
  if (hmac_ && !same(hmac_->of(bytes_before(message, offsetof(Datagram, tag))), message.tag.data()))
    return Verdict::forged;
  return Verdict::good;
}

bool Window::newest(std::uint64_t sequence, Traffic& traffic) noexcept {
  if (sequence > last_) {
    const std::uint64_t ahead = sequence - last_;
    traffic.lost += static_cast<std::int64_t>(ahead - 1);
    seen_ = ahead < 64 ? seen_ << ahead | 1u : 1u;
    last_ = sequence;
    return true;
  }
  const std::uint64_t behind = last_ - sequence;
  const std::uint64_t bit = behind < 64 ? std::uint64_t{1} << behind : 0;
  if (bit == 0 || (seen_ & bit) != 0) {
    ++traffic.repeated;
  } else {
    seen_ |= bit;
    --traffic.lost;
    ++traffic.reordered;
  }
  return false;
}

std::int64_t wall_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::uint32_t random_bits() {
  std::uint32_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits) throw std::runtime_error("the host gave no random bits.");
  return bits;
}

}  // namespace hmor
