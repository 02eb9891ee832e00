#include "safety/monitor.hpp"

#include <algorithm>
#include <cmath>

namespace hmor {

namespace {

constexpr std::size_t most_events = 1024;

/// The part of a way of n ticks after k of them.
double smooth(double k, std::int64_t n) noexcept {
  if (k >= static_cast<double>(n)) return 1.0;
  const double r = k / static_cast<double>(n);
  return r * r * (3.0 - 2.0 * r);
}

}  // namespace

Monitor::Monitor(std::vector<CommandLimit> commands, int watched, std::vector<Rule> rules, const StartStop& manners,
                 double dt)
    : Block(static_cast<int>(commands.size()) + host_inputs + watched, static_cast<int>(commands.size()) + 4,
            static_cast<int>(commands.size()), dt),
      commands_(std::move(commands)),
      rules_(std::move(rules)),
      written_(rules_),
      manners_(manners),
      dt_(dt),
      watches_(rules_.size()),
      last_in_(n_in()),
      last_(commands_.size()),
      start_(commands_.size()),
      speed_(commands_.size()),
      before_(commands_.size()),
      from_(commands_.size()),
      over_(commands_.size()),
      braking_(commands_.size()),
      published_(rules_.size()),
      events_(most_events) {
  if (!(dt > 0.0) || watched < 0) throw std::invalid_argument("dt of Monitor must be positive.");
  double farthest = 0.0;
  for (const CommandLimit& c : commands_) {
    if (!(c.lower <= c.rest && c.rest <= c.upper && c.rate > 0.0 && std::isfinite(c.rate) &&
          std::isfinite(c.upper - c.lower)))
      throw std::invalid_argument("limits of a command must be finite with lower <= rest <= upper and a positive rate.");
    if (c.measured >= n_in()) throw std::invalid_argument("a command of Monitor starts outside its inputs.");
    farthest = std::max(farthest, std::max(c.upper - c.rest, c.rest - c.lower) / c.rate);
  }
  for (const Rule& rule : rules_)
    if (rule.signal < 0 || rule.signal >= n_in() || rule.other >= n_in() || rule.ticks < 1 ||
        (rule.quantity == Quantity::difference && rule.other < 0))
      throw std::invalid_argument("a rule of Monitor points outside its inputs.");
  // A stop can be worsened once to a trip; both ways may be the longest.
  way_to_rest_ = ticks_to_rest(farthest, manners.soft_stop) + ticks_to_rest(farthest, manners.trip_ticks) +
                 2 * manners.settle + 12;  // and a few ticks that come early after a stall
  reset();
}

std::int64_t Monitor::ticks_to_rest(double distance_over_rate, std::int64_t least) const noexcept {
  const double ticks = std::ceil(1.5 * distance_over_rate / dt_);
  return std::max<std::int64_t>({least, 1, static_cast<std::int64_t>(ticks < 1e15 ? ticks : 1e15)});  // also nan
}

void Monitor::attach(Health& health) noexcept {
  health_ = &health;
  health.guarded = true;
  health.way_to_rest = std::max(health.way_to_rest, way_to_rest_);
}

void Monitor::reset() noexcept {
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    last_[i] = start_[i] = commands_[i].rest;
    speed_[i] = before_[i] = 0.0;
  }
  for (Watch& watch : watches_) watch = Watch();
  rules_ = written_;  // same size: no allocation
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    published_[i].lower.store(rules_[i].lower, std::memory_order_relaxed);
    published_[i].upper.store(rules_[i].upper, std::memory_order_relaxed);
  }
  state_ = checked_ ? State::checked : State::idle;
  first_ = true;
  blending_ = out_of_reach_ = held_ = stop_ = stands_ = false;
  clock_ = fresh_ = !manners_.by_operator && manners_.arm_ticks == 0;
  order_ = Order::none;
  last_order_ = 0.0;
  k_ = clear_ = way_ = fade_ = blend_ = 0;
  credit_ = 1.0;
  now_ = end_ = entered_ = started_ = stopped_ = 0.0;
  ended_by_ = -1;
  ended_at_ = -1;
  ended_with_ = Action::none;
  n_events_.store(0, std::memory_order_relaxed);
  events_left_out_ = 0;
  if (health_) {
    health_->done = health_->tripped = health_->coming_to_rest = false;
    health_->state = static_cast<int>(state_);
    health_->strayed = 0;
    health_->clock = clock_;
  }
}

