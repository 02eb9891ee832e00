// libFuzzer: any bytes from the network are judged without touching memory that is not theirs; a message that is taken
// has its own size, and with a key only what was sealed with it is taken. The window's counts stay what they mean.

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "../cpp/check.hpp"
#include "net/datagram.hpp"
#include "net/version1.hpp"

using namespace hmor;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  const bool keyed = input.ConsumeBool();
  const Seal ours(keyed ? "0123456789abcdef0123456789abcdef" : ""), theirs("another key of thirty-two bytes.");
  Window window;
  Traffic traffic;
  std::int64_t judged = 0;
  while (input.remaining_bytes() > 0 && judged < 64) {
    const auto sealed = input.ConsumeIntegralInRange<int>(0, 3);  // as it came, by us, by another key, by nobody
    const auto raw = input.ConsumeBytes<std::uint8_t>(input.ConsumeIntegralInRange<std::size_t>(0, sizeof(Datagram)));
    // On the heap and no longer than a datagram: reading behind it is an error that the sanitizer sees.
    const auto message = std::make_unique<Datagram>();
    std::copy(raw.begin(), raw.end(), reinterpret_cast<std::uint8_t*>(message.get()));
    std::size_t length = raw.size();
    if (sealed != 0 && message->count <= Datagram::most_values) {
      (sealed == 1 ? ours : sealed == 2 ? theirs : Seal("")).close(*message);
      length = message->size();
      std::memmove(reinterpret_cast<std::uint8_t*>(message.get()) + message->body(), message->tag.data(), Datagram::trailer);
    }
    is_version1(message->bytes(), length);
    const Verdict verdict = ours.judge(*message, length);
    ++judged;
    if (verdict != Verdict::good) continue;
    CHECK(message->count <= Datagram::most_values && message->size() == length);
    CHECK(message->version == Datagram::version_now && message->magic == Datagram{}.magic);
    CHECK(!keyed || sealed == 1);
    const std::uint64_t before = window.last();
    const bool newest = window.newest(message->sequence, message->crc, traffic);
    CHECK(newest == (window.last() > before) && (!newest || window.last() == message->sequence));
    CHECK(traffic.lost >= 0 && traffic.reordered >= 0 && traffic.conflicting <= traffic.repeated);
    CHECK(window.last() <= Window::widest_gap * static_cast<std::uint64_t>(judged));
  }
  return 0;
}
