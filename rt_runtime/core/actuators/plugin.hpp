#pragma once

#include <string>

#include "net/actuator.hpp"

struct hmor_actuator_info;

namespace hmor {

/// An actuator in a shared library with the five functions of include/hmor_actuator.h.
class PluginActuator final : public Actuator {
 public:
  /// Outside the loop. Opens the library and finds the functions; throws when one is missing. `period` in s. The rest is
  /// what the rig's own watchdog is asked for: hold after so many missing commands, ramp after `lease` s for `ramp` s.
  PluginActuator(const std::string& path, std::string config, int n_command, int n_measured, double period,
                 int hold_after, double lease, double ramp);
  ~PluginActuator() override;

  void start() override;
  void stop() noexcept override;
  int read(double t, double* measured, double* age) noexcept override;
  int write(double t, const double* command) noexcept override;
  void link(double* report) const noexcept override;
  /// Known after the first start: whether the rig stops by itself when commands do not come.
  bool watchdog() const noexcept { return watchdog_; }
  /// Known after the first start.
  bool real_time() const noexcept override { return real_time_; }

 private:
  std::string path_, config_;
  double period_;
  int hold_after_;
  double lease_, ramp_;
  void* library_ = nullptr;
  void* handle_ = nullptr;
  bool started_ = false, real_time_ = false, watchdog_ = false;
  int (*start_)(const char*, ::hmor_actuator_info*, void**) = nullptr;
  int (*read_)(void*, double, double*, double*) = nullptr;
  int (*write_)(void*, double, const double*) = nullptr;
  int (*state_)(void*) = nullptr;
  void (*stop_)(void*) = nullptr;
};

}  // namespace hmor
