#pragma once

#include <memory>
#include <vector>

#include "net/actuator.hpp"
#include "blocks/delay.hpp"
#include "blocks/noise.hpp"
#include "blocks/state_space.hpp"

namespace hmor {

/// One channel of a simulated actuator: a (n, n), b (n, 1), c (1, n) of the discrete plant; where the command it follows
/// is held, [lower, upper] with at most rate dt a tick; standard deviation and resolution of its sensor.
struct SimulatedChannel {
  Matrix a, b, c;
  double lower, upper, rate;
  double noise, quantum;
};

/// An actuator that is computed. Per channel, with the plant P (linear, one input, one output, no direct feedthrough):
///
///   u = limited command,   y = G P(delayed u),   measured = round((y + noise) / quantum) quantum   (quantum 0: as it is)
///
/// G (channels, channels) couples the channels, for example through the frame that carries them.
class SimulatedActuator final : public Actuator {
 public:
  /// Outside the loop.
  SimulatedActuator(const std::vector<SimulatedChannel>& channels, const Matrix& coupling, double delay_ticks,
                    std::uint64_t seed, double period);

  void reset() noexcept override;
  int read(double t, double* measured, double* age) noexcept override;
  int write(double t, const double* command) noexcept override;
  bool external() const noexcept override { return false; }

 private:
  std::vector<SimulatedChannel> channels_;
  std::vector<std::unique_ptr<StateSpace>> plants_;
  Matrix coupling_;
  Delay delay_;
  Noise noise_;
  double period_;
  bool noisy_;
  std::vector<double> last_, delayed_, y_, coupled_, drawn_;
};

}  // namespace hmor
