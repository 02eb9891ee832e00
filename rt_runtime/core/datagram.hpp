#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>

#include "digest.hpp"

namespace hmor {

static_assert(std::endian::native == std::endian::little, "datagrams are little-endian and copied as they stand");

/// One message between the loop and a rig; 216 bytes, little-endian, described in docs/rig_protocol.md.
struct Datagram {
  static constexpr int most_values = 16;
  static constexpr std::uint16_t version_now = 1;
  enum Kind : std::uint8_t { hello = 1, welcome = 2, command = 3, measurement = 4, bye = 5 };

  std::array<char, 4> magic{'H', 'M', 'R', 'G'};
  std::uint16_t version = version_now;
  std::uint8_t kind = hello;
  std::uint8_t count = 0;         ///< numbers in use
  std::uint64_t session = 0;      ///< the loop's 32 random bits and the rig's
  std::uint64_t sequence = 0;     ///< of this sender, from 1
  std::uint64_t answers = 0;      ///< a measurement: the sequence of the command it answers
  std::int64_t sent_ns = 0;       ///< CLOCK_REALTIME of the sender
  std::int64_t answered_ns = 0;   ///< a measurement: sent_ns of the command it answers
  std::array<double, most_values> values{};
  Digest tag{};                   ///< HMAC-SHA256 of all bytes before it, zero without a key
  std::uint32_t crc = 0;          ///< CRC-32 of all bytes before it
  std::uint32_t unused = 0;
};
static_assert(sizeof(Datagram) == 216);

/// What is wrong with a message.
enum class Verdict { good, damaged, other_version, forged };

/// Signs and judges messages with an optional key.
class Seal {
 public:
  /// Outside the loop. An empty key: no signature.
  explicit Seal(const std::string& key);
  /// In the loop. Sets tag and crc.
  void close(Datagram& message) const noexcept;
  /// In the loop. `size` is the number of bytes that came.
  Verdict judge(const Datagram& message, std::size_t size) const noexcept;

 private:
  std::optional<Hmac> hmac_;
};

/// What one side saw of the other's messages.
struct Traffic {
  std::int64_t sent = 0, unsent = 0, received = 0;
  std::int64_t lost = 0, late = 0, reordered = 0, repeated = 0, damaged = 0, forged = 0, foreign = 0;
};

/// Finds lost, reordered and repeated messages by their sequence number, with a window of 64 (as IPsec does).
class Window {
 public:
  /// In the loop. True for a message that is newer than all before; counts what it is otherwise.
  bool newest(std::uint64_t sequence, Traffic& traffic) noexcept;
  void reset() noexcept { last_ = seen_ = 0; }
  std::uint64_t last() const noexcept { return last_; }

 private:
  std::uint64_t last_ = 0, seen_ = 0;  // bit i of seen_: message last_ - i came
};

/// In the loop. CLOCK_REALTIME in ns, the clock of the kernel's receive timestamps.
std::int64_t wall_ns() noexcept;

/// Outside the loop. 32 random bits from the host.
std::uint32_t random_bits();

}  // namespace hmor
