#pragma once

#include <limits>
#include <stdexcept>

namespace hmor {

struct Health;

/// The most that one step can cost: floating-point operations (nan: not counted) and iterations (0: none); and which of
/// its outputs says how many iterations a step took (-1: none); its status, 0 when all went well, stands behind.
struct Work {
  double flops = std::numeric_limits<double>::quiet_NaN();
  int iterations = 0;
  int iterations_at = -1;
};

/// The unit a Loop steps: n_in numbers in, n_out numbers out, n_state numbers of memory.
///
/// A block allocates everything in its constructor, where it may also throw. After that it only steps and resets:
/// no allocation, no lock, no exception, no system call, a bounded number of operations.
class Block {
 public:
  /// Outside the loop. `period` is the time between two steps the block was built for, in s; 0 means any.
  Block(int n_in, int n_out, int n_state = 0, double period = 0.0)
      : n_in_(n_in), n_out_(n_out), n_state_(n_state), period_(period) {
    if (n_in < 0 || n_out < 0 || n_state < 0 || !(period >= 0.0))
      throw std::invalid_argument("sizes and period of a block must not be negative.");
  }
  virtual ~Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// In the loop. Reads n_in numbers, writes n_out numbers; `in` and `out` never overlap. `t` in s.
  virtual void step(double t, const double* in, double* out) noexcept = 0;

  /// In the loop. Back to the state right after construction.
  virtual void reset() noexcept = 0;

  /// In the loop. False for a block that enters the interpreter; a paced loop refuses it.
  virtual bool real_time() const noexcept { return true; }

  /// In the loop. True for a block whose outputs come from outside (sensors, clock); a replay puts the record in its
  /// place.
  virtual bool external() const noexcept { return false; }

  /// Outside the loop. Before the first tick; opens what the block needs and throws when it cannot be had.
  virtual void start() {}

  /// Outside the loop. After the last tick, also when `start` of another block failed.
  virtual void stop() noexcept {}

  /// Outside the loop. Called when the block joins a loop; `health` lives as long as the loop.
  virtual void attach(Health&) noexcept {}

  /// Outside the loop. Called when that loop ends its life.
  virtual void detach(const Health&) noexcept {}

  /// Outside the loop. A bound on the work of a step.
  virtual Work work() const noexcept { return {}; }

  /// In the loop. Nonzero after a step that could not be done; the loop stops at this tick.
  int fault() const noexcept { return fault_; }

  int n_in() const noexcept { return n_in_; }
  int n_out() const noexcept { return n_out_; }
  int n_state() const noexcept { return n_state_; }
  double period() const noexcept { return period_; }

 protected:
  int fault_ = 0;

 private:
  int n_in_, n_out_, n_state_;
  double period_;
};

}  // namespace hmor
