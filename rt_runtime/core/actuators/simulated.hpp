#pragma once

#include <memory>
#include <vector>

#include "actuator.hpp"
#include "blocks/delay.hpp"
#include "blocks/noise.hpp"
#include "blocks/state_space.hpp"

namespace hmor {

/// Where an actuator stops: the command it follows is held in [lower, upper] and moves by at most rate dt a tick.
struct Reach {
  double lower, upper, rate;
};

/// An actuator that is computed. Per channel, with the plant P (linear, one input, one output, no direct feedthrough):
///
///   u = reach(command),   y = P(delayed u),   measured = round((y + noise) / step) step   (step 0: as it is)
class SimulatedActuator final : public Actuator {
 public:
  /// Outside the loop. a (n, n), b (n, 1), c (1, n) of the discrete plant; one plant per channel, all alike.
  SimulatedActuator(int channels, const Matrix& a, const Matrix& b, const Matrix& c, double delay_ticks, Reach reach,
                    double noise, double quantum, std::uint64_t seed, double period);

  void reset() noexcept override;
  int read(double t, double* measured, double* age) noexcept override;
  int write(double t, const double* command) noexcept override;
  bool external() const noexcept override { return false; }

 private:
  std::vector<std::unique_ptr<StateSpace>> plants_;
  Delay delay_;
  Noise noise_;
  Reach reach_;
  double most_step_, quantum_;
  bool noisy_;
  std::vector<double> last_, delayed_, y_, drawn_;
};

}  // namespace hmor
