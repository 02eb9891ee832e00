#pragma once

#include <array>
#include <string>
#include <vector>

#include "net/actuator.hpp"
#include "net/datagram.hpp"
#include "engine/histogram.hpp"
#include "rig/goodbye.hpp"
#include "net/socket.hpp"
#include "rig/watchdog.hpp"

namespace hmor {

/// A rig in another process or on another machine, over UDP; commands go out and measurements come back, one datagram
/// each.
///
/// A tick reads what has come since the last one (at most `most_reads` datagrams) and takes the newest good
/// measurement. Lost, late, repeated, reordered, damaged and forged ones are counted and never used. Age: commands sent
/// since the one that the newest measurement answers.
class UdpRig final : public Actuator {
 public:
  /// Outside the loop. `timeout` in s is how long `start` waits for the rig; `goodbye` is the path of the watchdog
  /// process, empty for none; `version` of the protocol is 1 or 2, and only that one is spoken.
  UdpRig(int n_command, int n_measured, std::string host, int port, const std::string& key, double timeout,
         std::string goodbye, int version = Datagram::version_now);
  ~UdpRig() override { stop(); }

  /// Asks for the rig and claims it; throws when there is none, it is busy, or it speaks another version.
  void start() override;
  /// Releases the rig and waits until it has heard (0.2 s at most).
  void stop() noexcept override;
  /// The session goes on: its sequence numbers never start again.
  void reset() noexcept override {}
  int read(double t, double* measured, double* age) noexcept override;
  int write(double t, const double* command) noexcept override;
  void link(double* report) const noexcept override;

  const Traffic& traffic() const noexcept { return traffic_; }
  const Histogram& round_trip() const noexcept { return round_trip_; }
  RigState state() const noexcept { return static_cast<RigState>(state_); }
  pid_t goodbye() const noexcept { return goodbye_.process(); }
  int version() const noexcept { return seal_.version(); }

  static constexpr int most_reads = 64;
  /// Status: no session; the host did not send; the rig did not obey the last command; its watchdog has taken over.
  static constexpr int no_socket = -1, not_sent = -2, refused = -3, taken_over = -4;

 private:
  using Clock = std::int64_t;
  template <typename Judge>
  bool ask(const Datagram& question, Clock give_up, Judge&& judge);
  void greet(Clock give_up);
  void take(const Datagram& answer) noexcept;
  void claim(Clock give_up);
  Datagram message(Datagram::Kind kind) const noexcept;
  bool old() const noexcept { return seal_.version() == 1; }
  bool say(const Datagram& message) noexcept;
  bool hear(Verdict& verdict, Clock& arrived) noexcept;
  [[noreturn]] void refuse(int version) const;
  bool accept(const Datagram& message, Verdict verdict) noexcept;
  void use(const Datagram& measurement, Clock arrived) noexcept;

  static constexpr std::size_t remembered = 1024;  // commands whose time of sending is kept

  std::string host_;
  int port_;
  Seal seal_, old_seal_;  // the second asks whether a silent rig speaks version 1
  double timeout_;
  Socket socket_;
  Goodbye goodbye_;
  Datagram out_, in_;
  Wire wire_;
  bool owns_ = false;  // there is a session
  std::uint64_t answered_ = 0;
  std::uint8_t state_ = 0, flags_ = 0;
  Window window_;
  Traffic traffic_;
  Histogram round_trip_;
  std::vector<double> last_;
  std::array<Clock, remembered> sent_at_{};
  double delay_ = 0.0, drift_ = 0.0;
  std::uint64_t first_arrived_ = 0, first_sent_ = 0;  // of the first answer: our clock, the rig's
};

}  // namespace hmor
