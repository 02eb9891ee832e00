#pragma once

#include <sys/types.h>

#include <string>

#include "net/socket.hpp"

namespace hmor {

/// A small process that outlives ours and says goodbye to the rig when ours dies without (SIGKILL, out of memory).
///
/// It shares the socket and gets one message, signed beforehand; it has no key and no other job. The program is
/// net/goodbye_main.cpp.
class Goodbye {
 public:
  /// Outside the loop. `program` is its path; empty: none is started.
  explicit Goodbye(std::string program) : program_(std::move(program)) {}
  ~Goodbye() { dismiss(); }
  Goodbye(const Goodbye&) = delete;
  Goodbye& operator=(const Goodbye&) = delete;

  /// Outside the loop. Starts it with the message to send; throws when it cannot be started.
  void watch(const Socket& socket, const Wire& message);
  /// Outside the loop. All is well: it ends without a word.
  void dismiss() noexcept;
  /// Its process, or -1.
  pid_t process() const noexcept { return process_; }

 private:
  std::string program_;
  int line_ = -1;  // it notices when the kernel closes this
  pid_t process_ = -1;
};

}  // namespace hmor
