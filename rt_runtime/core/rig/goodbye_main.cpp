// The watchdog process: waits until the process that started it says that all is well, or is gone; then, and only then,
// sends the goodbye it was given to the rig. Standard input is the line to that process, 3 is the socket of the rig.

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace {

constexpr int line = 0, rig = 3, repeats = 25, pause_ms = 20;

/// Reads exactly n bytes; false at the end of the line.
bool take(unsigned char* bytes, long n) {
  while (n > 0) {
    const long got = read(line, bytes, static_cast<unsigned long>(n));
    if (got <= 0) return false;
    bytes += got;
    n -= got;
  }
  return true;
}

}  // namespace

int main() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) std::signal(number, SIG_IGN);
  unsigned char length[2], message[1000];
  if (!take(length, 2)) return 1;
  const unsigned size = length[0] + 256u * length[1];  // little-endian, as we are
  if (size > sizeof message || !take(message, size)) return 1;

  // Two ways to learn of the end: the line closes, unless a child of that process still holds it; the process ends.
  pollfd ends[2] = {{line, POLLIN, 0}, {static_cast<int>(syscall(SYS_pidfd_open, getppid(), 0)), POLLIN, 0}};
  while (poll(ends, 2, -1) <= 0) {
  }
  unsigned char all_is_well = 0;
  if (ends[0].revents != 0 && read(line, &all_is_well, 1) == 1) return 0;
  for (int i = 0; i < repeats; ++i) {
    if (write(rig, message, size) < 0) {
    }  // the next one may come through
    poll(nullptr, 0, pause_ms);
  }
  return 0;
}
