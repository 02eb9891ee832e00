#pragma once

#include <netinet/in.h>

#include <string>
#include <vector>

#include "actuator.hpp"
#include "datagram.hpp"
#include "histogram.hpp"

namespace hmor {

/// A UDP socket that never waits in the loop. Outside the loop: construction, which throws, and destruction.
class Socket {
 public:
  Socket() = default;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { close(); }

  /// Outside the loop. `host` is a dotted address.
  void open(const std::string& host, int port, bool listen);
  void close() noexcept;
  bool is_open() const noexcept { return handle_ >= 0; }
  int handle() const noexcept { return handle_; }
  int port() const;

  /// In the loop. False when the host would not take it.
  bool send(const Datagram& message, const sockaddr_in* to = nullptr) const noexcept;
  /// In the loop. Bytes that came, or -1 when there is nothing; the time of arrival by the kernel's clock.
  long receive(Datagram& message, std::int64_t& arrived_ns, sockaddr_in* from = nullptr) const noexcept;

 private:
  int handle_ = -1;
};

/// A rig in another process or on another machine, over UDP; commands go out and measurements come back, one datagram
/// each.
///
/// A tick reads what has come since the last one (at most `most_reads` datagrams) and takes the newest good
/// measurement. Lost, late, repeated, reordered, damaged and forged ones are counted and never used. Age: commands sent
/// since the one that the newest measurement answers.
class UdpRig final : public Actuator {
 public:
  /// Outside the loop. `timeout` in s is how long `start` waits for the rig's welcome.
  UdpRig(int n_command, int n_measured, std::string host, int port, const std::string& key, double timeout);

  void start() override;
  void stop() noexcept override;
  void reset() noexcept override;
  int read(double t, double* measured, double* age) noexcept override;
  int write(double t, const double* command) noexcept override;

  const Traffic& traffic() const noexcept { return traffic_; }
  const Histogram& round_trip() const noexcept { return round_trip_; }

  static constexpr int most_reads = 64;
  static constexpr int no_socket = -1, not_sent = -2;

 private:
  bool accept(const Datagram& message, std::size_t size) noexcept;

  std::string host_;
  int port_;
  Seal seal_;
  double timeout_;
  Socket socket_;
  Datagram out_, in_;
  std::uint64_t session_ = 0, answered_ = 0;
  Window window_;
  Traffic traffic_;
  Histogram round_trip_;
  std::vector<double> last_;
};

}  // namespace hmor