void Monitor::log(int rule, Action action, double value) noexcept {
  const std::int64_t n = n_events_.load(std::memory_order_relaxed);
  if (n == static_cast<std::int64_t>(events_.size())) {
    ++events_left_out_;
    return;
  }
  events_[n] = {k_, rule, static_cast<int>(action), static_cast<int>(state_), value};
  n_events_.store(n + 1, std::memory_order_release);  // a live view reads up to here
}

bool Monitor::broken(const Rule& rule, Watch& watch, const double* in) const noexcept {
  const double u = in[rule.signal];
  switch (rule.quantity) {
    case Quantity::value: watch.value = u; break;
    case Quantity::rate:
    case Quantity::acceleration: {
      const double elapsed = in[commands_.size() + 1];
      const double h = elapsed > 1.5 * dt_ ? elapsed : dt_;  // a late wake-up alone is no lost period
      // In the first tick of the test clock its signals jump from their initial values: no rate of theirs.
      const double rate = fresh_ ? watch.rate + 0.0 * u : (u - last_in_[rule.signal]) / h;
      watch.value = rule.quantity == Quantity::rate ? rate : (rate - watch.rate) / h;
      watch.rate = rate;
      break;
    }
    case Quantity::difference: watch.value = u - in[rule.other]; break;
    case Quantity::unchanged: {
      const bool moved = rule.other < 0 || in[rule.other] != last_in_[rule.other];
      if (first_ || u != last_in_[rule.signal]) watch.unchanged = 0;
      else if (moved) ++watch.unchanged;
      watch.value = static_cast<double>(watch.unchanged);
      break;
    }
  }
  return !(watch.value >= rule.lower && watch.value <= rule.upper);
}

/// Finds the worst action of this tick.
void Monitor::judge(const double* in) noexcept {
  const int n = static_cast<int>(commands_.size());
  const bool waiting = manners_.by_operator && (first_ || state_ == State::checked);  // for the order to arm
  worst_ = Action::none;
  worst_by_ = -1;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Rule& rule = rules_[i];
    Watch& watch = watches_[i];
    watch.broken = broken(rule, watch, in) ? watch.broken + 1 : 0;
    // A wanted command that is not followed (the loop is open then, and a controller may wind up) is not watched.
    const bool wanted = rule.signal < n && rule.quantity != Quantity::difference;
    const bool idle = wanted && state_ != State::running && !fresh_;
    const bool acts = watch.broken >= rule.ticks && k_ >= rule.grace && !idle;
    if (acts && !watch.acting && !waiting) log(static_cast<int>(i), rule.action, watch.value);
    watch.acting = acts;
    if (acts && rule.action > worst_) {
      worst_ = rule.action;
      worst_by_ = static_cast<int>(i);
      worst_value_ = watch.value;
    }
  }
  bool finite = true;
  for (int i = 0; i < n; ++i) finite &= std::isfinite(in[i]);
  if ((health_ && health_->broken >= 0) || !finite) {
    worst_ = Action::trip;
    worst_by_ = by_block;
    worst_value_ = health_ ? health_->value : 0.0;
  } else if (in[n] >= 2.0 && worst_ != Action::trip) {
    worst_ = Action::trip;
    worst_by_ = by_overrun;
    worst_value_ = in[n];
  } else if (out_of_reach_) {
    worst_ = Action::trip;
    worst_by_ = by_start;
  }
}

void Monitor::enter(State state) noexcept {
  state_ = state;
  entered_ = now_;
  clear_ = 0;
}

/// The commands begin to brake, over at most `ticks`.
void Monitor::brake(double ticks) noexcept {
  stopped_ = now_;
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    const double a = speed_[i], b = before_[i];
    const double v = a * b > 0.0 ? (std::fabs(a) < std::fabs(b) ? a : b) : 0.0;
    from_[i] = std::clamp(last_[i] + v * ticks / 3.0, commands_[i].lower, commands_[i].upper);
    over_[i] = from_[i] - last_[i];
    braking_[i] = over_[i] != 0.0 ? std::min(ticks, 3.0 * over_[i] / v) : 0.0;
  }
}

