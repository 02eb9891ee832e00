#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/actuator.hpp"

namespace hmor {

/// The `actuator` element of OpenSees as a specimen: OpenSees listens and steps its model once per tick.
///
/// After the connection eleven 32-bit numbers go out: how many displacements, velocities, accelerations, forces, times
/// are sent (1 0 0 0 0) and come back (1 0 0 1 0), and the length of every message (256 doubles). Each tick: action 10
/// asks for displacement and force, action 3 gives the next displacement; 99 ends. What is answered was computed
/// before the last displacement acted: a tick makes `steps` >= 2 steps with the same displacement, so that displacement
/// and force belong together. It waits for OpenSees, so a paced loop refuses it.
class OpenSeesActuator final : public Actuator {
 public:
  /// Outside the loop. `host` is a dotted address; `timeout` in s of the connection and of every answer.
  OpenSeesActuator(std::string host, int port, double timeout, int steps);
  ~OpenSeesActuator() override { stop(); }

  void start() override;
  void stop() noexcept override;
  int read(double t, double* measured, double* age) noexcept override;
  int write(double t, const double* command) noexcept override;
  bool real_time() const noexcept override { return false; }

 private:
  bool send(double action, double value) noexcept;
  bool ask() noexcept;

  std::string host_;
  int port_;
  double timeout_;
  int steps_;
  int handle_ = -1;
  bool asked_ = false;         // an answer was read in this tick; OpenSees now waits for the displacement
  double last_[2] = {0.0, 0.0};  // displacement and force
  std::vector<double> message_;
};

}  // namespace hmor
