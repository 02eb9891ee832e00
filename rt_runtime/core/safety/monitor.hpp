#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/block.hpp"
#include "engine/health.hpp"

namespace hmor {

enum class State : int { idle = 0, checked = 1, armed = 2, running = 3, holding = 4, ramping = 5, tripped = 6 };

/// What a broken rule leads to. Ordered: a later one is worse, and the worst of a tick is done.
enum class Action : int { none = 0, warn = 1, hold = 2, ramp = 3, trip = 4 };

/// What an operator may ask for.
enum class Order : int { none, arm, start, hold, resume, stop, trip, limit, note, tune };

/// Why an order was not followed.
enum class Refusal : int {
  none,
  state,    ///< not in this state
  broken,   ///< a rule is broken, or the actuator stands out of reach
  arming,   ///< the rules have not held long enough
  wider,    ///< a limit may be widened only before the start, and not beyond the study's
  unknown,  ///< no such order or rule
};

/// What a rule looks at.
enum class Quantity : int {
  value,       ///< u_i
  rate,        ///< (u_i - u_i last tick) / dt, or / elapsed when periods were lost
  difference,  ///< u_i - u_j
  unchanged,   ///< ticks in a row in which u_i stayed the same although u_j moved (j < 0: although time passed)
  acceleration,  ///< change of the rate per s
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

/// Where one command may go: lower <= c <= upper, |dc/dt| <= rate. It ends at `rest`, and starts where input `measured`
/// says that the actuator stands (-1: at rest).
struct CommandLimit {
  double lower, upper, rate, rest;
  int measured = -1;
};

struct StartStop {
  std::int64_t arm_ticks = 0;      ///< ticks without a broken rule before the test begins
  std::int64_t soft_start = 0;     ///< least ticks over which the wanted command is faded in
  std::int64_t soft_stop = 1;      ///< least ticks of the way to rest
  std::int64_t trip_ticks = 1;     ///< least ticks of the way to rest after a trip
  std::int64_t hold_limit = 1;     ///< ticks of holding after which the test ramps down
  std::int64_t release = 1;        ///< ticks without a broken rule before a hold ends
  std::int64_t settle = 0;         ///< ticks at rest before the loop ends
  bool trip_holds = false;         ///< after a trip the command stays where it is instead of going to rest
  bool by_operator = false;        ///< the operator arms and starts the test
  bool hold_stops_clock = false;   ///< the test clock stands still while holding
  std::int64_t brake = 0;          ///< ticks in which a hold and (at most half of it) a soft stop take the speed out of c
};

/// One change worth keeping: a rule that began to be broken, or a new state.
struct Event {
  std::int64_t tick;
  int rule, action, state;  // rule -1: none, -2: a block is broken, -3: overruns, -4: the actuator stands out of reach,
                            // -5: the operator
  double value;
};

/// Watches signals, decides what to do, and is the only one who lets a command through.
///
/// Inputs: wanted commands (n), asked (0 go on, 1 come to rest, 2 trip), elapsed (real time since the last tick in s),
/// order (sequence << 8 | Order) with its three arguments, watched signals (m). Outputs: commands (n), state, rule that
/// acts (-1 none, else as in Event), action, tick of the test clock (-1 before the start).
///
///   checked  c = start                         with an operator: until the order to arm; rules do not act
///   armed    c = start                         until `arm_ticks` ticks without a broken rule, or the order to start
///   running  c = start + s (wanted - start)    s fades in over `soft_start` ticks, then c = wanted;
///            c = h + s (wanted - h)            after a hold
///   holding  c = h                             to running when the rules hold again (and the operator, who held it,
///                                              resumes), or ramping after `hold_limit`
///   ramping  c = h + s (rest - from)           then idle
///   tripped  as ramping, or c = h, with D = 0  never left
///
/// with s = 3 r^2 - 2 r^3, r from 0 to 1. start is the measured position in the first tick, or rest. h brakes: the command
/// keeps the speed v it had, in a trip it stops at once,
///
///   h = from - D (1 - r)^3,   h' = v (1 - r)^2,   D = v T / 3,   from = last c + D,   r = time since / T up to 1
///
/// with T = `brake` ticks, less where `from` would leave the limits. v is the smaller of the last two speeds of c, 0 if they
/// differ in sign: a single spike is no motion. A way of n ticks takes as long as `rate` needs, n >= 1.5 |from - to| / (rate
/// dt), and T <= n / 2 in a soft stop: both together then never ask for more than `rate`.
///
/// Whatever the state, the limits of the command hold in every tick, on the wall and not only in ticks: a tick that comes
/// early (catching up after a stall) has only part of a period,
///
///   p = min(1, credit),   credit <- min(credit + elapsed / dt, 2) - p,   |c_k - c_{k-1}| <= rate p dt
///
/// and every way advances by p instead of one tick. Over any time T on the wall |change| <= rate (T + 2 dt).
///
/// The test clock starts with the state running: the monitor sets `Health::clock` one tick ahead, so that the wanted
/// commands of the first running tick are those of t = 0.
class Monitor final : public Block {
 public:
  /// Outside the loop. Indices of rules point into the inputs.
  Monitor(std::vector<CommandLimit> commands, int watched, std::vector<Rule> rules, const StartStop& manners, double dt);

