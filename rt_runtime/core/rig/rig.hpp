#pragma once

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "actuators/udp.hpp"
#include "blocks/noise.hpp"
#include "engine/loop.hpp"
#include "rig/watchdog.hpp"

namespace hmor {

/// What a rig simulator does wrong on purpose; fractions of its answers, times in ns, ticks from the start of a
/// session.
struct RigFaults {
  double loss = 0.0, late = 0.0, repeat = 0.0, reorder = 0.0, forge = 0.0, replay = 0.0, twin = 0.0;
  std::int64_t late_ns = 0;
  double creep_ns = 0.0;                    ///< answers come later by this with every tick
  std::int64_t nan_at = -1, stuck_at = -1;  ///< from this tick on; -1 never
  std::uint64_t seed = 0;
};

/// The physical side of a test in a process of its own: a loop (the specimen) stepped by commands that come over UDP.
///
/// Each command sets the loop's command signals and makes it take as many ticks as the commands' sequence advanced, so
/// a lost command costs no time of the specimen; then the measured signals go back. One session at a time owns the rig.
/// When its commands stop coming, the watchdog holds the last one, then ramps to rest on the rig's own clock; likewise
/// when the rig itself did not run for longer than the lease: commands that waited for it are not obeyed then. The
/// specimen stays as it is from session to session, unless `reset` is set.
class Rig {
 public:
  /// Outside the loop. Opens the port (0: any); the loop must outlive the rig. Indices are bus positions. `version` of
  /// the protocol is 1 or 2, and only that one is spoken.
  Rig(Loop& loop, std::vector<int> commands, std::vector<int> measured, const std::string& host, int port,
      const std::string& key, const Patience& patience, bool reset, const RigFaults& faults,
      int version = Datagram::version_now);

  /// Serves for `seconds`, or until `ask_to_stop`. Returns the ticks done so far.
  std::int64_t serve(double seconds) noexcept;
  /// From any thread: `serve` tells the owner and returns.
  void ask_to_stop() noexcept { asked_.store(true, std::memory_order_relaxed); }
  bool asked_to_stop() const noexcept { return asked_.load(std::memory_order_relaxed); }

  int port() const { return socket_.port(); }
  const Traffic& traffic() const noexcept { return traffic_; }
  std::int64_t sessions() const noexcept { return sessions_; }
  /// Sessions that are over: released, or lost.
  std::int64_t byes() const noexcept { return byes_; }
  RigState state() const noexcept { return watchdog_.state(); }

 private:
  struct Waiting {
    std::int64_t due_ns;
    sockaddr_in to;
    Datagram message;
  };

  void receive() noexcept;
  void say(const Datagram& message, const sockaddr_in& to) noexcept;
  void begin(const Datagram& first, const sockaddr_in& from) noexcept;
  void welcome(const Datagram& hello, const sockaddr_in& from) noexcept;
  void grant(const Datagram& claim, const sockaddr_in& from) noexcept;
  void obey(const Datagram& command, const sockaddr_in& from) noexcept;
  void release(const Datagram& bye, const sockaddr_in& from) noexcept;
  void wake(std::int64_t pause) noexcept;
  void say_busy(const Datagram& asker, const sockaddr_in& to) noexcept;
  void watch() noexcept;
  void changed(RigState before) noexcept;
  void ramp(std::int64_t now) noexcept;
  void tell_owner(RigState state) noexcept;
  void answer(const Datagram& message, const sockaddr_in& to) noexcept;
  void send_later(const Datagram& message, const sockaddr_in& to, std::int64_t delay_ns) noexcept;
  void send_due() noexcept;

  Datagram reply(Datagram::Kind kind, const Datagram& to) const noexcept;
  Nonce offer(const Nonce& loop_nonce) const noexcept;
  bool of_owner(const Datagram& message) const noexcept;
  bool happens(double fraction) noexcept { return fraction > 0.0 && random_.uniform() <= fraction; }

  Loop& loop_;
  std::vector<int> commands_, measured_;
  Seal seal_, forger_;  // the second has another key
  Wire wire_;
  bool reset_;
  RigFaults faults_;
  Random random_;
  Socket socket_;
  Blake2s offers_;           // keyed with 256 random bits of this process
  std::uint64_t epoch_ = 1;  // sessions begun and one
  Watchdog watchdog_;
  Window window_;
  Traffic traffic_;
  Nonce loop_nonce_{}, rig_nonce_{};  // of the session
  sockaddr_in owner_{};
  std::uint64_t sequence_ = 0;
  std::int64_t sessions_ = 0, byes_ = 0, ticks_ = 0, last_command_ns_ = 0, ramped_ = 0, awake_ns_ = 0;
  std::vector<double> rest_, from_, stuck_;
  std::array<Waiting, 256> waiting_{};
  std::size_t n_waiting_ = 0;
  Datagram old_;  // an honest answer from before, for replays
  std::atomic<bool> asked_{false};
  bool told_off_ = false;  // the owner knows that it has ended
};

}  // namespace hmor
