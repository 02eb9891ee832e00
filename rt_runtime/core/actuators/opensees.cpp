#include "actuators/opensees.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

namespace hmor {

namespace {

constexpr std::size_t message_length = 256;
constexpr double set_trial = 3.0, get_force = 10.0, end = 99.0;

bool send_all(int handle, const void* bytes, std::size_t size) noexcept {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t n = ::send(handle, at, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool receive_all(int handle, void* bytes, std::size_t size) noexcept {
  char* at = static_cast<char*>(bytes);
  const int on = 1;
  while (size > 0) {
    setsockopt(handle, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);  // or the other side waits 40 ms
    const ssize_t n = ::recv(handle, at, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

OpenSeesActuator::OpenSeesActuator(std::string host, int port, double timeout, int steps)
    : Actuator(1, 2), host_(std::move(host)), port_(port), timeout_(timeout), steps_(steps), message_(message_length) {}

void OpenSeesActuator::start() {
  if (handle_ >= 0) return;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port_));
  const std::string where = host_ + ":" + std::to_string(port_);
  if (inet_pton(AF_INET, host_.c_str(), &address.sin_addr) != 1)
    throw std::runtime_error("Address of OpenSees must be like 127.0.0.1, got " + host_ + ".");
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_);
  while (true) {  // OpenSees listens from its first step on: it may not be there yet
    handle_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (handle_ >= 0 && ::connect(handle_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) break;
    const std::string reason = std::strerror(errno);
    stop();
    if (std::chrono::steady_clock::now() > until)
      throw std::runtime_error("OpenSees does not listen at " + where + " (" + reason +
                               "); start its model with an actuator element on this port, or give it more time.");
    if (between_waits) between_waits();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const int on = 1;
  timeval limit{};
  limit.tv_sec = static_cast<time_t>(timeout_);
  limit.tv_usec = static_cast<suseconds_t>(1e6 * (timeout_ - std::floor(timeout_)));
  setsockopt(handle_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(handle_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(handle_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const std::int32_t sizes[11] = {1, 0, 0, 0, 0, 1, 0, 0, 1, 0, static_cast<std::int32_t>(message_length)};
  if (!send_all(handle_, sizes, sizeof sizes)) {
    stop();
    throw std::runtime_error("OpenSees at " + where + " closed the connection.");
  }
  asked_ = false;
  last_[0] = last_[1] = 0.0;
}

bool OpenSeesActuator::send(double action, double value) noexcept {
  message_.assign(message_length, 0.0);
  message_[0] = action;
  message_[1] = value;
  return send_all(handle_, message_.data(), message_length * sizeof(double));
}

void OpenSeesActuator::stop() noexcept {
  if (handle_ < 0) return;
  send(end, 0.0);
  ::close(handle_);
  handle_ = -1;
}

/// Displacement and force of OpenSees into `last_`.
bool OpenSeesActuator::ask() noexcept {
  if (handle_ < 0 || !send(get_force, 0.0) || !receive_all(handle_, message_.data(), message_length * sizeof(double)))
    return false;
  last_[0] = message_[0];
  last_[1] = message_[1];
  asked_ = true;
  return true;
}

int OpenSeesActuator::read(double, double* measured, double* age) noexcept {
  *age = 0.0;
  const bool known = asked_ || ask();  // asked once per displacement, however often it is read
  std::copy(last_, last_ + 2, measured);
  return known ? 0 : -1;
}

int OpenSeesActuator::write(double, const double* command) noexcept {
  for (int i = 0; i < steps_; ++i) {
    if (!asked_ && !ask()) return -1;
    if (!send(set_trial, command[0])) return -1;
    asked_ = false;
  }
  return 0;
}

}  // namespace hmor
