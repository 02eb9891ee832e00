#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <string>

#include "net/datagram.hpp"

namespace hmor {

/// A UDP socket that never waits in the loop. Outside the loop: `open`, which throws, and destruction.
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
  bool send(const Wire& wire, const sockaddr_in* to = nullptr) const noexcept;
  /// In the loop. False when nothing has come; the time of arrival by the kernel's clock.
  bool receive(Wire& wire, std::int64_t& arrived_ns, sockaddr_in* from = nullptr) const noexcept;
  /// Waits until something has come, or `wait_ns` have passed.
  void wait(std::int64_t wait_ns) const noexcept;

 private:
  int handle_ = -1;
};

}  // namespace hmor
