#include "net/datagram.hpp"

#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace hmor {

namespace {

/// BLAKE2s takes keys of up to 32 bytes; a longer one is hashed, as HMAC does.
Blake2s mac_with(Bytes key) {
  if (key.size() <= 32) return {key, sizeof Datagram::tag};
  const Digest digest = Blake2s({}, 32).of(key);
  return {digest, sizeof Datagram::tag};
}

std::uint32_t crc_of(const Datagram& message) noexcept {
  return crc32(message.tag, crc32({message.bytes(), message.body()}));
}

}  // namespace

Seal::Seal(const std::string& key) {
  if (!key.empty()) mac_ = mac_with(Bytes(reinterpret_cast<const std::uint8_t*>(key.data()), key.size()));
}

void Seal::close(Datagram& message) const noexcept {
  message.tag = {};
  if (mac_) std::copy_n(mac_->of({message.bytes(), message.body()}).begin(), message.tag.size(), message.tag.begin());
  message.crc = crc_of(message);
}

Verdict Seal::judge(Datagram& message, std::size_t size) const noexcept {
  if (size < Datagram::head || message.magic != Datagram{}.magic) return Verdict::damaged;
  if (message.version != Datagram::version_now) return Verdict::other_version;
  if (message.count > Datagram::most_values || size != message.size()) return Verdict::damaged;
  std::memmove(message.tag.data(), message.bytes() + message.body(), Datagram::trailer);
  if (message.crc != crc_of(message)) return Verdict::damaged;
  if (!mac_) return Verdict::good;
  const Digest tag = mac_->of({message.bytes(), message.body()});
  std::uint8_t differs = 0;  // compared in a time that does not depend on where they differ
  for (std::size_t i = 0; i < message.tag.size(); ++i)
    differs = static_cast<std::uint8_t>(differs | (tag[i] ^ message.tag[i]));
  return differs == 0 ? Verdict::good : Verdict::forged;
}

bool Window::newest(std::uint64_t sequence, std::uint32_t crc, Traffic& traffic) noexcept {
  if (sequence == 0 || (sequence > last_ && sequence - last_ > widest_gap)) {
    ++traffic.foreign;
    return false;
  }
  if (sequence > last_) {
    const std::uint64_t ahead = sequence - last_;
    traffic.lost += static_cast<std::int64_t>(ahead - 1);
    seen_ = ahead < 64 ? seen_ << ahead | 1u : 1u;
    last_ = sequence;
    crcs_[sequence % 64] = crc;
    return true;
  }
  const std::uint64_t behind = last_ - sequence;
  const std::uint64_t bit = behind < 64 ? std::uint64_t{1} << behind : 0;
  if (bit != 0 && (seen_ & bit) == 0) {
    seen_ |= bit;
    crcs_[sequence % 64] = crc;
    --traffic.lost;
    ++traffic.reordered;
    return false;
  }
  ++traffic.repeated;
  if (bit != 0 && crcs_[sequence % 64] != crc) ++traffic.conflicting;
  return false;
}

std::int64_t wall_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

Nonce new_nonce() {
  Nonce bits;
  if (getrandom(bits.data(), bits.size(), 0) != static_cast<ssize_t>(bits.size()))
    throw std::runtime_error("the host gave no random bits.");
  return bits;
}

}  // namespace hmor
