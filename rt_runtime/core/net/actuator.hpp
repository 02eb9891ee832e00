#pragma once

#include <algorithm>
#include <cmath>

#include "engine/block.hpp"

namespace hmor {

/// Outside the loop. Called now and then while a start waits; what it throws ends the waiting. Null: nothing.
inline void (*between_waits)() = nullptr;

/// What moves the specimen and measures it. Life cycle: start, then read and write once a tick, then stop.
class Actuator {
 public:
  /// Outside the loop.
  Actuator(int n_command, int n_measured) : n_command_(n_command), n_measured_(n_measured) {
    if (n_command < 1 || n_measured < 1)
      throw std::invalid_argument("an actuator must have at least one command and one measured signal.");
  }
  virtual ~Actuator() = default;
  Actuator(const Actuator&) = delete;
  Actuator& operator=(const Actuator&) = delete;

  /// Outside the loop. Opens the actuator; throws std::runtime_error with a sentence when it cannot be had.
  virtual void start() {}
  /// Outside the loop. Closes it; may be called without start.
  virtual void stop() noexcept {}
  /// In the loop. Back to the state right after start, where that can be: an external one goes on.
  virtual void reset() noexcept {}

  /// In the loop. Writes n_measured numbers (the last ones known) and their age in ticks: 0 answers the last command.
  /// Returns 0, or a negative code when the actuator reports an error.
  virtual int read(double t, double* measured, double* age) noexcept = 0;
  /// In the loop. Takes n_command numbers. Returns 0, or a negative code when they could not be sent.
  virtual int write(double t, const double* command) noexcept = 0;

  /// What `link` tells: state of the rig (RigState), answers lost, repeated, conflicting (two rigs), foreign, rejected
  /// (damaged or forged) so far, delay of the last answer in s, drift of the rig's clock against ours in s.
  static constexpr int n_link = 8;
  /// In the loop. Zero where an actuator has no such thing.
  virtual void link(double* report) const noexcept { std::fill_n(report, n_link, 0.0); }

  /// False for an actuator that may wait or allocate in read or write; a paced loop refuses it.
  virtual bool real_time() const noexcept { return true; }
  /// False for an actuator that computes its measurements; a replay runs it again.
  virtual bool external() const noexcept { return true; }

  int n_command() const noexcept { return n_command_; }
  int n_measured() const noexcept { return n_measured_; }

 private:
  int n_command_, n_measured_;
};

/// Reads an actuator. Outputs: measured signals, their age in ticks, status (0, or the negative code of an error).
class Sensor final : public Block {
 public:
  /// Outside the loop. The actuator must outlive the block.
  explicit Sensor(Actuator& actuator) : Block(0, actuator.n_measured() + 2), actuator_(actuator) {}
  void step(double t, const double*, double* out) noexcept override {
    const int n = n_out() - 2;
    out[n + 1] = actuator_.read(t, out, out + n);
  }
  void reset() noexcept override { actuator_.reset(); }
  void start() override { actuator_.start(); }
  void stop() noexcept override { actuator_.stop(); }
  bool real_time() const noexcept override { return actuator_.real_time(); }
  bool external() const noexcept override { return actuator_.external(); }

 private:
  Actuator& actuator_;
};

/// How the connection to an actuator is; behind its sensor in a tick. Outputs: as `Actuator::link`.
class Link final : public Block {
 public:
  /// Outside the loop. The actuator must outlive the block.
  explicit Link(const Actuator& actuator) : Block(0, Actuator::n_link), actuator_(actuator) {}
  void step(double, const double*, double* out) noexcept override { actuator_.link(out); }
  void reset() noexcept override {}
  bool external() const noexcept override { return actuator_.external(); }

 private:
  const Actuator& actuator_;
};

/// Writes to an actuator. Inputs: commands. Output: status (0, or the negative code of an error). A command that is not
/// finite never reaches an external one: blocks behind the monitor may make it, and then the last one holds.
class Drive final : public Block {
 public:
  /// Outside the loop. The actuator must outlive the block; its sensor starts and stops it.
  explicit Drive(Actuator& actuator) : Block(actuator.n_command(), 1), actuator_(actuator) {}
  void step(double t, const double* in, double* out) noexcept override {
    const bool good = std::all_of(in, in + n_in(), [](double x) { return std::isfinite(x); });
    out[0] = good || !actuator_.external() ? actuator_.write(t, in) : not_finite;
  }
  static constexpr int not_finite = -3;  ///< as UdpRig::refused
  void reset() noexcept override {}
  bool real_time() const noexcept override { return actuator_.real_time(); }
  bool external() const noexcept override { return actuator_.external(); }

 private:
  Actuator& actuator_;
};

}  // namespace hmor
