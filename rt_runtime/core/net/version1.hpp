#pragma once

#include <optional>

#include "net/datagram.hpp"

namespace hmor {

/// Version 1 of the protocol (docs/rig_protocol.md), in terms of the messages of today: at most 16 values, nonces of 4
/// bytes, HMAC-SHA256; hello, welcome, command, measurement and bye, and no word for anything else.
constexpr int most_values_version1 = 16, most_told_version1 = 15;  ///< the welcome has room for 15 measured signals
constexpr std::size_t nonce_version1 = 4;

// In the loop.
/// Writes a message; nothing (size 0) where version 1 has no word for it.
void write_version1(const Datagram& message, const std::optional<Hmac>& mac, Wire& wire) noexcept;
/// Judges what came and reads it.
Verdict read_version1(const Wire& wire, const std::optional<Hmac>& mac, Datagram& message) noexcept;
/// Whether it is a whole message of version 1.
bool is_version1(const Wire& wire) noexcept;
/// What makes a version 1 loop say "Rig speaks version 2": its form with another version number.
Wire version1_refusal() noexcept;

}  // namespace hmor
