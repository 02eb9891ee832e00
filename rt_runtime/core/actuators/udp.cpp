#include "actuators/udp.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "net/version1.hpp"
#include "engine/paced.hpp"

namespace hmor {

namespace {

constexpr std::int64_t ask_again_ns = 50'000'000, release_again_ns = 20'000'000;
constexpr int releases = 10;

std::string short_number(double x) { return std::to_string(x).substr(0, 5); }

/// A number from the network as a whole one.
std::uint32_t whole(double x) { return x >= 0.0 && x <= 4294967295.0 ? static_cast<std::uint32_t>(x) : 0; }

/// Who holds a rig that said busy: values are the time since the last command in s, address and port.
std::string busy_words(const Datagram& busy) {
  if (busy.state == static_cast<std::uint8_t>(RigState::ramping))
    return " is busy: it is on its way to rest after another test; try again in a moment.";
  const in_addr owner{htonl(whole(busy.values[1]))};
  return " is busy: a test from " + std::string(inet_ntoa(owner)) + ":" +
         std::to_string(whole(busy.values[2])) + " holds it (last command " + short_number(busy.values[0]) +
         " s ago); end that test first.";
}

}  // namespace

UdpRig::UdpRig(int n_command, int n_measured, std::string host, int port, const std::string& key, double timeout,
               std::string goodbye, int version)
    : Actuator(n_command, n_measured),
      host_(std::move(host)),
      port_(port),
      seal_(key, version),
      old_seal_(key, 1),
      timeout_(timeout),
      goodbye_(std::move(goodbye)),
      last_(n_measured, 0.0) {
  if (n_command > Datagram::most_values || n_measured > Datagram::most_values)
    throw std::invalid_argument("a rig has at most 32 commands and 32 measured signals.");
  if (old() && (n_command > most_values_version1 || n_measured > most_told_version1))
    throw std::invalid_argument("a rig of protocol version 1 has at most 16 commands and 15 measured signals.");
}

/// A message of this session, unsigned.
Datagram UdpRig::message(Datagram::Kind kind) const noexcept {
  Datagram made;
  made.kind = kind;
  made.loop_nonce = out_.loop_nonce;
  made.rig_nonce = out_.rig_nonce;
  made.n_command = static_cast<std::uint8_t>(n_command());
  made.n_measured = static_cast<std::uint8_t>(n_measured());
  return made;
}

bool UdpRig::say(const Datagram& message) noexcept {
  seal_.write(message, wire_);
  return socket_.send(wire_);
}

/// False when nothing has come.
bool UdpRig::hear(Verdict& verdict, Clock& arrived) noexcept {
  if (!socket_.receive(wire_, arrived)) return false;
  verdict = seal_.read(wire_, in_);
  return true;
}

void UdpRig::refuse(int version) const {
  const std::string what =
      version == 1 ? "update the rig (docs/rig_protocol.md), or, if that cannot be, say protocol = 1: such a rig has no "
                     "watchdog of its own"
      : old()      ? "leave protocol = 1 away"
                   : "update the loop: install the same release of hybrid-mor on both sides";
  throw std::runtime_error("Rig at " + host_ + ":" + std::to_string(port_) + " speaks version " +
                           std::to_string(version) + " of the rig protocol, this side version " +
                           std::to_string(seal_.version()) + "; " + what + ".");
}

/// Sends a question again and again until `judge` takes an answer with our nonce (true) or the time is over (false).
template <typename Judge>
bool UdpRig::ask(const Datagram& question, Clock give_up, Judge&& judge) {
  const std::string where = "Rig at " + host_ + ":" + std::to_string(port_);
  bool old_asked = old();
  for (Clock now = now_ns(), begun = now; now < give_up; now = now_ns()) {
    say(question);
    if (question.kind == Datagram::hello && !old_asked && now - begun > (give_up - begun) / 2) {
      old_seal_.write(question, wire_);  // to name it: a version 1 rig answers nothing else
      if (wire_.size > 0) socket_.send(wire_);
      old_asked = true;
    }
    for (const Clock again = std::min(now_ns() + ask_again_ns, give_up); (now = now_ns()) < again;) {
      socket_.wait(again - now);
      if (between_waits != nullptr) between_waits();
      Clock arrived = 0;
      for (Verdict verdict; hear(verdict, arrived);) {
        if (verdict == Verdict::forged)
          throw std::runtime_error(where + " answered with a signature that does not fit; give both sides the same key.");
        if (verdict == Verdict::other_version) refuse(in_.version);
        if (verdict == Verdict::good && in_.loop_nonce == question.loop_nonce && judge(in_, where)) return true;
      }
    }
  }
  return false;
}

void UdpRig::greet(Clock give_up) {
  std::string busy;
  const bool answered = ask(message(Datagram::hello), give_up, [&](const Datagram& answer, const std::string& where) {
    if (answer.kind == Datagram::busy && answer.count == 3) {
      busy = where + busy_words(answer);
      // Silent or on its way to rest: it is free soon. Otherwise do not start by surprise when the other test ends.
      if (answer.state == static_cast<std::uint8_t>(RigState::live)) throw std::runtime_error(busy);
    }
    if (answer.kind != Datagram::welcome) return false;
    if (answer.n_measured != n_measured() || answer.n_command != n_command())
      throw std::runtime_error(where + " has " + std::to_string(answer.n_command) + " commands and " +
                               std::to_string(answer.n_measured) + " measured signals, the loop expects " +
                               std::to_string(n_command()) + " and " + std::to_string(n_measured()) + ".");
    out_.rig_nonce = answer.rig_nonce;
    if (old()) take(answer);  // the session begins with the first command
    return true;
  });
  if (!answered && !busy.empty()) throw std::runtime_error(busy);
  if (!answered)
    throw std::runtime_error("Rig at " + host_ + ":" + std::to_string(port_) + " must answer within " +
                             short_number(timeout_) + " s, got nothing; start it (hmor rig) or check address and key.");
}

/// The rig is ours and stands where it says.
void UdpRig::take(const Datagram& answer) noexcept {
  std::copy_n(answer.values.begin(), n_measured(), last_.begin());
  state_ = answer.state;
  owns_ = true;
}

void UdpRig::claim(Clock give_up) {
  const bool answered = ask(message(Datagram::claim), give_up, [&](const Datagram& answer, const std::string& where) {
    if (answer.kind == Datagram::busy && answer.count == 3) throw std::runtime_error(where + busy_words(answer));
    if (answer.kind != Datagram::granted || answer.rig_nonce != out_.rig_nonce || answer.count != n_measured())
      return false;
    take(answer);
    return true;
  });
  if (!answered)
    throw std::runtime_error("Rig at " + host_ + ":" + std::to_string(port_) +
                             " offered a session and then fell silent; look at the rig.");
}

void UdpRig::start() {
  stop();
  socket_.open(host_, port_, false);
  traffic_ = Traffic();
  round_trip_.reset();
  window_.reset();
  answered_ = first_arrived_ = first_sent_ = 0;
  delay_ = drift_ = 0.0;
  state_ = flags_ = 0;
  out_ = Datagram();
  const Clock give_up = now_ns() + static_cast<Clock>(timeout_ * 1e9);
  try {
    out_.loop_nonce = new_nonce();
    if (old()) std::fill(out_.loop_nonce.begin() + nonce_version1, out_.loop_nonce.end(), std::uint8_t{0});
    greet(give_up);
    if (!old()) claim(std::max(give_up, now_ns() + 4 * ask_again_ns));
    out_ = message(Datagram::command);
    out_.count = static_cast<std::uint8_t>(n_command());
    Datagram last_words = message(Datagram::bye);
    last_words.count = 1;
    last_words.values[0] = 1.0;  // to rest
    seal_.write(last_words, wire_);
    goodbye_.watch(socket_, wire_);
  } catch (...) {
    stop();
    throw;
  }
}

void UdpRig::stop() noexcept {
  if (!socket_.is_open()) return;
  Datagram bye = message(Datagram::bye);
  bye.count = 1;
  bye.values[0] = 0.0;  // stay where you are
  bye.sequence = old() ? out_.sequence + 1 : 0;
  bool heard = !owns_;  // no session, nobody to tell
  for (int i = 0; i < releases && !heard; ++i) {
    say(bye);
    heard = old() && i == 2;  // version 1 does not answer: one of three will come through
    for (Clock now = now_ns(), again = now + release_again_ns; !old() && now < again && !heard; now = now_ns()) {
      socket_.wait(again - now);
      Clock arrived = 0;
      for (Verdict verdict; !heard && hear(verdict, arrived);)
        heard = verdict == Verdict::good && in_.kind == Datagram::released && in_.loop_nonce == out_.loop_nonce &&
                in_.rig_nonce == out_.rig_nonce;
    }
  }
  owns_ = false;
  goodbye_.dismiss();
  socket_.close();
}

bool UdpRig::accept(const Datagram& message, Verdict verdict) noexcept {
  ++traffic_.received;
  switch (verdict) {
    case Verdict::good: break;
    case Verdict::forged: ++traffic_.forged; return false;
    default: ++traffic_.damaged; return false;
  }
  const bool answer = message.kind == Datagram::measurement && message.count == n_measured();
  if ((!answer && message.kind != Datagram::notice) || message.loop_nonce != out_.loop_nonce ||
      message.rig_nonce != out_.rig_nonce || message.answers > out_.sequence) {
    ++traffic_.foreign;
    return false;
  }
  if (!window_.newest(message.sequence, message.crc, traffic_)) return false;
  state_ = message.state;
  if (!answer) return false;
  if (message.answers <= answered_) {  // a command is answered once
    ++traffic_.repeated;
    return false;
  }
  return true;
}

void UdpRig::use(const Datagram& measurement, Clock arrived) noexcept {
  answered_ = measurement.answers;
  flags_ = measurement.flags;
  if (answered_ < out_.sequence) ++traffic_.late;
  for (int j = 0; j < n_measured(); ++j) last_[j] = measurement.values[j];
  if (arrived <= 0) return;
  if (out_.sequence - answered_ < remembered) {
    const Clock took = arrived - sent_at_[answered_ % remembered];
    round_trip_.add(took);
    delay_ = 1e-9 * static_cast<double>(took);
  }
  // Unsigned: the rig's clock may say anything.
  const auto here = static_cast<std::uint64_t>(arrived), there = static_cast<std::uint64_t>(measurement.sent_ns);
  if (first_arrived_ == 0) first_arrived_ = here, first_sent_ = there;
  drift_ = 1e-9 * static_cast<double>(static_cast<std::int64_t>((here - first_arrived_) - (there - first_sent_)));
}

int UdpRig::read(double, double* measured, double* age) noexcept {
  int status = socket_.is_open() ? 0 : no_socket;
  for (int i = 0; status == 0 && i < most_reads; ++i) {
    Clock arrived = 0;
    Verdict verdict;
    if (!hear(verdict, arrived)) break;
    if (accept(in_, verdict)) use(in_, arrived);
  }
  for (int j = 0; j < n_measured(); ++j) measured[j] = last_[j];
  *age = static_cast<double>(out_.sequence - answered_);
  if (status != 0) return status;
  if (state_ >= static_cast<std::uint8_t>(RigState::ramping)) return taken_over;
  return (flags_ & Datagram::refused) != 0 ? refused : 0;
}

int UdpRig::write(double, const double* command) noexcept {
  if (!socket_.is_open()) return no_socket;
  if (old() && !std::all_of(command, command + n_command(), [](double x) { return std::isfinite(x); }))
    return refused;  // a rig of today refuses it by itself; one of version 1 would obey
  ++out_.sequence;
  for (int i = 0; i < n_command(); ++i) out_.values[i] = command[i];
  const Clock now = wall_ns();
  out_.sent_ns = old() ? now : now_ns();
  sent_at_[out_.sequence % remembered] = now;
  if (!say(out_)) {
    ++traffic_.unsent;
    return not_sent;
  }
  ++traffic_.sent;
  return 0;
}

void UdpRig::link(double* report) const noexcept {
  const double told[n_link] = {static_cast<double>(state_),
                               static_cast<double>(traffic_.lost),
                               static_cast<double>(traffic_.repeated),
                               static_cast<double>(traffic_.conflicting),
                               static_cast<double>(traffic_.foreign),
                               static_cast<double>(traffic_.forged + traffic_.damaged),
                               delay_,
                               drift_};
  std::copy_n(told, n_link, report);
}

}  // namespace hmor
