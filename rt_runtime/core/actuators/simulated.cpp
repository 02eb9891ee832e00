#include "actuators/simulated.hpp"

#include <cmath>

namespace hmor {

SimulatedActuator::SimulatedActuator(int channels, const Matrix& a, const Matrix& b, const Matrix& c,
                                     double delay_ticks, Reach reach, double noise, double quantum, std::uint64_t seed,
                                     double period)
    : Actuator(channels, channels),
      delay_(delay_ticks, std::vector<double>(channels, 0.0)),
      noise_(std::vector<double>(channels, noise), seed),
      reach_(reach),
      most_step_(reach.rate * period),
      quantum_(quantum),
      noisy_(noise > 0.0),
      last_(channels),
      delayed_(channels),
      y_(channels),
      drawn_(channels) {
  if (!(reach.lower <= 0.0 && reach.upper >= 0.0 && reach.rate > 0.0) || !(quantum >= 0.0) || !(noise >= 0.0))
    throw std::invalid_argument("reach, noise and quantum of SimulatedActuator do not make sense.");
  plants_.reserve(channels);
  for (int i = 0; i < channels; ++i)
    plants_.push_back(std::make_unique<StateSpace>(a, b, c, Matrix(1, 1), Matrix(a.rows(), 1),
                                                   std::vector<double>(a.rows(), 0.0), period, Update::start));
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
}

int SimulatedActuator::read(double t, double* measured, double* age) noexcept {
  if (noisy_) noise_.step(t, nullptr, drawn_.data());
  for (int i = 0; i < n_measured(); ++i) {
    const double y = noisy_ ? y_[i] + drawn_[i] : y_[i];
    measured[i] = quantum_ > 0.0 ? std::nearbyint(y / quantum_) * quantum_ : y;
  }
  *age = 0.0;
  return 0;
}

int SimulatedActuator::write(double t, const double* command) noexcept {
  for (int i = 0; i < n_command(); ++i) {
    const double moved = std::clamp(command[i], last_[i] - most_step_, last_[i] + most_step_);
    last_[i] = std::clamp(moved, reach_.lower, reach_.upper);
  }
  delay_.step(t, last_.data(), delayed_.data());
  for (int i = 0; i < n_command(); ++i) plants_[i]->step(t, &delayed_[i], &y_[i]);
  return 0;
}

}  // namespace hmor
