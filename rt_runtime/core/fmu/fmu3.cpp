// FMI 3.0: co-simulation.
#include <algorithm>
#include <cstdint>

#include "fmu/fmu_instance.hpp"

namespace hmor {

namespace {

using Status = int;
using Instance = void*;
using Reference = std::uint32_t;

void keep(void* environment, Status status, const char*, const char* text) {
  if (status >= 2 && environment != nullptr && text != nullptr) static_cast<FmuInstance*>(environment)->message_ = text;
}

class Fmu3 final : public FmuInstance {
 public:
  Fmu3(const FmuDescription& d, void* library)
      : d_(d), inputs_(d.inputs.begin(), d.inputs.end()), outputs_(d.outputs.begin(), d.outputs.end()),
        parameters_(d.parameters.begin(), d.parameters.end()) {
    find(library, d, "fmi3InstantiateCoSimulation", instantiate_);
    find(library, d, "fmi3FreeInstance", free_);
    find(library, d, "fmi3EnterInitializationMode", enter_);
    find(library, d, "fmi3ExitInitializationMode", exit_);
    find(library, d, "fmi3Terminate", terminate_);
    find(library, d, "fmi3SetFloat64", set_);
    find(library, d, "fmi3GetFloat64", get_);
    find(library, d, "fmi3DoStep", do_step_);
  }
  void begin() override {
    instance_ = instantiate_("hmor", d_.token.c_str(), d_.resources.c_str(), false, false, false, false, nullptr, 0,
                             static_cast<FmuInstance*>(this), keep, nullptr);
    if (instance_ == nullptr) fail("cannot be instantiated");
    if (!parameters_.empty() &&
        set_(instance_, parameters_.data(), parameters_.size(), d_.values.data(), d_.values.size()) > 1)
      fail("does not take its parameters");
    if (enter_(instance_, false, 0.0, 0.0, false, 0.0) > 1 || exit_(instance_) > 1) fail("cannot be initialised");
  }
  void end() noexcept override {
    if (instance_ == nullptr) return;
    terminate_(instance_);
    free_(instance_);
    instance_ = nullptr;
  }
  int set(const double* u) noexcept override {
    return inputs_.empty() ? 0 : set_(instance_, inputs_.data(), inputs_.size(), u, inputs_.size());
  }
  int advance(double t, double dt) noexcept override {
    bool event = false, terminate = false, early = false;
    double reached = 0.0;
    const int status = do_step_(instance_, t, dt, true, &event, &terminate, &early, &reached);
    return terminate || early ? std::max(status, 2) : status;
  }
  int get(double* y) noexcept override { return get_(instance_, outputs_.data(), outputs_.size(), y, outputs_.size()); }

 private:
  [[noreturn]] void fail(const std::string& how) {
    const std::string said = message_.empty() ? "." : ": " + message_;
    end();
    throw std::runtime_error("The FMU " + how + said);
  }

  FmuDescription d_;
  std::vector<Reference> inputs_, outputs_, parameters_;
  Instance instance_ = nullptr;
  Instance (*instantiate_)(const char*, const char*, const char*, bool, bool, bool, bool, const Reference*, std::size_t,
                           void*, void (*)(void*, Status, const char*, const char*), void*);
  void (*free_)(Instance);
  Status (*enter_)(Instance, bool, double, double, bool, double);
  Status (*exit_)(Instance);
  Status (*terminate_)(Instance);
  Status (*set_)(Instance, const Reference*, std::size_t, const double*, std::size_t);
  Status (*get_)(Instance, const Reference*, std::size_t, double*, std::size_t);
  Status (*do_step_)(Instance, double, double, bool, bool*, bool*, bool*, double*);
};

}  // namespace

FmuInstance* open_fmu3(const FmuDescription& d, void* library) { return new Fmu3(d, library); }

}  // namespace hmor
