#include "actuators/plugin.hpp"

#include <dlfcn.h>

#include <stdexcept>

#include "../../include/hmor_actuator.h"

namespace hmor {

namespace {

template <typename Function>
void find(void* library, const std::string& path, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr)
    throw std::runtime_error("Plug-in " + path + " must have a function " + name + ", found none; see docs/plugin.md.");
}

}  // namespace

PluginActuator::PluginActuator(const std::string& path, std::string config, int n_command, int n_measured,
                               double period, int hold_after, double lease, double ramp)
    : Actuator(n_command, n_measured),
      path_(path),
      config_(std::move(config)),
      period_(period),
      hold_after_(hold_after),
      lease_(lease),
      ramp_(ramp) {
  library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) throw std::runtime_error("Plug-in " + path + " cannot be opened: " + dlerror() + ".");
  try {
    find(library_, path_, "hmor_actuator_start", start_);
    find(library_, path_, "hmor_actuator_read", read_);
    find(library_, path_, "hmor_actuator_write", write_);
    find(library_, path_, "hmor_actuator_state", state_);
    find(library_, path_, "hmor_actuator_stop", stop_);
  } catch (...) {
    dlclose(library_);
    throw;
  }
}

PluginActuator::~PluginActuator() {
  stop();
  dlclose(library_);
}

void PluginActuator::start() {
  if (started_) return;
  hmor_actuator_info info{};
  info.abi = HMOR_ACTUATOR_ABI;
  info.n_command = n_command();
  info.n_measured = n_measured();
  info.period = period_;
  info.hold_after = hold_after_;
  info.lease = lease_;
  info.ramp = ramp_;
  const int code = start_(config_.c_str(), &info, &handle_);
  info.message[sizeof info.message - 1] = '\0';
  if (code != 0)
    throw std::runtime_error("Plug-in " + path_ + " could not start (code " + std::to_string(code) +
                             "): " + info.message);
  real_time_ = info.real_time == 1;
  watchdog_ = info.watchdog == 1;
  started_ = true;
}

void PluginActuator::stop() noexcept {
  if (started_) stop_(handle_);
  started_ = false;
  handle_ = nullptr;
}

int PluginActuator::read(double t, double* measured, double* age) noexcept {
  return started_ ? read_(handle_, t, measured, age) : -1;
}

int PluginActuator::write(double t, const double* command) noexcept {
  return started_ ? write_(handle_, t, command) : -1;
}

void PluginActuator::link(double* report) const noexcept {
  Actuator::link(report);
  if (started_) report[0] = state_(handle_);
}

}  // namespace hmor
