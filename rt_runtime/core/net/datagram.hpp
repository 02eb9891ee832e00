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

/// One message between the loop and a rig, described in docs/rig_protocol.md. Up to the last value in use it lies in
/// memory as version 2 sends it, little-endian.
struct Datagram {
  static constexpr int most_values = 32;
  static constexpr std::uint8_t version_now = 2;
  static constexpr std::size_t head = 72;
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
  std::int64_t sent_ns = 0;     ///< the sender's steady clock (version 1: its wall clock)
  std::uint8_t n_command = 0, n_measured = 0, flags = 0;
  std::array<std::uint8_t, 5> unused{};
  std::array<double, most_values> values{};
  std::int64_t answered_ns = 0;  ///< version 1 alone, a measurement: sent_ns of the command it answers
  std::uint32_t crc = 0;         ///< of what came

  std::size_t body() const noexcept { return head + sizeof(double) * count; }
};
static_assert(offsetof(Datagram, values) == Datagram::head);

/// A message as it goes over the network.
struct Wire {
  std::array<std::uint8_t, Datagram::head + 8 * Datagram::most_values + 24> bytes{};
  std::size_t size = 0;  ///< 0: there is no such message in this version; more than `bytes` has: it was longer
};

/// What is wrong with a message.
enum class Verdict { good, damaged, other_version, forged };

/// Signs and judges messages of one version of the protocol with an optional key.
class Seal {
 public:
  /// Outside the loop. An empty key: no signature. `version` is 1 or 2.
  explicit Seal(const std::string& key, int version = Datagram::version_now);
  /// In the loop. Writes the signed message.
  void write(const Datagram& message, Wire& wire) const noexcept;
  /// In the loop. Judges what came and reads it; of another version only its number is read.
  Verdict read(const Wire& wire, Datagram& message) const noexcept;
  int version() const noexcept { return version_; }

 private:
  int version_;
  std::optional<Blake2s> mac_;
  std::optional<Hmac> old_mac_;  // of version 1
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
