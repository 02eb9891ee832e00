#include "net/version1.hpp"

#include <algorithm>
#include <cstring>

namespace hmor {

namespace {

/// As it lies on the wire; the session is the loop's half above the rig's.
struct Version1 {
  std::array<char, 4> magic{'H', 'M', 'R', 'G'};
  std::uint16_t version = 1;
  std::uint8_t kind = 0;
  std::uint8_t count = 0;
  std::array<std::uint8_t, nonce_version1> rig{}, loop{};
  std::uint64_t sequence = 0;
  std::uint64_t answers = 0;
  std::int64_t sent_ns = 0;
  std::int64_t answered_ns = 0;
  std::array<double, most_values_version1> values{};
  Digest tag{};  ///< of all bytes before it
  std::uint32_t crc = 0;
  std::uint32_t unused = 0;

  Bytes before(std::size_t end) const noexcept { return {reinterpret_cast<const std::uint8_t*>(this), end}; }
};
static_assert(sizeof(Version1) == 216 && offsetof(Version1, tag) == 176 && offsetof(Version1, crc) == 208);

void close(Version1& message, const std::optional<Hmac>& mac, Wire& wire) noexcept {
  if (mac) message.tag = mac->of(message.before(offsetof(Version1, tag)));
  message.crc = crc32(message.before(offsetof(Version1, crc)));
  std::memcpy(wire.bytes.data(), &message, sizeof message);
  wire.size = sizeof message;
}

/// Right in form and checksum, whatever its version.
bool whole(const Wire& wire, Version1& message) noexcept {
  if (wire.size != sizeof message) return false;
  std::memcpy(&message, wire.bytes.data(), sizeof message);
  return message.magic == Version1{}.magic && message.crc == crc32(message.before(offsetof(Version1, crc)));
}

/// A number of signals that was sent as a value.
std::uint8_t small(double x) noexcept { return x >= 0.0 && x <= 255.0 ? static_cast<std::uint8_t>(x) : 255; }

}  // namespace

void write_version1(const Datagram& message, const std::optional<Hmac>& mac, Wire& wire) noexcept {
  wire.size = 0;
  if (message.kind > Datagram::bye || message.count > most_values_version1) return;
  Version1 old;
  old.kind = message.kind;
  old.count = message.count;
  std::copy_n(message.loop_nonce.begin(), nonce_version1, old.loop.begin());
  std::copy_n(message.rig_nonce.begin(), nonce_version1, old.rig.begin());
  old.sequence = message.sequence;
  old.answers = message.answers;
  old.sent_ns = message.sent_ns;
  old.answered_ns = message.answered_ns;
  std::size_t at = 0;
  if (message.kind == Datagram::hello) {
    old.count = std::min<std::uint8_t>(message.n_command, most_values_version1);
    old.values[at++] = message.n_measured;
  } else if (message.kind == Datagram::welcome) {
    old.count = message.n_measured;
    old.values[at++] = message.n_command;
  }
  for (std::size_t i = 0; i < message.count && at < old.values.size(); ++i) old.values[at++] = message.values[i];
  close(old, mac, wire);
}

Verdict read_version1(const Wire& wire, const std::optional<Hmac>& mac, Datagram& message) noexcept {
  Version1 old;
  if (!whole(wire, old)) return Verdict::damaged;
  if (old.version != 1) {
    message.version = static_cast<std::uint8_t>(old.version);
    return Verdict::other_version;
  }
  if (old.kind < Datagram::hello || old.kind > Datagram::bye || old.count > most_values_version1)
    return Verdict::damaged;
  if (mac && !same(mac->of(old.before(offsetof(Version1, tag))), old.tag.data())) return Verdict::forged;
  message = Datagram();
  message.version = 1;
  message.kind = old.kind;
  std::copy(old.loop.begin(), old.loop.end(), message.loop_nonce.begin());
  std::copy(old.rig.begin(), old.rig.end(), message.rig_nonce.begin());
  message.sequence = old.sequence;
  message.answers = old.answers;
  message.sent_ns = old.sent_ns;
  message.answered_ns = old.answered_ns;
  message.crc = old.crc;
  message.state = 1;  // live: version 1 tells no state
  if (old.kind == Datagram::hello) {
    message.n_command = old.count;
    message.n_measured = small(old.values[0]);
  } else if (old.kind == Datagram::welcome) {
    message.n_measured = old.count;
    message.n_command = small(old.values[0]);
    message.count = std::min<std::uint8_t>(old.count, most_told_version1);
    std::copy_n(old.values.begin() + 1, message.count, message.values.begin());
  } else if (old.kind == Datagram::bye) {
    message.count = 1;  // stay where you are: version 1 knows no other
  } else {
    message.count = old.count;
    std::copy_n(old.values.begin(), message.count, message.values.begin());
  }
  return Verdict::good;
}

bool is_version1(const Wire& wire) noexcept {
  Version1 old;
  return whole(wire, old) && old.version == 1;
}

Wire version1_refusal() noexcept {
  Version1 old;
  old.version = Datagram::version_now;
  old.kind = Datagram::welcome;
  Wire wire;
  close(old, {}, wire);
  return wire;
}

}  // namespace hmor
