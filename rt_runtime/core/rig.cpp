#include "rig.hpp"

#include <poll.h>
#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <limits>

#include "paced.hpp"

namespace hmor {

namespace {
constexpr std::int64_t look_every_ns = 20'000'000;
constexpr std::uint64_t most_ticks_at_once = 10'000;
}  // namespace

Rig::Rig(Loop& loop, std::vector<int> commands, std::vector<int> measured, const std::string& host, int port,
         const std::string& key, const RigFaults& faults)
    : loop_(loop),
      commands_(std::move(commands)),
      measured_(std::move(measured)),
      seal_(key),
      faults_(faults),
      random_(faults.seed),
      stuck_(measured_.size()) {
  if (commands_.empty() || measured_.empty() || commands_.size() > Datagram::most_values ||
      measured_.size() > Datagram::most_values)
    throw std::invalid_argument("a rig has 1 to 16 commands and 1 to 16 measured signals.");
  socket_.open(host, port, true);
  loop_.reset();
}

std::int64_t Rig::serve(double seconds) noexcept {
  const std::int64_t until = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  while (!asked_.load(std::memory_order_relaxed)) {
    const std::int64_t now = now_ns();
    if (now >= until) break;
    std::int64_t wait = std::min(until - now, look_every_ns);
    for (std::size_t i = 0; i < n_waiting_; ++i)
      wait = std::min(wait, std::max<std::int64_t>(waiting_[i].due_ns - now, 0));
    const timespec timeout{0, static_cast<long>(wait)};
    pollfd waiting{socket_.handle(), POLLIN, 0};
    ppoll(&waiting, 1, &timeout, nullptr);
    receive();
    send_due();
  }
  return ticks_;
}

double Rig::silent_for() const noexcept {
  return last_command_ns_ == 0 ? -1.0 : 1e-9 * static_cast<double>(now_ns() - last_command_ns_);
}

void Rig::receive() noexcept {
  Datagram message;
  sockaddr_in from{};
  std::int64_t arrived = 0;
  for (int i = 0; i < UdpRig::most_reads; ++i) {
    const long size = socket_.receive(message, arrived, &from);
    if (size < 0) return;
    ++traffic_.received;
    const Verdict verdict = seal_.judge(message, static_cast<std::size_t>(size));
    if (verdict == Verdict::forged) ++traffic_.forged;
    else if (verdict != Verdict::good) ++traffic_.damaged;
    else if (message.kind == Datagram::hello) welcome(message, from);
    else if (message.kind == Datagram::command) obey(message, from);
    else if (message.kind == Datagram::bye && message.session == session_ && session_ != 0) {
      session_ = 0;
      ++byes_;
    } else ++traffic_.foreign;
  }
}

/// Offers a session; it begins with the first good command in it, so that a replayed hello ends nobody's test.
void Rig::welcome(const Datagram& hello, const sockaddr_in& from) noexcept {
  const std::uint64_t theirs = hello.session & 0xFFFFFFFF00000000u;
  if ((offered_ & 0xFFFFFFFF00000000u) != theirs || offered_ == 0) {
    std::uint32_t own = 0;  // not from the seed of the faults: who can guess it can replay a recorded test
    if (getrandom(&own, sizeof own, 0) != sizeof own) return;
    offered_ = theirs | (own | 1u);
  }
  Datagram reply;
  reply.kind = Datagram::welcome;
  reply.session = offered_;
  reply.count = static_cast<std::uint8_t>(measured_.size());
  reply.values[0] = static_cast<double>(commands_.size());
  for (std::size_t i = 0; i < measured_.size() && i + 1 < reply.values.size(); ++i)
    reply.values[i + 1] = loop_.signal(measured_[i]);
  reply.sent_ns = wall_ns();
  seal_.close(reply);
  socket_.send(reply, &from);
}

void Rig::obey(const Datagram& command, const sockaddr_in& from) noexcept {
  if (command.session != session_ && command.session == offered_ && offered_ != 0) {
    session_ = offered_;
    offered_ = 0;
    window_.reset();
    sequence_ = 0;
    ticks_ = 0;
    ++sessions_;
    loop_.reset();
  }
  if (command.session != session_ || session_ == 0 || command.count != commands_.size()) {
    ++traffic_.foreign;
    return;
  }
  const std::uint64_t before = window_.last();
  if (!window_.newest(command.sequence, traffic_)) return;
  const std::uint64_t steps = std::min(command.sequence - before, most_ticks_at_once);
  loop_.aim(std::numeric_limits<std::int64_t>::max() / 4);
  if (steps > 1) loop_.advance(static_cast<std::int64_t>(steps - 1));  // the lost ones: the last command still holds
  for (std::size_t i = 0; i < commands_.size(); ++i) loop_.signal(commands_[i]) = command.values[i];
  loop_.advance(1);
  ticks_ += static_cast<std::int64_t>(steps);
  last_command_ns_ = now_ns();

  Datagram reply;
  reply.kind = Datagram::measurement;
  reply.session = session_;
  reply.sequence = ++sequence_;
  reply.answers = command.sequence;
  reply.answered_ns = command.sent_ns;
  reply.count = static_cast<std::uint8_t>(measured_.size());
  for (std::size_t i = 0; i < measured_.size(); ++i) {
    if (faults_.stuck_at < 0 || ticks_ <= faults_.stuck_at) stuck_[i] = loop_.signal(measured_[i]);
    reply.values[i] = stuck_[i];
  }
  if (faults_.nan_at >= 0 && ticks_ > faults_.nan_at) reply.values[0] = std::numeric_limits<double>::quiet_NaN();
  answer(reply, from);
}

void Rig::answer(Datagram& message, const sockaddr_in& to) noexcept {
  message.sent_ns = wall_ns();
  seal_.close(message);
  if (happens(faults_.forge)) {  // right in form, wrong in content, as an attacker without the key would make it
    Datagram forged = message;
    forged.sequence += 1'000'000;
    forged.values[0] = 1e6;
    forged.crc = crc32({reinterpret_cast<const std::uint8_t*>(&forged), offsetof(Datagram, crc)});
    socket_.send(forged, &to);
  }
  if (happens(faults_.replay) && old_.sequence != 0) socket_.send(old_, &to);
  if (old_.session != message.session || message.sequence % 100 == 1) old_ = message;
  if (happens(faults_.loss)) return;
  if (happens(faults_.late)) send_later(message, to, faults_.late_ns);
  else if (happens(faults_.reorder)) send_later(message, to, static_cast<std::int64_t>(2.5e9 * loop_.dt()));
  else socket_.send(message, &to);
  if (happens(faults_.repeat)) socket_.send(message, &to);
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
    if (waiting_[i].due_ns <= now) socket_.send(waiting_[i].message, &waiting_[i].to);
    else waiting_[kept++] = waiting_[i];
  }
  n_waiting_ = kept;
}

}  // namespace hmor
