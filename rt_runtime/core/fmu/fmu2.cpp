// FMI 2.0: co-simulation and model exchange.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "fmu/fmu_instance.hpp"

namespace hmor {

namespace {

using Status = int;
using Instance = void*;
using Reference = unsigned int;

/// Outside the loop, or in a step that fails. Keeps what the FMU says of an error.
void keep(void* environment, const char*, Status status, const char*, const char* text, ...) {
  if (status < 2 || environment == nullptr || text == nullptr) return;
  char line[400];
  va_list values;
  va_start(values, text);
  std::vsnprintf(line, sizeof line, text, values);
  va_end(values);
  static_cast<FmuInstance*>(environment)->message_ = line;
}

struct Callbacks {
  void (*logger)(void*, const char*, Status, const char*, const char*, ...) = keep;
  void* (*allocate)(std::size_t, std::size_t) = std::calloc;
  void (*give_back)(void*) = std::free;
  void (*finished)(void*, Status) = nullptr;
  void* environment = nullptr;
};

struct EventInfo {
  int more = 0, terminate = 0, nominals = 0, values = 0, timed = 0;
  double next = 0.0;
};

class Fmu2 : public FmuInstance {
 public:
  Fmu2(const FmuDescription& d, void* library) : d_(d) {
    callbacks_.environment = static_cast<FmuInstance*>(this);
    find(library, d, "fmi2Instantiate", instantiate_);
    find(library, d, "fmi2FreeInstance", free_);
    find(library, d, "fmi2SetupExperiment", setup_);
    find(library, d, "fmi2EnterInitializationMode", enter_);
    find(library, d, "fmi2ExitInitializationMode", exit_);
    find(library, d, "fmi2Terminate", terminate_);
    find(library, d, "fmi2SetReal", set_real_);
    find(library, d, "fmi2GetReal", get_real_);
    if (!d.exchange) find(library, d, "fmi2DoStep", do_step_);
  }

  void begin() override {
    component_ = instantiate_("hmor", d_.exchange ? 0 : 1, d_.token.c_str(), d_.resources.c_str(), &callbacks_, 0, 0);
    if (component_ == nullptr) fail("cannot be instantiated");
    if (!d_.parameters.empty() &&
        set_real_(component_, d_.parameters.data(), d_.parameters.size(), d_.values.data()) > 1)
      fail("does not take its parameters");
    if (setup_(component_, 0, 0.0, 0.0, 0, 0.0) > 1 || enter_(component_) > 1 || exit_(component_) > 1)
      fail("cannot be initialised");
  }
  void end() noexcept override {
    if (component_ == nullptr) return;
    terminate_(component_);
    free_(component_);
    component_ = nullptr;
  }
  int set(const double* u) noexcept override {
    return d_.inputs.empty() ? 0 : set_real_(component_, d_.inputs.data(), d_.inputs.size(), u);
  }
  int advance(double t, double dt) noexcept override { return do_step_(component_, t, dt, 1); }
  int get(double* y) noexcept override { return get_real_(component_, d_.outputs.data(), d_.outputs.size(), y); }

 protected:
  [[noreturn]] void fail(const std::string& how) {
    const std::string said = message_.empty() ? "." : ": " + message_;
    end();
    throw std::runtime_error("The FMU " + how + said);
  }

  FmuDescription d_;
  Instance component_ = nullptr;

