#include "rig/goodbye.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace hmor {

void Goodbye::watch(const Socket& socket, const Wire& message) {
  dismiss();
  if (program_.empty()) return;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error(std::string("The watchdog process cannot be reached: ") + std::strerror(errno) + ".");
  line_ = ends[0];
  // Above the numbers they get in the new process, so that neither is overwritten by the other.
  const int line = ::fcntl(ends[1], F_DUPFD_CLOEXEC, 10), shared = ::fcntl(socket.handle(), F_DUPFD_CLOEXEC, 10);
  ::close(ends[1]);

  // posix_spawn, not fork: a fork would make every page of this process fault once more, in the loop.
  posix_spawn_file_actions_t files;
  posix_spawnattr_t manner;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&manner);
  posix_spawn_file_actions_adddup2(&files, line, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&files, shared, 3);
  posix_spawnattr_setflags(&manner, POSIX_SPAWN_SETSID);  // Ctrl-C and a closed terminal are not for it
  char* const arguments[] = {program_.data(), nullptr};
  char* const environment[] = {nullptr};
  const int code = line < 0 || shared < 0
                       ? EMFILE
                       : ::posix_spawn(&process_, program_.c_str(), &files, &manner, arguments, environment);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&manner);
  if (line >= 0) ::close(line);
  if (shared >= 0) ::close(shared);
  if (code != 0) {
    process_ = -1;
    dismiss();
    throw std::runtime_error("The watchdog process " + program_ + " cannot be started: " + std::strerror(code) +
                             "; install the package again.");
  }
  std::uint8_t bytes[2 + sizeof message.bytes];
  const auto length = static_cast<std::uint16_t>(message.size);
  std::memcpy(bytes, &length, sizeof length);
  std::memcpy(bytes + sizeof length, message.bytes.data(), message.size);
  const auto size = static_cast<ssize_t>(sizeof length + message.size);
  if (::send(line_, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL) != size) {
    dismiss();
    throw std::runtime_error("The watchdog process " + program_ + " ended by itself; install the package again.");
  }
}

void Goodbye::dismiss() noexcept {
  if (line_ >= 0) {
    ::send(line_, "d", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    ::close(line_);
  }
  if (process_ > 0) ::waitpid(process_, nullptr, 0);
  line_ = -1;
  process_ = -1;
}

}  // namespace hmor
