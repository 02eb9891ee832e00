#include "blocks/monitor.hpp"

#include <algorithm>
#include <cmath>

namespace hmor {

namespace {

constexpr std::size_t most_events = 1024;

double smooth(std::int64_t k, std::int64_t n) noexcept {
  if (k >= n) return 1.0;
  const double r = static_cast<double>(k) / static_cast<double>(n);
  return r * r * (3.0 - 2.0 * r);
}

}  // namespace

Monitor::Monitor(std::vector<CommandLimit> commands, int watched, std::vector<Rule> rules, const Manners& manners,
                 double dt)
    : Block(static_cast<int>(commands.size()) + 1 + watched, static_cast<int>(commands.size()) + 3,
            static_cast<int>(commands.size()), dt),
      commands_(std::move(commands)),
      rules_(std::move(rules)),
      manners_(manners),
      dt_(dt),
      watches_(rules_.size()),
      last_in_(n_in()),
      last_(commands_.size()),
      from_(commands_.size()),
      offset_(commands_.size()),
      events_(most_events) {
  if (!(dt > 0.0) || watched < 0) throw std::invalid_argument("dt of Monitor must be positive.");
  double farthest = 0.0;
  for (const CommandLimit& c : commands_) {
    if (!(c.lower <= c.rest && c.rest <= c.upper && c.rate > 0.0 && std::isfinite(c.rate) &&
          std::isfinite(c.upper - c.lower)))
      throw std::invalid_argument("limits of a command must be finite with lower <= rest <= upper and a positive rate.");
    farthest = std::max(farthest, std::max(c.upper - c.rest, c.rest - c.lower) / c.rate);
  }
  for (const Rule& rule : rules_)
    if (rule.signal < 0 || rule.signal >= n_in() || rule.other >= n_in() || rule.ticks < 1 ||
        (rule.quantity == Quantity::difference && rule.other < 0))
      throw std::invalid_argument("a rule of Monitor points outside its inputs.");
  // A stop can be worsened once to a trip; both ways may be the longest.
  way_to_rest_ = ticks_to_rest(farthest, manners.soft_stop) + ticks_to_rest(farthest, manners.trip_ticks) +
                 2 * manners.settle + 4;
  reset();
}

std::int64_t Monitor::ticks_to_rest(double distance_over_rate, std::int64_t least) const noexcept {
  return std::max<std::int64_t>({least, 1, static_cast<std::int64_t>(std::ceil(1.5 * distance_over_rate / dt_))});
}

void Monitor::attach(Health& health) noexcept {
  health_ = &health;
  health.guarded = true;
  health.way_to_rest = std::max(health.way_to_rest, way_to_rest_);
}

void Monitor::reset() noexcept {
  for (std::size_t i = 0; i < commands_.size(); ++i) last_[i] = commands_[i].rest;
  for (Watch& watch : watches_) watch = Watch();
  state_ = checked_ ? State::checked : State::idle;
  first_ = true;
  blending_ = false;
  k_ = since_ = clear_ = started_ = way_ = 0;
  ended_by_ = -1;
  ended_at_ = -1;
  ended_with_ = Action::none;
  n_events_ = events_left_out_ = 0;
  if (health_) {
    health_->done = health_->tripped = false;
    health_->state = static_cast<int>(state_);
  }
}

void Monitor::log(int rule, Action action, double value) noexcept {
  if (n_events_ == static_cast<std::int64_t>(events_.size())) {
    ++events_left_out_;
    return;
  }
  events_[n_events_++] = {k_, rule, static_cast<int>(action), static_cast<int>(state_), value};
}

bool Monitor::broken(const Rule& rule, Watch& watch, const double* in) const noexcept {
  const double u = in[rule.signal];
  switch (rule.quantity) {
    case Quantity::value: watch.value = u; break;
    case Quantity::rate: watch.value = first_ ? 0.0 * u : (u - last_in_[rule.signal]) / dt_; break;
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
  worst_ = Action::none;
  worst_by_ = -1;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Rule& rule = rules_[i];
    Watch& watch = watches_[i];
    watch.broken = broken(rule, watch, in) ? watch.broken + 1 : 0;
    // A wanted command that is not followed (the loop is open then, and a controller may wind up) harms nobody.
    const bool idle = rule.signal < n && rule.quantity != Quantity::difference && state_ != State::running && !first_;
    const bool acts = watch.broken >= rule.ticks && k_ >= rule.grace && !idle;
    if (acts && !watch.acting) log(static_cast<int>(i), rule.action, watch.value);
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
  }
}

void Monitor::enter(State state) noexcept {
  state_ = state;
  since_ = clear_ = 0;
}

void Monitor::begin_way_to_rest(State state, std::int64_t least) noexcept {
  enter(state);
  double farthest = 0.0;
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    from_[i] = last_[i];
    farthest = std::max(farthest, std::fabs(last_[i] - commands_[i].rest) / commands_[i].rate);
  }
  way_ = farthest > 0.0 ? ticks_to_rest(farthest, least) : 0;
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
  if (first_) enter(State::armed);
  if (worst_ == Action::trip) {
    begin_way_to_rest(State::tripped, manners_.trip_ticks);
    return;
  }
  if (state_ == State::ramping) return;
  const bool asked = in[commands_.size()] >= 1.0;
  if (asked || worst_ == Action::ramp) {
    if (worst_ != Action::ramp) {
      worst_by_ = -1;
      worst_ = Action::none;
    }
    begin_way_to_rest(State::ramping, manners_.soft_stop);
    return;
  }
  clear_ = worst_ == Action::hold ? 0 : clear_ + 1;
  if (state_ == State::armed) {
    if (clear_ > manners_.arm_ticks) {
      enter(State::running);
      started_ = k_;
    }
  } else if (state_ == State::running) {
    if (worst_ == Action::hold) {
      enter(State::holding);
      log(worst_by_, worst_, worst_value_);
    }
  } else if (state_ == State::holding) {
    if (since_ >= manners_.hold_limit) {
      worst_ = Action::hold;
      begin_way_to_rest(State::ramping, manners_.soft_stop);
    } else if (clear_ >= manners_.release) {
      enter(State::running);
      blending_ = true;  // back without a jump: the distance to the wanted command fades out
      for (std::size_t i = 0; i < commands_.size(); ++i) offset_[i] = last_[i] - wanted(static_cast<int>(i), in);
      log(-1, Action::none, 0.0);
    }
  }
}

