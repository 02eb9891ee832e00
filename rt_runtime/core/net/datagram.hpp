#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "net/digest.hpp"

namespace hmor {

static_assert(std::endian::native == std::endian::little, "datagrams are little-endian and copied as they stand");

using Nonce = std::array<std::uint8_t, 16>;

/// One message between the loop and a rig, little-endian, described in docs/rig_protocol.md. In memory the trailer
/// (tag, crc) stands behind 32 values, on the wire right behind the last value in use.
struct Datagram {
  static constexpr int most_values = 32;
  static constexpr std::uint8_t version_now = 2;
  static constexpr std::size_t head = 72, trailer = 24;
  static constexpr std::uint8_t refused = 1;  ///< flag of a measurement: the command it answers was not obeyed
  enum Kind : std::uint8_t {
    hello = 1, welcome, command, measurement, bye, busy, claim, granted, released, notice
  };

  std::array<char, 4> magic{'H', 'M', 'R', 'G'};
  std::uint8_t version = version_now;
  std::uint8_t kind = hello;
  std::uint8_t count = 0;       ///< numbers in use
  std::uint8_t state = 0;       ///< of the rig (RigState), in everything it sends
  Nonce loop_nonce{};           ///< drawn by the loop for one session
  Nonce rig_nonce{};            ///< drawn by the rig for one session; zero before it is known
  std::uint64_t sequence = 0;   ///< of this sender in this session, from 1; 0 outside of commands and their answers
  std::uint64_t answers = 0;    ///< a measurement: the sequence of the command it answers
  std::int64_t sent_ns = 0;     ///< the sender's steady clock
  std::uint8_t n_command = 0, n_measured = 0, flags = 0;
  std::array<std::uint8_t, 5> unused{};
  std::array<double, most_values> values{};
  std::array<std::uint8_t, 16> tag{};  ///< BLAKE2s with the key of all bytes before it, zero without a key
  std::uint32_t crc = 0;               ///< CRC-32 of all bytes before it
  std::uint32_t end = 0;

  std::size_t body() const noexcept { return head + sizeof(double) * count; }
  std::size_t size() const noexcept { return body() + trailer; }
  const std::uint8_t* bytes() const noexcept { return reinterpret_cast<const std::uint8_t*>(this); }
};
static_assert(offsetof(Datagram, values) == Datagram::head && sizeof(Datagram) == 352);
static_assert(offsetof(Datagram, tag) + Datagram::trailer == sizeof(Datagram));

/// What is wrong with a message.
enum class Verdict { good, damaged, other_version, forged };

/// Signs and judges messages with an optional key.
class Seal {
 public:
  /// Outside the loop. An empty key: no signature.
  explicit Seal(const std::string& key);
  /// In the loop. Sets tag and crc.
  void close(Datagram& message) const noexcept;
  /// In the loop. Judges the `size` bytes that came and puts the trailer in its place.
  Verdict judge(Datagram& message, std::size_t size) const noexcept;

 private:
  std::optional<Blake2s> mac_;
};

/// What one side saw of the other's messages.
struct Traffic {
  std::int64_t sent = 0, unsent = 0, received = 0;
  std::int64_t lost = 0, late = 0, reordered = 0, repeated = 0, conflicting = 0;
  std::int64_t damaged = 0, forged = 0, foreign = 0, refused = 0;
};

/// Finds lost, reordered and repeated messages by their sequence number, with a window of 64 (as IPsec does). The same
/// number with another content is a conflict: two senders.
class Window {
 public:
  /// A longer gap is no loss: the sender is another one. It also keeps all counts far from overflow.
  static constexpr std::uint64_t widest_gap = 1'000'000;

  /// In the loop. True for a message that is newer than all before; counts what it is otherwise.
  bool newest(std::uint64_t sequence, std::uint32_t crc, Traffic& traffic) noexcept;
  void reset() noexcept { last_ = seen_ = 0; }
  std::uint64_t last() const noexcept { return last_; }

 private:
  std::uint64_t last_ = 0, seen_ = 0;  // bit i of seen_: message last_ - i came
  std::array<std::uint32_t, 64> crcs_{};
};

/// In the loop. CLOCK_REALTIME in ns, the clock of the kernel's receive timestamps.
std::int64_t wall_ns() noexcept;

/// Outside the loop. 128 random bits from the host; throws when it has none.
Nonce new_nonce();

}  // namespace hmor
