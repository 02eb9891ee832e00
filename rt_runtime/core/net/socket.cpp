#include "net/socket.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace hmor {

void Socket::open(const std::string& host, int port, bool listen) {
  close();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (port < 0 || port > 65535 || inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
    throw std::runtime_error("Address of a rig must be like 127.0.0.1 with a port below 65536, got " + host + ":" +
                             std::to_string(port) + ".");
  handle_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  const auto* there = reinterpret_cast<const sockaddr*>(&address);
  if (handle_ < 0 || setsockopt(handle_, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) != 0 ||
      (listen ? ::bind(handle_, there, sizeof address) : ::connect(handle_, there, sizeof address)) != 0) {
    const std::string reason = std::strerror(errno);
    close();
    throw std::runtime_error("Socket for " + host + ":" + std::to_string(port) + " cannot be opened: " + reason + ".");
  }
}

void Socket::close() noexcept {
  if (handle_ >= 0) ::close(handle_);
  handle_ = -1;
}

int Socket::port() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (getsockname(handle_, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.sin_port);
}

bool Socket::send(const Wire& wire, const sockaddr_in* to) const noexcept {
  const auto* there = reinterpret_cast<const sockaddr*>(to);
  return ::sendto(handle_, wire.bytes.data(), wire.size, MSG_DONTWAIT | MSG_NOSIGNAL, there, to ? sizeof *to : 0) ==
         static_cast<ssize_t>(wire.size);
}

bool Socket::receive(Wire& wire, std::int64_t& arrived_ns, sockaddr_in* from) const noexcept {
  iovec piece{wire.bytes.data(), wire.bytes.size()};
  alignas(cmsghdr) char control[128];
  msghdr header{};
  header.msg_name = from;
  header.msg_namelen = from ? sizeof *from : 0;
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t size = ::recvmsg(handle_, &header, MSG_DONTWAIT | MSG_TRUNC);  // the true size, also of a longer one
  if (size < 0) return false;
  arrived_ns = 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c))
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
      timespec arrived;
      std::memcpy(&arrived, CMSG_DATA(c), sizeof arrived);
      arrived_ns = static_cast<std::int64_t>(arrived.tv_sec) * 1'000'000'000 + arrived.tv_nsec;
    }
  wire.size = static_cast<std::size_t>(size);
  return true;
}

void Socket::wait(std::int64_t wait_ns) const noexcept {
  const timespec timeout{wait_ns / 1'000'000'000, wait_ns % 1'000'000'000};
  pollfd waiting{handle_, POLLIN, 0};
  ::ppoll(&waiting, 1, &timeout, nullptr);
}

}  // namespace hmor
