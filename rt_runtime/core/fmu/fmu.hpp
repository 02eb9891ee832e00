#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/block.hpp"

namespace hmor {

/// What a binary of a Functional Mock-up Unit is and which of its variables are used.
struct FmuDescription {
  std::string library;     // path of the shared library
  std::string token;       // guid (FMI 2) or instantiation token (FMI 3)
  std::string resources;   // FMI 2: URI, FMI 3: path
  int version = 2;         // 2 or 3
  bool exchange = false;   // model exchange (FMI 2 only), else co-simulation
  bool once = false;       // only one instance per process
  bool real_time = false;  // the user vouches for it
  std::vector<unsigned> inputs, outputs, parameters;
  std::vector<double> values;  // of the parameters
  int n_states = 0;            // model exchange
};

/// How the steps of an FMU lie in the ticks. With y the outputs of the FMU:
///
///   before   out = y(t),          then doStep(t, dt) with the inputs of this tick held
///   after    doStep(t, dt) with the inputs of this tick held, then out = y(t + dt)
///   start    doStep(t - dt, dt) with the inputs read now, then out = y(t); the first tick makes no step
///
/// Model exchange: RK4 with `substeps` steps per tick and the inputs held; "before" puts out y(t, x, u) of this tick.
enum class FmuTiming { before, after, start };

class FmuInstance;

/// A Functional Mock-up Unit as a block: set, doStep, get through the functions of its library.
class Fmu final : public Block {
 public:
  /// Outside the loop. Opens the library, makes and initialises an instance; throws std::runtime_error with a sentence.
  Fmu(const FmuDescription& description, FmuTiming timing, int substeps, double dt);
  ~Fmu() override;

  void step(double t, const double* in, double* out) noexcept override;
  /// Outside the ticks: a new instance, unless the present one has not made a step.
  void reset() noexcept override;
  bool real_time() const noexcept override { return real_time_; }

  /// Outside the loop. What the FMU said last, for the sentence on a fault.
  std::string message() const;

 private:
  FmuInstance* instance_;
  FmuTiming timing_;
  bool real_time_;
  bool fresh_ = true;
  std::int64_t steps_ = 0;
};

}  // namespace hmor