 private:
  Callbacks callbacks_;
  Instance (*instantiate_)(const char*, int, const char*, const char*, const Callbacks*, int, int);
  void (*free_)(Instance);
  Status (*setup_)(Instance, int, double, double, int, double);
  Status (*enter_)(Instance);
  Status (*exit_)(Instance);
  Status (*terminate_)(Instance);
  Status (*set_real_)(Instance, const Reference*, std::size_t, const double*);
  Status (*get_real_)(Instance, const Reference*, std::size_t, double*);
  Status (*do_step_)(Instance, double, double, int) = nullptr;
};

/// Classical Runge-Kutta on the derivatives an FMU gives; inputs are held. No state or time events.
class Fmu2Exchange final : public Fmu2 {
 public:
  Fmu2Exchange(const FmuDescription& d, void* library, int substeps)
      : Fmu2(d, library), substeps_(substeps), n_(static_cast<std::size_t>(d.n_states)), x_(n_), trial_(n_), sum_(n_), k_(n_) {
    find(library, d, "fmi2SetTime", set_time_);
    find(library, d, "fmi2SetContinuousStates", set_states_);
    find(library, d, "fmi2GetContinuousStates", get_states_);
    find(library, d, "fmi2GetDerivatives", derivatives_);
    find(library, d, "fmi2NewDiscreteStates", discrete_);
    find(library, d, "fmi2EnterContinuousTimeMode", continuous_);
    find(library, d, "fmi2CompletedIntegratorStep", completed_);
    find(library, d, "fmi2EnterEventMode", event_mode_);
  }
  void begin() override {
    Fmu2::begin();
    if (settle() > 1 || get_states_(component_, x_.data(), n_) > 1) fail("cannot begin its continuous time");
    if (timed_) fail("has events in time, which are not supported");
  }
  int advance(double t, double dt) noexcept override {
    const double h = dt / substeps_;
    int worst = 0;
    for (int s = 0; s < substeps_; ++s) worst = std::max(worst, substep(t + s * h, h));
    int enter = 0, terminate = 0;
    worst = std::max(worst, completed_(component_, 1, &enter, &terminate));
    if (enter != 0 && worst < 2) {
      worst = std::max({worst, event_mode_(component_), settle(), get_states_(component_, x_.data(), n_)});
    }
    return terminate != 0 ? 3 : worst;
  }

 private:
  /// Event iteration until nothing changes, at most a hundred rounds.
  int settle() noexcept {
    EventInfo info;
    info.more = 1;
    int worst = 0;
    for (int i = 0; i < 100 && info.more != 0 && worst < 2; ++i) worst = std::max(worst, discrete_(component_, &info));
    timed_ = info.timed != 0;
    return std::max({worst, info.more != 0 ? 3 : 0, continuous_(component_)});
  }
  int slope(double t, const std::vector<double>& x) noexcept {
    return std::max({set_time_(component_, t), set_states_(component_, x.data(), n_),
                     derivatives_(component_, k_.data(), n_)});
  }
  int substep(double t, double h) noexcept {
    static constexpr double at[4] = {0.0, 0.5, 0.5, 1.0}, weight[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    int worst = 0;
    sum_ = x_;
    trial_ = x_;
    for (int stage = 0; stage < 4; ++stage) {
      if (stage > 0)
        for (std::size_t i = 0; i < n_; ++i) trial_[i] = x_[i] + at[stage] * h * k_[i];
      worst = std::max(worst, slope(t + at[stage] * h, trial_));
      for (std::size_t i = 0; i < n_; ++i) sum_[i] += weight[stage] * h * k_[i];
    }
    x_ = sum_;
    return std::max({worst, set_time_(component_, t + h), set_states_(component_, x_.data(), n_)});
  }

  int substeps_;
  std::size_t n_;
  std::vector<double> x_, trial_, sum_, k_;
  bool timed_ = false;
  Status (*set_time_)(Instance, double);
  Status (*set_states_)(Instance, const double*, std::size_t);
  Status (*get_states_)(Instance, double*, std::size_t);
  Status (*derivatives_)(Instance, double*, std::size_t);
  Status (*discrete_)(Instance, EventInfo*);
  Status (*continuous_)(Instance);
  Status (*completed_)(Instance, int, int*, int*);
  Status (*event_mode_)(Instance);
};

}  // namespace

FmuInstance* open_fmu2(const FmuDescription& d, void* library) { return new Fmu2(d, library); }

FmuInstance* open_fmu2_exchange(const FmuDescription& d, void* library, int substeps) {
  return new Fmu2Exchange(d, library, substeps);
}

}  // namespace hmor
