#include "actuators/simulated.hpp"

#include <algorithm>
#include <cmath>

namespace hmor {

namespace {

std::vector<double> deviations(const std::vector<SimulatedChannel>& channels) {
  std::vector<double> found;
  for (const SimulatedChannel& channel : channels) found.push_back(channel.noise);
  return found;
}

}  // namespace

SimulatedActuator::SimulatedActuator(const std::vector<SimulatedChannel>& channels, const Matrix& coupling,
                                     double delay_ticks, std::uint64_t seed, double period)
    : Actuator(static_cast<int>(channels.size()), static_cast<int>(channels.size())),
      channels_(channels),
      coupling_(coupling),
      delay_(delay_ticks, std::vector<double>(channels.size(), 0.0)),
      noise_(deviations(channels), seed),
      period_(period),
      noisy_(false),
      last_(channels.size()),
      delayed_(channels.size()),
      y_(channels.size()),
      coupled_(coupling_.ld()),
      drawn_(channels.size()) {
  if (coupling.rows() != n_command() || coupling.cols() != n_command())
    throw std::invalid_argument("coupling of SimulatedActuator must have a row and a column per channel.");
  for (const SimulatedChannel& each : channels) {
    if (!(each.lower <= 0.0 && each.upper >= 0.0 && each.rate > 0.0 && each.quantum >= 0.0 && each.noise >= 0.0))
      throw std::invalid_argument("limits, noise and quantum of SimulatedActuator do not make sense.");
    noisy_ = noisy_ || each.noise > 0.0;
    plants_.push_back(std::make_unique<StateSpace>(each.a, each.b, each.c, Matrix(1, 1), Matrix(each.a.rows(), 1),
                                                   std::vector<double>(each.a.rows(), 0.0), period, Update::start));
  }
  reset();
}

void SimulatedActuator::reset() noexcept {
  delay_.reset();
  noise_.reset();
  const double nothing = 0.0;
  for (std::size_t i = 0; i < plants_.size(); ++i) {
    plants_[i]->reset();
    plants_[i]->step(0.0, &nothing, &y_[i]);  // the first step of this kind only gives the output
    last_[i] = 0.0;
  }
  multiply(coupling_, y_.data(), coupled_.data());
}

int SimulatedActuator::read(double t, double* measured, double* age) noexcept {
  if (noisy_) noise_.step(t, nullptr, drawn_.data());
  for (int i = 0; i < n_measured(); ++i) {
    const double y = noisy_ ? coupled_[i] + drawn_[i] : coupled_[i];
    const double quantum = channels_[i].quantum;
    measured[i] = quantum > 0.0 ? std::nearbyint(y / quantum) * quantum : y;
  }
  *age = 0.0;
  return 0;
}

int SimulatedActuator::write(double t, const double* command) noexcept {
  for (int i = 0; i < n_command(); ++i) {
    const SimulatedChannel& channel = channels_[i];
    const double most = channel.rate * period_;
    last_[i] = std::clamp(std::clamp(command[i], last_[i] - most, last_[i] + most), channel.lower, channel.upper);
  }
  delay_.step(t, last_.data(), delayed_.data());
  for (int i = 0; i < n_command(); ++i) plants_[i]->step(t, &delayed_[i], &y_[i]);
  multiply(coupling_, y_.data(), coupled_.data());
  return 0;
}

}  // namespace hmor
