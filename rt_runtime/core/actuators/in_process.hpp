#pragma once

#include <limits>
#include <vector>

#include "engine/loop.hpp"
#include "net/actuator.hpp"

namespace hmor {

/// A rig in the same process: a loop that takes one tick per command, for rehearsals without a clock.
class InProcessRig final : public Actuator {
 public:
  /// Outside the loop. Indices on the bus of `loop`, which must outlive this. It is not in the test's own loop.
  InProcessRig(Loop& loop, std::vector<int> commands, std::vector<int> measured)
      : Actuator(static_cast<int>(commands.size()), static_cast<int>(measured.size())),
        loop_(loop),
        commands_(std::move(commands)),
        measured_(std::move(measured)) {
    loop_.reset();
  }
  void reset() noexcept override { loop_.reset(); }
  int read(double, double* measured, double* age) noexcept override {
    for (std::size_t i = 0; i < measured_.size(); ++i) measured[i] = loop_.bus()[measured_[i]];
    *age = 0.0;
    return status_;
  }
  int write(double, const double* command) noexcept override {
    for (std::size_t i = 0; i < commands_.size(); ++i) loop_.signal(commands_[i]) = command[i];
    loop_.aim(std::numeric_limits<std::int64_t>::max() / 4);
    const Stop stop = loop_.advance(1);
    status_ = stop == Stop::running ? 0 : -1;
    return 0;
  }
  bool external() const noexcept override { return false; }

 private:
  Loop& loop_;
  std::vector<int> commands_, measured_;
  int status_ = 0;
};

}  // namespace hmor