/// Where command i is at the end of this tick when it only brakes.
double Monitor::braked(int i) const noexcept {
  const double since = end_ - stopped_;
  if (since >= braking_[i]) return from_[i];
  const double left = 1.0 - since / braking_[i];
  return from_[i] - over_[i] * left * left * left;
}

void Monitor::begin_way_to_rest(State state, std::int64_t least) noexcept {
  enter(state);
  brake(state == State::tripped ? 0.0 : 0.5 * static_cast<double>(std::min(2 * manners_.brake, least)));
  double farthest = 0.0;
  bool moves = false;
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    farthest = std::max(farthest, std::fabs(from_[i] - commands_[i].rest) / commands_[i].rate);
    moves = moves || over_[i] != 0.0;
  }
  way_ = farthest > 0.0 || moves ? ticks_to_rest(farthest, least) : 0;
  ended_by_ = worst_by_;
  ended_value_ = worst_value_;
  ended_at_ = k_;
  ended_with_ = worst_;
  log(worst_by_, worst_, worst_value_);
}

void Monitor::change_state(const double* in) noexcept {
  if (state_ == State::tripped || state_ == State::idle) {
    if (!first_) return;
  }
  if (first_) enter(manners_.by_operator ? State::checked : State::armed);
  const bool asked = in[commands_.size()] >= 1.0 || stop_;
  if (state_ == State::checked) {  // nothing moves, and of the rules only broken blocks and overruns act
    stands_ = order_ != Order::arm;
    if (worst_ == Action::trip && worst_by_ < 0 && worst_by_ != by_start)
      begin_way_to_rest(State::tripped, manners_.trip_ticks);
    else if (asked)
      begin_way_to_rest(State::ramping, manners_.soft_stop);
    else if (order_ == Order::arm)
      enter(State::armed);
    return;
  }
  if (worst_ == Action::trip) {
    begin_way_to_rest(State::tripped, manners_.trip_ticks);
    return;
  }
  if (state_ == State::ramping) return;
  if (asked || worst_ == Action::ramp) {
    if (worst_ != Action::ramp) {
      worst_by_ = stop_ ? by_operator : -1;
      worst_ = Action::none;
    }
    begin_way_to_rest(State::ramping, manners_.soft_stop);
    return;
  }
  clear_ = worst_ == Action::hold ? 0 : clear_ + 1;
  if (state_ == State::armed) {
    if (clock_ && worst_ != Action::hold) {
      run(in);
    } else if (manners_.by_operator) {
      clock_ = order_ == Order::start;
    } else if (now_ - entered_ >= static_cast<double>(manners_.arm_ticks + manners_.hold_limit)) {
      begin_way_to_rest(State::ramping, manners_.soft_stop);  // the rules never held
    } else {
      clock_ = worst_ != Action::hold && clear_ >= manners_.arm_ticks;
    }
  } else if (state_ == State::running) {
    if (worst_ == Action::hold) {
      enter(State::holding);
      brake(static_cast<double>(manners_.brake));
      log(worst_by_, worst_, worst_value_);
    }
  } else if (state_ == State::holding) {
    if (now_ - entered_ >= static_cast<double>(manners_.hold_limit)) {
      worst_ = Action::hold;
      begin_way_to_rest(State::ramping, manners_.soft_stop);
    } else if (clear_ >= manners_.release) {
      enter(State::running);
      blending_ = true;  // back without a jump: from the held command to the wanted one as at the start
      double farthest = 0.0;
      for (std::size_t i = 0; i < commands_.size(); ++i)
        farthest = std::max(farthest, std::fabs(wanted(static_cast<int>(i), in) - from_[i]) / commands_[i].rate);
      blend_ = ticks_to_rest(farthest, manners_.soft_start);
      log(-1, Action::none, 0.0);
    }
  }
}

void Monitor::run(const double* in) noexcept {
  enter(State::running);
  if (manners_.by_operator) log(by_operator, Action::none, 0.0);
  started_ = now_;
  fade_ = manners_.soft_start;
  for (std::size_t i = 0; i < commands_.size(); ++i)
    if (start_[i] != commands_[i].rest)
      fade_ = std::max(fade_, ticks_to_rest(std::fabs(in[i] - start_[i]) / commands_[i].rate, 1));
}

