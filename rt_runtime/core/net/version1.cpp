#include "net/version1.hpp"

#include <algorithm>
#include <cstring>

#include "net/datagram.hpp"

namespace hmor {

namespace {

constexpr std::size_t tag_at = 176, crc_at = 208;  // 32 bytes of HMAC-SHA256, then the CRC of all before it

void close(Version1& message) noexcept {
  const std::uint32_t crc = crc32({message.data(), crc_at});
  std::memcpy(message.data() + crc_at, &crc, sizeof crc);
}

Version1 form(std::uint8_t version, std::uint8_t kind, std::uint8_t count) noexcept {
  return {'H', 'M', 'R', 'G', version, 0, kind, count};
}

}  // namespace

Version1 version1_hello(int n_command, int n_measured, const std::string& key) {
  Version1 message = form(1, Datagram::hello, static_cast<std::uint8_t>(std::min(n_command, 16)));
  const Nonce own = new_nonce();
  std::copy_n(own.begin(), 4, message.begin() + 12);  // the loop's half of the session
  const double expected = n_measured;
  std::memcpy(message.data() + 48, &expected, sizeof expected);
  if (!key.empty()) {
    const Digest tag = Hmac({reinterpret_cast<const std::uint8_t*>(key.data()), key.size()}).of({message.data(), tag_at});
    std::copy(tag.begin(), tag.end(), message.begin() + tag_at);
  }
  close(message);
  return message;
}

bool is_version1(const std::uint8_t* bytes, std::size_t size) noexcept {
  const Version1 start = form(1, 0, 0);
  if (size != start.size() || !std::equal(bytes, bytes + 6, start.begin())) return false;
  std::uint32_t crc = 0;
  std::memcpy(&crc, bytes + crc_at, sizeof crc);
  return crc == crc32({bytes, crc_at});
}

Version1 version1_refusal() noexcept {
  Version1 message = form(Datagram::version_now, Datagram::welcome, 0);
  close(message);
  return message;
}

}  // namespace hmor
