#include "net/site_channel.hpp"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

namespace hmor {

namespace {
constexpr double message_seconds = 10.0;  // a message that has begun must be whole after so long

std::runtime_error silent(double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "was silent for %g s", seconds);
  return std::runtime_error(text);
}

}  // namespace

SiteChannel::SiteChannel(int handle, bool datagrams, const sockaddr_in& client, double idle, bool quick)
    : handle_(handle), datagrams_(datagrams), client_(client), idle_(idle), quick_(quick) {
  const int on = 1;
  if (!datagrams) setsockopt(handle_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::size_t SiteChannel::receive_some(char* at, std::size_t size, double seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point until = Clock::now() + std::chrono::microseconds(static_cast<long>(1e6 * seconds));
  const int on = 1;
  while (true) {
    if (!datagrams_ && quick_) setsockopt(handle_, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
    sockaddr_in from{};
    socklen_t width = sizeof from;
    ssize_t n = datagrams_ ? ::recvfrom(handle_, at, size, MSG_DONTWAIT | MSG_TRUNC, reinterpret_cast<sockaddr*>(&from), &width)
                           : ::recv(handle_, at, size, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
      if (left <= 0) throw silent(seconds);
      pollfd ready{handle_, POLLIN, 0};
      if (::poll(&ready, 1, static_cast<int>(std::min<long>(left, 1000000))) < 0 && errno != EINTR)
        throw std::runtime_error(std::string("was lost: ") + std::strerror(errno));
      // A datagram socket that was shut down wakes every poll, and has nothing to receive for ever.
      if (datagrams_ && (ready.revents & POLLHUP)) throw std::runtime_error("was closed: the site stops");
      continue;
    }
    if (n < 0) throw std::runtime_error(std::string("was lost: ") + std::strerror(errno));
    if (!datagrams_) return static_cast<std::size_t>(n);
    if (from.sin_family != AF_INET) throw std::runtime_error("was closed: the site stops");  // by shutdown of the socket
    if (from.sin_addr.s_addr != client_.sin_addr.s_addr || from.sin_port != client_.sin_port) {
      if (n == 1 && waiting_.sin_port == 0) waiting_ = from;
      if (Clock::now() < until) continue;
      throw silent(seconds);
    }
    if (static_cast<std::size_t>(n) > size)
      throw std::runtime_error("sent " + std::to_string(n) + " bytes where " + std::to_string(size) + " were due");
    return static_cast<std::size_t>(n);
  }
}

void SiteChannel::receive(void* bytes, std::size_t size) {
  char* at = static_cast<char*>(bytes);
  std::size_t left = size;
  while (left > 0) {
    const std::size_t n = receive_some(at, left, left == size ? idle_ : message_seconds);
    if (n == 0 && !datagrams_)
      throw std::runtime_error(left == size ? "closed the connection" : "was cut off inside a message");
    at += n;
    left -= n;
  }
}

void SiteChannel::set_length(std::size_t length, std::size_t trial) {
  if (trial >= length) throw std::invalid_argument("a trial must fit into a message.");
  message_.assign(length, 0.0);
  reply_.assign(length, 0.0);
  trial_.assign(trial, 0.0);
}

void SiteChannel::set_answer(int action, const std::vector<double>& numbers) {
  if (action < 0 || action >= most || numbers.size() > reply_.size())
    throw std::invalid_argument("an answer must fit into a message.");
  fixed_[static_cast<std::size_t>(action)] = numbers;
  fixed_[static_cast<std::size_t>(action)].resize(reply_.size(), 0.0);
}

int SiteChannel::next() {
  while (true) {
    receive(message_.data(), message_.size() * sizeof(double));
    ++messages_;
    const double action = message_[0];
    if (!(action >= 0.0 && action < static_cast<double>(most))) return -1;
    const int code = static_cast<int>(action);
    if (code == set_trial) {
      std::copy_n(message_.begin() + 1, trial_.size(), trial_.begin());
      for (double value : trial_)
        if (!std::isfinite(value)) throw std::runtime_error("sent a number that is not finite");
    } else if (!fixed_[static_cast<std::size_t>(code)].empty()) {
      send(fixed_[static_cast<std::size_t>(code)]);
    } else if (code != execute) {
      return code;
    }
  }
}

void SiteChannel::reply(const double* numbers, std::size_t n) {
  if (n > reply_.size()) throw std::invalid_argument("an answer must fit into a message.");
  std::fill(std::copy_n(numbers, n, reply_.begin()), reply_.end(), 0.0);
  send(reply_);
}

void SiteChannel::send(const std::vector<double>& message) {
  const char* at = reinterpret_cast<const char*>(message.data());
  std::size_t left = message.size() * sizeof(double);
  const auto* to = datagrams_ ? reinterpret_cast<const sockaddr*>(&client_) : nullptr;
  while (left > 0) {
    const ssize_t n = ::sendto(handle_, at, left, MSG_NOSIGNAL, to, datagrams_ ? sizeof client_ : 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      pollfd ready{handle_, POLLOUT, 0};
      if (::poll(&ready, 1, static_cast<int>(1e3 * message_seconds)) > 0) continue;
    }
    if (n < 0) throw std::runtime_error(std::string("was lost: ") + std::strerror(errno));
    at += n;
    left -= static_cast<std::size_t>(n);
  }
}

}  // namespace hmor