/// The wanted command, faded in.
double Monitor::wanted(int i, const double* in) const noexcept {
  const double s = smooth(end_ - started_, fade_);
  return s == 1.0 ? in[i] : start_[i] + s * (in[i] - start_[i]);
}

/// In the first tick: the command starts where the actuator stands. Out of its limits the test ends before it began.
void Monitor::begin(const double* in) noexcept {
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    const CommandLimit& limit = commands_[i];
    if (limit.measured < 0) continue;
    const double position = in[limit.measured];
    if (!(position >= limit.lower && position <= limit.upper)) {
      out_of_reach_ = true;
      worst_value_ = position;
    }
    if (std::isfinite(position)) last_[i] = start_[i] = std::clamp(position, limit.lower, limit.upper);
  }
}

/// The real time this tick has, in ticks: 1, or less when it comes early.
double Monitor::pace(double elapsed) noexcept {
  credit_ = std::min(credit_ + (elapsed >= 0.0 ? elapsed / dt_ : 1.0), 2.0);
  const double p = std::min(credit_, 1.0);
  credit_ -= p;
  return p;
}

void Monitor::step(double, const double* in, double* out) noexcept {
  const int n = static_cast<int>(commands_.size());
  const double p = pace(in[n + 1]);
  end_ = now_ + p;
  if (first_) begin(in);
  fresh_ = first_ || (clock_ && state_ == State::armed);
  judge(in);
  take_order(in);
  if (held_ && worst_ < Action::hold) {
    worst_ = Action::hold;
    worst_by_ = by_operator;
    worst_value_ = 0.0;
  }
  publish();
  change_state(in);
  const double since = end_ - entered_;
  if (blending_ && since >= static_cast<double>(blend_)) blending_ = false;
  const bool to_rest = !stands_ && (state_ == State::ramping ||
                                    (state_ == State::tripped && !manners_.trip_holds && !out_of_reach_));
  const bool at_end = to_rest && since >= static_cast<double>(way_);
  const double s = to_rest ? smooth(since, way_) : blending_ ? smooth(since, blend_) : 0.0;
  const bool brakes = to_rest || state_ == State::holding;
  bool strays = state_ != State::running, at_rest = true;
  for (int i = 0; i < n; ++i) {
    const CommandLimit& limit = commands_[i];
    double c = last_[i];
    if (state_ == State::running) {
      c = wanted(i, in);
      if (blending_) c = braked(i) + s * (c - braked(i));
    } else if (at_end) {
      c = limit.rest;
    } else if (brakes) {
      c = braked(i);
      if (to_rest) c += s * (limit.rest - from_[i]);
    }
    if (std::isnan(c)) c = last_[i];  // wanted - start may overflow
    const double most = limit.rate * p * dt_;
    c = std::clamp(c, last_[i] - most, last_[i] + most);
    out[i] = std::clamp(c, limit.lower, limit.upper);
    if (p >= 0.5) {  // less is a tick that catches up: what it changes is no speed
      before_[i] = speed_[i];
      speed_[i] = (out[i] - last_[i]) / p;
    }
    last_[i] = out[i];
    strays = strays || out[i] != in[i];
    at_rest = at_rest && (!to_rest || out[i] == limit.rest);
  }
  now_ = end_;
  if (state_ == State::ramping || state_ == State::tripped) {
    const std::int64_t way = to_rest ? way_ : 0;
    if (since >= static_cast<double>(way + manners_.settle) && at_rest) {
      if (health_) health_->done = true;
      if (state_ == State::ramping) state_ = State::idle;
    }
  }
  if (health_) {
    health_->tripped = state_ == State::tripped;
    health_->coming_to_rest = state_ == State::tripped || state_ == State::ramping;
    health_->clock = clock_ && !(manners_.hold_stops_clock && state_ == State::holding);
    health_->strayed += strays ? 1 : 0;
    health_->state = static_cast<int>(state_);
  }
  out[n] = static_cast<double>(state_);
  out[n + 1] = static_cast<double>(state_ == State::tripped ? ended_by_ : worst_by_);
  out[n + 2] = static_cast<double>(worst_);
  out[n + 3] = health_ ? static_cast<double>(health_->test_tick) : -1.0;
  std::copy(in, in + n_in(), last_in_.begin());
  first_ = false;
  ++k_;
}

}  // namespace hmor
