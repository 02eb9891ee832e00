#pragma once

#include <string>

#include "actuator.hpp"

struct hmor_actuator_info;

namespace hmor {

/// An actuator in a shared library with the four functions of include/hmor_actuator.h.
class PluginActuator final : public Actuator {
 public:
  /// Outside the loop. Opens the library and finds the functions; throws when one is missing. `period` in s.
  PluginActuator(const std::string& path, std::string config, int n_command, int n_measured, double period);
  ~PluginActuator() override;

  void start() override;
  void stop() noexcept override;
  int read(double t, double* measured, double* age) noexcept override;
  int write(double t, const double* command) noexcept override;
  /// Known after the first start.
  bool real_time() const noexcept override { return real_time_; }

 private:
  std::string path_, config_;
  double period_;
  void* library_ = nullptr;
  void* handle_ = nullptr;
  bool started_ = false, real_time_ = false;
  int (*start_)(const char*, ::hmor_actuator_info*, void**) = nullptr;
  int (*read_)(void*, double, double*, double*) = nullptr;
  int (*write_)(void*, double, const double*) = nullptr;
  void (*stop_)(void*) = nullptr;
};

}  // namespace hmor
