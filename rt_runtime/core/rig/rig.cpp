#include "rig/rig.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "net/version1.hpp"
#include "engine/paced.hpp"

namespace hmor {

namespace {

constexpr std::int64_t look_every_ns = 20'000'000;
constexpr std::int64_t most_ticks_at_once = 10'000;

/// 256 random bits as the key of the offers.
Blake2s secret() {
  const Nonce a = new_nonce(), b = new_nonce();
  std::array<std::uint8_t, 32> key;
  std::copy(a.begin(), a.end(), key.begin());
  std::copy(b.begin(), b.end(), key.begin() + a.size());
  return {key, sizeof(Nonce)};
}

}  // namespace

Rig::Rig(Loop& loop, std::vector<int> commands, std::vector<int> measured, const std::string& host, int port,
         const std::string& key, const Patience& patience, bool reset, const RigFaults& faults, int version)
    : loop_(loop),
      commands_(std::move(commands)),
      measured_(std::move(measured)),
      seal_(key, version),
      forger_("some other key, not the right one", version),
      reset_(reset),
      faults_(faults),
      random_(faults.seed),
      offers_(secret()),
      watchdog_(patience),
      from_(commands_.size()),
      stuck_(measured_.size()) {
  if (commands_.empty() || measured_.empty() || commands_.size() > Datagram::most_values ||
      measured_.size() > Datagram::most_values)
    throw std::invalid_argument("a rig has 1 to 32 commands and 1 to 32 measured signals.");
  if (version == 1 && (commands_.size() > most_values_version1 || measured_.size() > most_told_version1))
    throw std::invalid_argument("a rig of protocol version 1 has at most 16 commands and 15 measured signals.");
  socket_.open(host, port, true);
  loop_.reset();
  for (int i : commands_) rest_.push_back(loop_.signal(i));
}

std::int64_t Rig::serve(double seconds) noexcept {
  const std::int64_t until = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  while (!asked_to_stop()) {
    const std::int64_t now = now_ns();
    if (now >= until) break;
    std::int64_t next = std::min({until, now + look_every_ns, watchdog_.due()});
    if (watchdog_.state() == RigState::ramping) next = std::min(next, now + static_cast<std::int64_t>(1e9 * loop_.dt()));
    for (std::size_t i = 0; i < n_waiting_; ++i) next = std::min(next, waiting_[i].due_ns);
    const std::int64_t pause = std::max<std::int64_t>(next - now, 0);
    socket_.wait(pause);
    wake(pause);
    receive();  // before the watchdog looks: what waited while this process slept a moment has come in time
    watch();
    send_due();
  }
  if (asked_to_stop() && watchdog_.owned() && !told_off_) tell_owner(RigState::off), told_off_ = true;
  return ticks_;
}

void Rig::receive() noexcept {
  Datagram message;
  sockaddr_in from{};
  std::int64_t arrived = 0;
  for (int i = 0; i < UdpRig::most_reads; ++i) {
    wake(0);  // the specimen may have taken longer than the lease for the last one, or a stop have come in its midst
    if (!socket_.receive(wire_, arrived, &from)) return;
    ++traffic_.received;
    const Verdict verdict = seal_.read(wire_, message);
    if (verdict == Verdict::other_version && message.version == 1) socket_.send(version1_refusal(), &from);
    switch (verdict) {
      case Verdict::good: break;
      case Verdict::forged: ++traffic_.forged; continue;
      default: ++traffic_.damaged; continue;
    }
    switch (message.kind) {
      case Datagram::hello: welcome(message, from); break;
      case Datagram::claim: grant(message, from); break;
      case Datagram::command: obey(message, from); break;
      case Datagram::bye: release(message, from); break;
      default: ++traffic_.foreign;
    }
  }
}

/// Signs and sends; what this version has no word for is not sent.
void Rig::say(const Datagram& message, const sockaddr_in& to) noexcept {
  seal_.write(message, wire_);
  if (wire_.size > 0) socket_.send(wire_, &to);
}

/// The rig's nonce for a loop's: unpredictable, and another one after every session, so that nothing recorded fits. It
/// is computed, not stored: no flood of hellos can push out the offer of an honest loop.
Nonce Rig::offer(const Nonce& loop_nonce) const noexcept {
  std::array<std::uint8_t, sizeof(Nonce) + sizeof epoch_> asked;
  std::copy(loop_nonce.begin(), loop_nonce.end(), asked.begin());
  std::memcpy(asked.data() + sizeof(Nonce), &epoch_, sizeof epoch_);
  Nonce own;
  std::copy_n(offers_.of(asked).begin(), own.size(), own.begin());
  if (seal_.version() == 1) {  // never zero, which is no session there
    std::fill(own.begin() + nonce_version1, own.end(), std::uint8_t{0});
    if (own == Nonce{}) own[0] = 1;
  }
  return own;
}

bool Rig::of_owner(const Datagram& message) const noexcept {
  return sessions_ > 0 && message.loop_nonce == loop_nonce_ && message.rig_nonce == rig_nonce_;
}

/// An answer, unsigned, with what is measured now.
Datagram Rig::reply(Datagram::Kind kind, const Datagram& to) const noexcept {
  Datagram made;
  made.kind = kind;
  made.loop_nonce = to.loop_nonce;
  made.rig_nonce = to.rig_nonce;
  made.state = static_cast<std::uint8_t>(watchdog_.state());
  made.n_command = static_cast<std::uint8_t>(commands_.size());
  made.n_measured = static_cast<std::uint8_t>(measured_.size());
  made.count = made.n_measured;
  for (std::size_t i = 0; i < measured_.size(); ++i) made.values[i] = loop_.bus()[measured_[i]];
  made.sent_ns = seal_.version() == 1 ? wall_ns() : now_ns();
  return made;
}

void Rig::welcome(const Datagram& hello, const sockaddr_in& from) noexcept {
  if (watchdog_.owned() && hello.loop_nonce == loop_nonce_) return;  // of the owner, overtaken by its own claim
  if (watchdog_.taken()) return say_busy(hello, from);
  Datagram offered = reply(Datagram::welcome, hello);
  offered.rig_nonce = offer(hello.loop_nonce);
  say(offered, from);
}

/// A session with the nonces of its first message.
void Rig::begin(const Datagram& first, const sockaddr_in& from) noexcept {
  ++epoch_;
  ++sessions_;
  loop_nonce_ = first.loop_nonce;
  rig_nonce_ = first.rig_nonce;
  window_.reset();
  sequence_ = 0;
  ticks_ = 0;
  if (reset_) loop_.reset();
  owner_ = from;
  watchdog_.claim(now_ns());
}

void Rig::grant(const Datagram& claim, const sockaddr_in& from) noexcept {
  if (!(of_owner(claim) && watchdog_.owned())) {
    if (watchdog_.taken()) return say_busy(claim, from);
    if (claim.rig_nonce != offer(claim.loop_nonce)) {
      ++traffic_.foreign;
      return;
    }
    begin(claim, from);
  }
  say(reply(Datagram::granted, claim), from);
}

void Rig::say_busy(const Datagram& asker, const sockaddr_in& to) noexcept {
  Datagram busy = reply(Datagram::busy, asker);
  busy.count = 3;
  busy.values[0] = last_command_ns_ == 0 ? 0.0 : 1e-9 * static_cast<double>(now_ns() - last_command_ns_);
  busy.values[1] = ntohl(owner_.sin_addr.s_addr);
  busy.values[2] = ntohs(owner_.sin_port);
  say(busy, to);
}

void Rig::release(const Datagram& bye, const sockaddr_in& from) noexcept {
  if (!of_owner(bye) || bye.count != 1) {
    ++traffic_.foreign;
    return;
  }
  const RigState before = watchdog_.state();
  watchdog_.release(bye.values[0] != 0.0, now_ns());
  changed(before);
  Datagram released = reply(Datagram::released, bye);
  released.count = 0;
  say(released, from);
}

/// Before anything that waited is read: where this process did not look for longer than the lease beside its own pause (it
/// was stopped, or a step of the specimen took as long), nobody held the specimen, so the session is over. The first look
/// of a process finds no session to lose.
void Rig::wake(std::int64_t pause) noexcept {
  const std::int64_t now = now_ns(), slept = now - awake_ns_;
  awake_ns_ = now;
  if (slept <= pause + watchdog_.lease_ns()) return;
  const RigState before = watchdog_.state();
  watchdog_.release(true, now);
  changed(before);
}

void Rig::obey(const Datagram& command, const sockaddr_in& from) noexcept {
  if (seal_.version() == 1 && !watchdog_.taken() && command.rig_nonce == offer(command.loop_nonce))
    begin(command, from);  // version 1 has no claim: the first command is one
  if (!of_owner(command) || command.count != commands_.size()) {
    ++traffic_.foreign;
    return;
  }
  const std::uint64_t before = window_.last();
  if (!window_.newest(command.sequence, command.crc, traffic_)) return;
  const bool finite = std::all_of(command.values.begin(), command.values.begin() + command.count,
                                  [](double x) { return std::isfinite(x); });
  // A command that is not finite is refused: the last good one holds until the watchdog acts.
  const bool obeyed = finite && watchdog_.feed(now_ns());
  if (watchdog_.owned()) {
    const std::int64_t steps = std::min(static_cast<std::int64_t>(command.sequence - before), most_ticks_at_once);
    loop_.aim(std::numeric_limits<std::int64_t>::max() / 4);
    if (steps > 1) loop_.advance(steps - 1);  // the lost ones: the last command still holds
    for (std::size_t i = 0; obeyed && i < commands_.size(); ++i) loop_.signal(commands_[i]) = command.values[i];
    loop_.advance(1);
    ticks_ += steps;
    owner_ = from;
    last_command_ns_ = now_ns();
  }
  if (!obeyed) ++traffic_.refused;
  if (!obeyed && seal_.version() == 1) return;  // silence is the only no that version 1 has

  Datagram measured = reply(Datagram::measurement, command);
  measured.sequence = ++sequence_;
  measured.answers = command.sequence;
  measured.answered_ns = command.sent_ns;
  measured.flags = obeyed ? 0 : Datagram::refused;
  for (std::size_t i = 0; i < measured_.size(); ++i) {
    if (faults_.stuck_at < 0 || ticks_ <= faults_.stuck_at) stuck_[i] = measured.values[i];
    measured.values[i] = stuck_[i];
  }
  if (faults_.nan_at >= 0 && ticks_ > faults_.nan_at) measured.values[0] = std::numeric_limits<double>::quiet_NaN();
  answer(measured, from);
}

/// Follows the watchdog.
void Rig::watch() noexcept {
  const std::int64_t now = now_ns();
  const RigState before = watchdog_.state();
  watchdog_.look(now);
  changed(before);
  if (watchdog_.state() == RigState::ramping || before == RigState::ramping) ramp(now);
}

/// After a possible change of state: counts a session that is over, prepares the way to rest, tells the owner.
void Rig::changed(RigState before) noexcept {
  const RigState state = watchdog_.state();
  if (state == before) return;
  const bool was_owned = before == RigState::live || before == RigState::holding;
  if (was_owned && !watchdog_.owned()) ++byes_;
  if (state == RigState::ramping) {
    ramped_ = 0;
    for (std::size_t i = 0; i < commands_.size(); ++i) from_[i] = loop_.signal(commands_[i]);
  }
  if (state == RigState::holding || state == RigState::ramping || state == RigState::off) tell_owner(state);
}

/// The way to rest, 3 s^2 - 2 s^3, tick by tick on the rig's own clock; when it is over, exactly rest.
void Rig::ramp(std::int64_t now) noexcept {
  const bool over = watchdog_.state() == RigState::off;
  const double ticks = watchdog_.ramp_ns() / (1e9 * loop_.dt());
  const auto passed = static_cast<double>(now - watchdog_.since()) / (1e9 * loop_.dt());
  const auto due = static_cast<std::int64_t>(over ? std::max(ticks, 1.0) : std::min(passed, ticks));
  const std::int64_t until = std::min(due, ramped_ + most_ticks_at_once);
  loop_.aim(std::numeric_limits<std::int64_t>::max() / 4);
  while (ramped_ < until) {
    ++ramped_;
    const double s = ticks > 0.0 ? std::min(static_cast<double>(ramped_) / ticks, 1.0) : 1.0;
    const double left = 1.0 - s * s * (3.0 - 2.0 * s);
    for (std::size_t i = 0; i < commands_.size(); ++i)
      loop_.signal(commands_[i]) = rest_[i] + left * (from_[i] - rest_[i]);
    loop_.advance(1);
  }
  if (over)
    for (std::size_t i = 0; i < commands_.size(); ++i) loop_.signal(commands_[i]) = rest_[i];
}

void Rig::tell_owner(RigState state) noexcept {
  Datagram told;
  told.loop_nonce = loop_nonce_;
  told.rig_nonce = rig_nonce_;
  told = reply(Datagram::notice, told);
  told.state = static_cast<std::uint8_t>(state);
  told.count = 0;
  told.sequence = ++sequence_;
  say(told, owner_);
}

void Rig::answer(const Datagram& message, const sockaddr_in& to) noexcept {
  if (happens(faults_.forge)) {  // right in form, wrong in content, as an attacker without the key would make it
    Datagram forged = message;
    forged.values[0] = 1e6;
    forger_.write(forged, wire_);
    socket_.send(wire_, &to);
  }
  if (happens(faults_.replay) && old_.sequence != 0) say(old_, to);
  if (old_.rig_nonce != message.rig_nonce || message.sequence % 100 == 1) old_ = message;
  if (happens(faults_.loss)) return;
  const auto crept = static_cast<std::int64_t>(faults_.creep_ns * static_cast<double>(ticks_));
  if (happens(faults_.late)) send_later(message, to, faults_.late_ns);
  else if (happens(faults_.reorder)) send_later(message, to, static_cast<std::int64_t>(2.5e9 * loop_.dt()));
  else if (crept > 0) send_later(message, to, crept);
  else say(message, to);
  if (happens(faults_.repeat)) say(message, to);
  if (happens(faults_.twin)) {  // a second rig with the same key and session
    Datagram twin = message;
    twin.values[0] = 0.5 * twin.values[0] + 1e-6;
    say(twin, to);
  }
  ++traffic_.sent;
}

void Rig::send_later(const Datagram& message, const sockaddr_in& to, std::int64_t delay_ns) noexcept {
  if (n_waiting_ == waiting_.size()) return;
  waiting_[n_waiting_++] = {now_ns() + delay_ns, to, message};
}

void Rig::send_due() noexcept {
  const std::int64_t now = now_ns();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n_waiting_; ++i) {
    if (waiting_[i].due_ns <= now) say(waiting_[i].message, waiting_[i].to);
    else waiting_[kept++] = waiting_[i];
  }
  n_waiting_ = kept;
}

}  // namespace hmor
