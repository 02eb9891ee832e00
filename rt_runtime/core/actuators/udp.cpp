#include "actuators/udp.hpp"

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

bool Socket::send(const Datagram& message, const sockaddr_in* to) const noexcept {
  const auto* there = reinterpret_cast<const sockaddr*>(to);
  return ::sendto(handle_, &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL, there, to ? sizeof *to : 0) ==
         static_cast<ssize_t>(sizeof message);
}

long Socket::receive(Datagram& message, std::int64_t& arrived_ns, sockaddr_in* from) const noexcept {
  iovec piece{&message, sizeof message};
  alignas(cmsghdr) char control[128];
  msghdr header{};
  header.msg_name = from;
  header.msg_namelen = from ? sizeof *from : 0;
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t size = ::recvmsg(handle_, &header, MSG_DONTWAIT | MSG_TRUNC);  // the true size, also of a longer one
  if (size < 0) return -1;
  arrived_ns = 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c))
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
      timespec arrived;
      std::memcpy(&arrived, CMSG_DATA(c), sizeof arrived);
      arrived_ns = static_cast<std::int64_t>(arrived.tv_sec) * 1'000'000'000 + arrived.tv_nsec;
    }
  return static_cast<long>(size);
}

UdpRig::UdpRig(int n_command, int n_measured, std::string host, int port, const std::string& key, double timeout)
    : Actuator(n_command, n_measured),
      host_(std::move(host)),
      port_(port),
      seal_(key),
      timeout_(timeout),
      last_(n_measured, 0.0) {
  if (n_command > Datagram::most_values || n_measured > Datagram::most_values)
    throw std::invalid_argument("a rig has at most 16 commands and 16 measured signals.");
}

void UdpRig::start() {
  socket_.open(host_, port_, false);
  traffic_ = Traffic();
  round_trip_.reset();
  const std::uint64_t own = static_cast<std::uint64_t>(random_bits()) << 32;
  const std::string where = "Rig at " + host_ + ":" + std::to_string(port_);
  Datagram greeting;
  greeting.kind = Datagram::hello;
  greeting.session = own;
  greeting.count = static_cast<std::uint8_t>(n_command());
  greeting.values[0] = n_measured();
  seal_.close(greeting);
  const std::int64_t give_up = wall_ns() + static_cast<std::int64_t>(timeout_ * 1e9);
  while (wall_ns() < give_up) {
    socket_.send(greeting);
    pollfd waiting{socket_.handle(), POLLIN, 0};
    ::poll(&waiting, 1, 50);
    std::int64_t arrived = 0;
    long size = 0;
    while ((size = socket_.receive(in_, arrived)) >= 0) {
      const Verdict verdict = seal_.judge(in_, static_cast<std::size_t>(size));
      if (verdict == Verdict::forged)
        throw std::runtime_error(where + " answered with a signature that does not fit; give both sides the same key.");
      if (verdict == Verdict::other_version)
        throw std::runtime_error(where + " speaks version " + std::to_string(in_.version) + ", this runtime version " +
                                 std::to_string(Datagram::version_now) + "; use the same release on both sides.");
      if (verdict != Verdict::good || in_.kind != Datagram::welcome || (in_.session >> 32) != own >> 32) continue;
      if (in_.count != n_measured() || static_cast<int>(in_.values[0]) != n_command())
        throw std::runtime_error(where + " has " + std::to_string(static_cast<int>(in_.values[0])) + " commands and " +
                                 std::to_string(in_.count) + " measured signals, the loop expects " +
                                 std::to_string(n_command()) + " and " + std::to_string(n_measured()) + ".");
      session_ = in_.session;
      for (int i = 0; i < n_measured(); ++i) last_[i] = i + 1 < Datagram::most_values ? in_.values[i + 1] : 0.0;
      reset();
      return;
    }
  }
  socket_.close();
  throw std::runtime_error(where + " must answer within " + std::to_string(timeout_).substr(0, 5) +
                           " s, got nothing; start it (hmor rig) or check address and key.");
}

void UdpRig::reset() noexcept {
  out_ = Datagram();
  out_.kind = Datagram::command;
  out_.count = static_cast<std::uint8_t>(n_command());
  out_.session = session_;
  answered_ = 0;
  window_.reset();
}

void UdpRig::stop() noexcept {
  if (!socket_.is_open()) return;
  out_.kind = Datagram::bye;
  ++out_.sequence;
  seal_.close(out_);
  for (int i = 0; i < 3; ++i) socket_.send(out_);  // one of them will come through
  socket_.close();
}

bool UdpRig::accept(const Datagram& message, std::size_t size) noexcept {
  ++traffic_.received;
  switch (seal_.judge(message, size)) {
    case Verdict::good: break;
    case Verdict::forged: ++traffic_.forged; return false;
    default: ++traffic_.damaged; return false;
  }
  if (message.session != session_ || message.kind != Datagram::measurement || message.count != n_measured()) {
    ++traffic_.foreign;
    return false;
  }
  return window_.newest(message.sequence, traffic_);
}

int UdpRig::read(double, double* measured, double* age) noexcept {
  int status = socket_.is_open() ? 0 : no_socket;
  for (int i = 0; status == 0 && i < most_reads; ++i) {
    std::int64_t arrived = 0;
    const long size = socket_.receive(in_, arrived);
    if (size < 0) break;
    if (!accept(in_, static_cast<std::size_t>(size))) continue;
    if (in_.answers > answered_ && in_.answers <= out_.sequence) answered_ = in_.answers;
    if (arrived > 0) round_trip_.add(arrived - in_.answered_ns);
    if (in_.answers < out_.sequence) ++traffic_.late;
    for (int j = 0; j < n_measured(); ++j) last_[j] = in_.values[j];
  }
  for (int j = 0; j < n_measured(); ++j) measured[j] = last_[j];
  *age = static_cast<double>(out_.sequence - answered_);
  return status;
}

int UdpRig::write(double, const double* command) noexcept {
  if (!socket_.is_open()) return no_socket;
  ++out_.sequence;
  for (int i = 0; i < n_command(); ++i) out_.values[i] = command[i];
  out_.sent_ns = wall_ns();
  seal_.close(out_);
  if (!socket_.send(out_)) {
    ++traffic_.unsent;
    return not_sent;
  }
  ++traffic_.sent;
  return 0;
}

}  // namespace hmor