  void step(double t, const double* in, double* out) noexcept override;
  void reset() noexcept override;
  /// Every rule with two divisions at most, every command with its way and, in the tick it begins, its braking.
  Work work() const noexcept override { return {static_cast<double>(8 * rules_.size() + 56 * commands_.size() + 8)}; }
  void start() override { checked_ = true; }
  void stop() noexcept override { checked_ = false; }
  void attach(Health& health) noexcept override;
  void detach(const Health& health) noexcept override {
    if (health_ == &health) health_ = nullptr;
  }

  static constexpr int host_inputs = 6;  ///< asked, elapsed, order and its arguments
  static constexpr int by_block = -2, by_overrun = -3, by_start = -4, by_operator = -5;
  State state() const noexcept { return state_; }
  int tripped_by() const noexcept { return ended_by_; }               ///< the rule behind a ramp or trip, -1 for none
  double tripped_value() const noexcept { return ended_value_; }
  std::int64_t tripped_at() const noexcept { return ended_at_; }      ///< -1 for never
  Action ended_with() const noexcept { return ended_with_; }
  const std::vector<Event>& events() const noexcept { return events_; }  ///< the first `n_events` of them are set
  std::int64_t n_events() const noexcept { return n_events_.load(std::memory_order_acquire); }
  std::int64_t events_left_out() const noexcept { return events_left_out_; }
  /// From any thread: value of a rule's quantity in the newest tick, its extremes since the test was armed, its limits.
  struct Shown {
    double value, least, most, lower, upper;
    bool acting;
  };
  Shown shown(std::size_t rule) const noexcept;
  std::size_t n_rules() const noexcept { return rules_.size(); }

 private:
  struct Watch {
    double rate = 0.0;
    std::int64_t broken = 0, unchanged = 0;
    bool acting = false;
    double value = 0.0;
  };
  struct Published {
    std::atomic<double> value{0.0}, least{0.0}, most{0.0}, lower{0.0}, upper{0.0};
    std::atomic<bool> acting{false};
  };

  void judge(const double* in) noexcept;
  bool broken(const Rule& rule, Watch& watch, const double* in) const noexcept;
  void change_state(const double* in) noexcept;
  void take_order(const double* in) noexcept;
  Refusal follow(Order order, const double* argument) noexcept;
  Refusal set_limit(const double* argument) noexcept;
  void run(const double* in) noexcept;
  void publish() noexcept;
  void enter(State state) noexcept;
  void begin_way_to_rest(State state, std::int64_t least) noexcept;
  void brake(double ticks) noexcept;
  double braked(int i) const noexcept;
  void log(int rule, Action action, double value) noexcept;
  std::int64_t ticks_to_rest(double distance_over_rate, std::int64_t least) const noexcept;
  double wanted(int i, const double* in) const noexcept;
  void begin(const double* in) noexcept;
  double pace(double elapsed) noexcept;

  std::vector<CommandLimit> commands_;
  std::vector<Rule> rules_, written_;  // written_: the study's, whatever the operator has tightened since
  StartStop manners_;
  double dt_;
  std::int64_t way_to_rest_;
  Health* health_ = nullptr;
  bool checked_ = false;

  State state_ = State::idle;
  std::vector<Watch> watches_;
  std::vector<double> last_in_, last_, start_;  // last_: commands of the last tick
  std::vector<double> speed_, before_;          // of the commands in the last two ticks, per tick
  std::vector<double> from_, over_, braking_;   // where braking ends, its D, its T
  std::vector<Published> published_;
  bool first_ = true, blending_ = false, out_of_reach_ = false;
  bool clock_ = false, fresh_ = true;           // whether the test clock runs, and this is its first tick
  bool held_ = false, stop_ = false, stands_ = false;  // operator: hold, stop; not armed: a trip moves nothing
  Order order_ = Order::none;                   // taken in this tick
  double last_order_ = 0.0;
  Action worst_ = Action::none;
  int worst_by_ = -1;
  double worst_value_ = 0.0;
  std::int64_t k_ = 0, clear_ = 0, way_ = 0, fade_ = 0, blend_ = 0;
  double credit_ = 1.0, now_ = 0.0, end_ = 0.0;        // now_, end_: begin and end of this tick in paced ticks
  double entered_ = 0.0, started_ = 0.0, stopped_ = 0.0;  // when the present state, the fade in, braking began
  int ended_by_ = -1;
  double ended_value_ = 0.0;
  std::int64_t ended_at_ = -1;
  Action ended_with_ = Action::none;
  std::vector<Event> events_;
  std::atomic<std::int64_t> n_events_{0};
  std::int64_t events_left_out_ = 0;
};

/// What comes from the host and not from a block, as signals, so that it is recorded and can be replayed.
/// Outputs: asked, late (ticks in a row that missed their deadline), lost (frames the record dropped), elapsed, order of
/// the operator with its three arguments.
class HostStatus final : public Block {
 public:
  /// Outside the loop.
  HostStatus() : Block(0, 8) {}
  void step(double, const double*, double* out) noexcept override {
    out[0] = health_ ? health_->asked : 0.0;
    out[1] = health_ ? health_->late : 0.0;
    out[2] = health_ ? health_->lost : 0.0;
    out[3] = health_ ? health_->elapsed : 0.0;
    out[4] = health_ ? static_cast<double>(health_->given) : 0.0;
    for (int i = 0; i < 3; ++i) out[5 + i] = health_ ? health_->given_argument[i] : 0.0;
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
