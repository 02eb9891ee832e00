// What an operator asks the monitor for, and what he sees of its rules.

#include "safety/monitor.hpp"

namespace hmor {

/// Looks for a new order, follows it or says why not.
void Monitor::take_order(const double* in) noexcept {
  const double* const word = in + commands_.size() + 2;
  order_ = Order::none;
  if (*word == last_order_ || !(*word >= 0.0 && *word < 9e15)) return;
  last_order_ = *word;
  const auto number = static_cast<std::uint64_t>(*word);
  const auto order = static_cast<Order>(number & 0xff);
  const Refusal refusal = follow(order, word + 1);
  if (refusal == Refusal::none) order_ = order;
  if (health_)
    health_->taken.store((number & ~std::uint64_t{0xff}) | static_cast<std::uint64_t>(refusal), std::memory_order_release);
}

Refusal Monitor::follow(Order order, const double* argument) noexcept {
  const bool armed = state_ == State::armed, running = state_ == State::running, holding = state_ == State::holding;
  const auto legal = [](bool yes) noexcept { return yes ? Refusal::none : Refusal::state; };
  switch (order) {
    case Order::arm:
      if (state_ != State::checked) return Refusal::state;
      return worst_ >= Action::hold ? Refusal::broken : Refusal::none;
    case Order::start:
      if (!armed || !manners_.by_operator || clock_) return Refusal::state;
      return worst_ >= Action::hold ? Refusal::broken : clear_ < manners_.arm_ticks ? Refusal::arming : Refusal::none;
    case Order::hold:
      held_ |= running;
      return legal(running);
    case Order::resume:
      if (!holding || !held_) return Refusal::state;
      held_ = false;
      clear_ = manners_.release;  // at once, unless a rule holds it too
      return Refusal::none;
    case Order::stop:
      stop_ |= armed || running || holding;
      return legal(armed || running || holding);
    case Order::trip:
      if (state_ == State::tripped) return Refusal::state;
      worst_ = Action::trip;
      worst_by_ = by_operator;
      worst_value_ = 0.0;
      return Refusal::none;
    case Order::limit: return set_limit(argument);
    case Order::note:
    case Order::tune: return Refusal::none;
    default: return Refusal::unknown;
  }
}

/// A narrower interval at any time; a wider one only before the start, and never wider than the study's.
Refusal Monitor::set_limit(const double* argument) noexcept {
  if (!(argument[0] >= 0.0 && argument[0] < static_cast<double>(rules_.size()) && argument[1] <= argument[2]))
    return Refusal::unknown;
  const auto i = static_cast<std::size_t>(argument[0]);
  const bool before = state_ == State::checked || state_ == State::armed;
  const Rule& most = before ? written_[i] : rules_[i];
  if (argument[1] < most.lower || argument[2] > most.upper) return Refusal::wider;
  rules_[i].lower = argument[1];
  rules_[i].upper = argument[2];
  published_[i].lower.store(argument[1], std::memory_order_relaxed);
  published_[i].upper.store(argument[2], std::memory_order_relaxed);
  return Refusal::none;
}

/// For a live view in another thread.
void Monitor::publish() noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  const bool begin = first_ || state_ == State::checked || order_ == Order::arm;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Watch& watch = watches_[i];
    Published& p = published_[i];
    p.value.store(watch.value, relaxed);
    if (begin || watch.value < p.least.load(relaxed)) p.least.store(watch.value, relaxed);
    if (begin || watch.value > p.most.load(relaxed)) p.most.store(watch.value, relaxed);
    p.acting.store(watch.acting, relaxed);
  }
}

Monitor::Shown Monitor::shown(std::size_t rule) const noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  const Published& p = published_[rule];
  return {p.value.load(relaxed), p.least.load(relaxed), p.most.load(relaxed),
          p.lower.load(relaxed), p.upper.load(relaxed), p.acting.load(relaxed)};
}

}  // namespace hmor
