#include "net/datagram.hpp"

#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "net/version1.hpp"

namespace hmor {

namespace {

constexpr std::size_t tag_size = 16, trailer = tag_size + 8;  // tag, CRC, four bytes of nothing

/// BLAKE2s takes keys of up to 32 bytes; a longer one is hashed, as HMAC does.
Blake2s mac_with(Bytes key) {
  if (key.size() <= 32) return {key, tag_size};
  const Digest digest = Blake2s({}, 32).of(key);
  return {digest, tag_size};
}

}  // namespace

Seal::Seal(const std::string& key, int version) : version_(version) {
  if (key.empty()) return;
  const Bytes bytes(reinterpret_cast<const std::uint8_t*>(key.data()), key.size());
  if (version == 1) old_mac_.emplace(bytes);
  else mac_ = mac_with(bytes);
}

void Seal::write(const Datagram& message, Wire& wire) const noexcept {
  if (version_ == 1) return write_version1(message, old_mac_, wire);
  const std::size_t body = message.body();
  std::uint8_t* tag = wire.bytes.data() + body;
  std::memcpy(wire.bytes.data(), &message, body);
  std::memset(tag, 0, trailer);
  if (mac_) std::copy_n(mac_->of({wire.bytes.data(), body}).begin(), tag_size, tag);
  const std::uint32_t crc = crc32({wire.bytes.data(), body + tag_size});
  std::memcpy(tag + tag_size, &crc, sizeof crc);
  wire.size = body + trailer;
}

Verdict Seal::read(const Wire& wire, Datagram& message) const noexcept {
  const std::uint8_t* bytes = wire.bytes.data();
  if (version_ == 1) return read_version1(wire, old_mac_, message);
  if (wire.size < Datagram::head || !std::equal(bytes, bytes + 4, "HMRG")) return Verdict::damaged;
  message.version = bytes[4];
  if (is_version1(wire) || message.version > Datagram::version_now) return Verdict::other_version;
  const std::size_t count = bytes[6], body = Datagram::head + sizeof(double) * count;
  if (message.version != version_ || count > Datagram::most_values || wire.size != body + trailer)
    return Verdict::damaged;
  const std::uint8_t* tag = bytes + body;
  std::uint32_t crc = 0;
  std::memcpy(&crc, tag + tag_size, sizeof crc);
  if (crc != crc32({bytes, body + tag_size})) return Verdict::damaged;
  if (mac_) {
    const Digest right = mac_->of({bytes, body});
    std::uint8_t differs = 0;  // compared in a time that does not depend on where they differ
    for (std::size_t i = 0; i < tag_size; ++i) differs = static_cast<std::uint8_t>(differs | (right[i] ^ tag[i]));
    if (differs != 0) return Verdict::forged;
  }
  std::memcpy(static_cast<void*>(&message), bytes, body);
  message.crc = crc;
  return Verdict::good;
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
