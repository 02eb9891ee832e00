#pragma once

#include <cstdint>
#include <vector>

#include "block.hpp"
#include "health.hpp"

namespace hmor {

enum class State : int { idle = 0, checked = 1, armed = 2, running = 3, holding = 4, ramping = 5, tripped = 6 };

/// What a broken rule leads to. Ordered: a later one is worse, and the worst of a tick is done.
enum class Action : int { none = 0, warn = 1, hold = 2, ramp = 3, trip = 4 };

/// What a rule looks at.
enum class Quantity : int {
  value,       ///< u_i
  rate,        ///< (u_i - u_i last tick) / dt
  difference,  ///< u_i - u_j
  unchanged,   ///< ticks in a row in which u_i stayed the same although u_j moved (j < 0: although time passed)
};

/// A rule is broken in a tick when its quantity is not in [lower, upper]; a nan is in no interval. It acts once it has
/// been broken for `ticks` ticks in a row, not before tick `grace`. A rule on the value or rate of a wanted command
/// acts only while that command is followed (state running).
struct Rule {
  Quantity quantity = Quantity::value;
  int signal = 0, other = -1;
  double lower = 0.0, upper = 0.0;
  Action action = Action::trip;
  std::int64_t ticks = 1, grace = 0;
};

/// Where one command may go: lower <= c <= upper, |c_k - c_{k-1}| <= rate dt; `rest` is where it starts and ends.
struct CommandLimit {
  double lower, upper, rate, rest;
};

struct Manners {
  std::int64_t arm_ticks = 0;      ///< ticks without a broken rule before the test begins
  std::int64_t soft_start = 0;     ///< ticks over which the wanted command is faded in
  std::int64_t soft_stop = 1;      ///< least ticks of the way to rest
  std::int64_t trip_ticks = 1;     ///< least ticks of the way to rest after a trip
  std::int64_t hold_limit = 1;     ///< ticks of holding after which the test ramps down
  std::int64_t release = 1;        ///< ticks without a broken rule before a hold ends
  std::int64_t settle = 0;         ///< ticks at rest before the loop ends
  bool trip_holds = false;         ///< after a trip the command stays where it is instead of going to rest
};

/// One change worth keeping: a rule that began to be broken, or a new state.
struct Event {
  std::int64_t tick;
  int rule, action, state;  // rule -1: none, -2: a block is broken, -3: overruns
  double value;
};

/// Watches signals, decides what to do, and is the only one who lets a command through.
///
/// Inputs: wanted commands (n), asked (0 go on, 1 come to rest, 2 trip), watched signals (m). Outputs: commands (n),
/// state, rule that acts (-1 none, -2 a block is broken, -3 overruns), action.
///
///   armed    c = rest                          until `arm_ticks` ticks without a broken rule
///   running  c = rest + s (wanted - rest)      s fades in over `soft_start` ticks, then c = wanted
///   holding  c = last c                        to running when the rules hold again, or ramping after `hold_limit`
///   ramping  c = from + s (rest - from)        then idle
///   tripped  as ramping, or c = last c         never left
///
/// with s = 3 r^2 - 2 r^3, r from 0 to 1. A way to rest takes as long as `rate` needs,
/// T >= 1.5 |from - rest| / (rate dt). Whatever the state, the limits of the command hold in every tick.
class Monitor final : public Block {
 public:
  /// Outside the loop. Indices of rules point into the inputs.
  Monitor(std::vector<CommandLimit> commands, int watched, std::vector<Rule> rules, const Manners& manners, double dt);

  void step(double t, const double* in, double* out) noexcept override;
  void reset() noexcept override;
  void start() override { checked_ = true; }
  void stop() noexcept override { checked_ = false; }
  void attach(Health& health) noexcept override;
  void detach(const Health& health) noexcept override {
    if (health_ == &health) health_ = nullptr;
  }

  static constexpr int by_block = -2, by_overrun = -3;
  State state() const noexcept { return state_; }
  int tripped_by() const noexcept { return ended_by_; }               ///< the rule behind a ramp or trip, -1 for none
  double tripped_value() const noexcept { return ended_value_; }
  std::int64_t tripped_at() const noexcept { return ended_at_; }      ///< -1 for never
  Action ended_with() const noexcept { return ended_with_; }
  const std::vector<Event>& events() const noexcept { return events_; }  ///< the first `n_events` of them are set
  std::int64_t n_events() const noexcept { return n_events_; }
  std::int64_t events_left_out() const noexcept { return events_left_out_; }

 private:
  struct Watch {
    std::int64_t broken = 0, unchanged = 0;
    bool acting = false;
    double value = 0.0;
  };

  void judge(const double* in) noexcept;
  bool broken(const Rule& rule, Watch& watch, const double* in) const noexcept;
  void change_state(const double* in) noexcept;
  void enter(State state) noexcept;
  void begin_way_to_rest(State state, std::int64_t least) noexcept;
  void log(int rule, Action action, double value) noexcept;
  std::int64_t ticks_to_rest(double distance_over_rate, std::int64_t least) const noexcept;
  double wanted(int i, const double* in) const noexcept;

  std::vector<CommandLimit> commands_;
  std::vector<Rule> rules_;
  Manners manners_;
  double dt_;
  std::int64_t way_to_rest_;
  Health* health_ = nullptr;
  bool checked_ = false;

  State state_ = State::idle;
  std::vector<Watch> watches_;
  std::vector<double> last_in_, last_, from_, offset_;  // last_: commands of the last tick
  bool first_ = true, blending_ = false;
  Action worst_ = Action::none;
  int worst_by_ = -1;
  double worst_value_ = 0.0;
  std::int64_t k_ = 0, since_ = 0, clear_ = 0, started_ = 0, way_ = 0;  // since_: ticks in the present state
  int ended_by_ = -1;
  double ended_value_ = 0.0;
  std::int64_t ended_at_ = -1;
  Action ended_with_ = Action::none;
  std::vector<Event> events_;
  std::int64_t n_events_ = 0, events_left_out_ = 0;
};

/// What comes from the host and not from a block, as signals, so that it is recorded and can be replayed.
/// Outputs: asked, late (ticks in a row that missed their deadline), lost (frames the record dropped).
class Host final : public Block {
 public:
  /// Outside the loop.
  Host() : Block(0, 3) {}
  void step(double, const double*, double* out) noexcept override {
    out[0] = health_ ? health_->asked : 0.0;
    out[1] = health_ ? health_->late : 0.0;
    out[2] = health_ ? health_->lost : 0.0;
  }
  void reset() noexcept override {}
  void attach(Health& health) noexcept override { health_ = &health; }
  void detach(const Health& health) noexcept override {
    if (health_ == &health) health_ = nullptr;
  }
  bool external() const noexcept override { return true; }

 private:
  const Health* health_ = nullptr;
};

}  // namespace hmor
