// libFuzzer: any bytes from the network are judged in both versions of the protocol without touching memory that is not
// theirs; a message that is taken is of the version that is spoken, and with a key only what was sealed with it is taken.
// What is read and written again means the same. The window's counts stay what they mean.

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "../cpp/check.hpp"
#include "net/datagram.hpp"
#include "net/version1.hpp"

using namespace hmor;

namespace {

const char* const our_key = "0123456789abcdef0123456789abcdef";

/// A message of any content, for the sealed cases: what an honest or a lying holder of some key may send.
Datagram any_message(FuzzedDataProvider& input) {
  Datagram message;
  input.ConsumeData(&message.kind, 1);
  message.count = input.ConsumeIntegralInRange<std::uint8_t>(0, Datagram::most_values);
  input.ConsumeData(message.loop_nonce.data(), message.loop_nonce.size());
  input.ConsumeData(message.rig_nonce.data(), message.rig_nonce.size());
  input.ConsumeData(&message.sequence, sizeof message.sequence);
  input.ConsumeData(&message.answers, sizeof message.answers);
  input.ConsumeData(&message.n_command, 1);
  input.ConsumeData(&message.n_measured, 1);
  input.ConsumeData(message.values.data(), sizeof message.values);
  return message;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  const bool keyed = input.ConsumeBool();
  const int version = input.ConsumeIntegralInRange<int>(1, 2);
  const Seal ours(keyed ? our_key : "", version), same_key(keyed ? our_key : "", 3 - version);
  const Seal theirs("another key of thirty-two bytes.", version), nobody("", version);
  Window window;
  Traffic traffic;
  std::int64_t judged = 0;
  while (input.remaining_bytes() > 0 && judged < 64) {
    // As it came; sealed by us, by another key, by nobody, by us in the other version.
    const auto by = input.ConsumeIntegralInRange<int>(0, 4);
    // On the heap and no longer than a datagram: reading behind it is an error that the sanitizer sees.
    const auto wire = std::make_unique<Wire>();
    if (by == 0) {
      const auto raw = input.ConsumeBytes<std::uint8_t>(input.ConsumeIntegralInRange<std::size_t>(0, wire->bytes.size()));
      std::copy(raw.begin(), raw.end(), wire->bytes.begin());
      wire->size = raw.size() < wire->bytes.size() ? raw.size() : input.ConsumeIntegralInRange<std::size_t>(352, 70000);
    } else {
      const Seal* const seals[] = {&ours, &theirs, &nobody, &same_key};
      seals[by - 1]->write(any_message(input), *wire);
    }
    const auto message = std::make_unique<Datagram>();
    const Verdict verdict = ours.read(*wire, *message);
    CHECK(!is_version1(*wire) || wire->size == 216);
    ++judged;
    if (verdict != Verdict::good) continue;
    CHECK(message->version == version && message->magic == Datagram{}.magic);
    CHECK(message->count <= (version == 1 ? most_values_version1 : Datagram::most_values));
    CHECK(version == 1 ? wire->size == 216 && message->kind >= Datagram::hello && message->kind <= Datagram::bye
                       : wire->size == message->body() + 24);
    CHECK(!keyed || by == 1);
    const auto again = std::make_unique<Wire>();
    const auto twice = std::make_unique<Datagram>();
    ours.write(*message, *again);
    CHECK(ours.read(*again, *twice) == Verdict::good && twice->kind == message->kind && twice->count == message->count);
    CHECK(std::memcmp(twice->values.data(), message->values.data(), sizeof(double) * message->count) == 0);
    CHECK(twice->sequence == message->sequence && twice->loop_nonce == message->loop_nonce);
    const std::uint64_t before = window.last();
    const bool newest = window.newest(message->sequence, message->crc, traffic);
    CHECK(newest == (window.last() > before) && (!newest || window.last() == message->sequence));
    CHECK(traffic.lost >= 0 && traffic.reordered >= 0 && traffic.conflicting <= traffic.repeated);
    CHECK(window.last() <= Window::widest_gap * static_cast<std::uint64_t>(judged));
  }
  return 0;
}
