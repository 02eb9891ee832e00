#pragma once

#include <netinet/in.h>

#include <array>
#include <cstddef>
#include <vector>

namespace hmor {

/// Messages between a site and a client of OpenSees' genericClient kind, over a connection or datagrams. Everything here
/// is outside the loop. What has a fixed answer (stiffness, damping, mass) is answered at once, trials are kept.
class SiteChannel {
 public:
  enum Action { set_trial = 3, execute = 4, commit = 5, shutdown = 98, end = 99, most = 128 };

  /// `handle` is a connected or a datagram socket that somebody else closes; with datagrams only those of `client` count.
  /// `idle` in s: how long the client may be silent. `quick`: acknowledge every piece at once, without which every
  /// second small write of the client waits 40 ms.
  SiteChannel(int handle, bool datagrams, const sockaddr_in& client, double idle, bool quick);

  /// Fills `size` bytes; throws std::runtime_error with what happened to the client ("closed the connection").
  void receive(void* bytes, std::size_t size);
  /// Messages have `length` doubles, of which the first 1 + `trial` are meant.
  void set_length(std::size_t length, std::size_t trial);
  /// Answer to an action from now on.
  void set_answer(int action, const std::vector<double>& numbers);
  /// Waits for an action that has no fixed answer and returns it; `trial()` holds the last trial.
  int next();
  /// Sends an answer, padded with zeros.
  void reply(const double* numbers, std::size_t n);

  const std::vector<double>& trial() const noexcept { return trial_; }
  long messages() const noexcept { return messages_; }
  /// Datagrams: the last other client that knocked (one byte) meanwhile; its address is 0.0.0.0 when there was none.
  const sockaddr_in& waiting() const noexcept { return waiting_; }

 private:
  std::size_t receive_some(char* at, std::size_t size, double seconds);
  void send(const std::vector<double>& message);

  int handle_;
  bool datagrams_;
  sockaddr_in client_, waiting_{};
  double idle_;
  bool quick_;
  long messages_ = 0;
  std::vector<double> message_, reply_, trial_;
  std::array<std::vector<double>, most> fixed_;
};

}  // namespace hmor
