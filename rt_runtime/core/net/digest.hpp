#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hmor {

using Bytes = std::span<const std::uint8_t>;
using Digest = std::array<std::uint8_t, 32>;

/// In the loop. CRC-32 as in zlib (reflected polynomial 0xEDB88320), continued from the CRC of the bytes before.
std::uint32_t crc32(Bytes data, std::uint32_t before = 0) noexcept;

/// BLAKE2s (RFC 7693) with a key given once: an authenticator in one pass. The key block is hashed beforehand.
class Blake2s {
 public:
  /// Outside the loop. A key of 0 to 32 bytes, a digest of 1 to 32 bytes.
  Blake2s(Bytes key, std::size_t size) noexcept;
  /// In the loop. The first `size` bytes are the digest, the rest is zero. With a key the message must not be empty.
  Digest of(Bytes message) const noexcept;

 private:
  std::array<std::uint32_t, 8> h_;  // after the key block
  std::size_t size_;
  bool keyed_;
};

/// SHA-256 (FIPS 180-4); no allocation, so that the loop can use it.
class Sha256 {
 public:
  // In the loop.
  Sha256() noexcept;
  void add(Bytes data) noexcept;
  Digest finish() noexcept;

 private:
  void compress(const std::uint8_t* block) noexcept;

  std::array<std::uint32_t, 8> h_;
  std::array<std::uint8_t, 64> block_;
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;
};

/// HMAC-SHA256 (RFC 2104) with a key given once; the two key blocks are hashed beforehand.
class Hmac {
 public:
  /// Outside the loop.
  explicit Hmac(Bytes key) noexcept;
  /// In the loop.
  Digest of(Bytes message) const noexcept;

 private:
  Sha256 inner_, outer_;
};

/// In the loop. Compares in a time that does not depend on where they differ.
bool same(const Digest& a, const std::uint8_t* b) noexcept;

}  // namespace hmor