/// The wanted command, faded in.
double Monitor::wanted(int i, const double* in) const noexcept {
  const double s = smooth(k_ - started_ + 1, manners_.soft_start);
  return s == 1.0 ? in[i] : commands_[i].rest + s * (in[i] - commands_[i].rest);
}

void Monitor::step(double, const double* in, double* out) noexcept {
  const int n = static_cast<int>(commands_.size());
  judge(in);
  change_state(in);
  if (blending_ && since_ + 1 >= std::max<std::int64_t>(manners_.soft_start, 1)) blending_ = false;
  const double rest_of_blend = blending_ ? 1.0 - smooth(since_ + 1, manners_.soft_start) : 0.0;
  const bool to_rest = state_ == State::ramping || (state_ == State::tripped && !manners_.trip_holds);
  for (int i = 0; i < n; ++i) {
    const CommandLimit& limit = commands_[i];
    double c = last_[i];
    if (state_ == State::running) {
      c = wanted(i, in);
      if (blending_) c += rest_of_blend * offset_[i];
    } else if (to_rest) {
      c = since_ + 1 >= way_ ? limit.rest : from_[i] + smooth(since_ + 1, way_) * (limit.rest - from_[i]);
    }
    const double most = limit.rate * dt_;
    c = std::clamp(c, last_[i] - most, last_[i] + most);
    last_[i] = out[i] = std::clamp(c, limit.lower, limit.upper);
  }
  ++since_;
  if (to_rest || state_ == State::tripped) {
    const std::int64_t way = to_rest ? way_ : 0;
    if (since_ >= way + manners_.settle) {
      if (health_) health_->done = true;
      if (state_ == State::ramping) state_ = State::idle;
    }
  }
  if (health_) {
    health_->tripped = state_ == State::tripped;
    health_->state = static_cast<int>(state_);
  }
  out[n] = static_cast<double>(state_);
  out[n + 1] = static_cast<double>(state_ == State::tripped ? ended_by_ : worst_by_);
  out[n + 2] = static_cast<double>(worst_);
  std::copy(in, in + n_in(), last_in_.begin());
  first_ = false;
  ++k_;
}

}  // namespace hmor
