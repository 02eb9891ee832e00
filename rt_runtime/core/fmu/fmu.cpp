#include "fmu/fmu.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <set>

#include "fmu/fmu_instance.hpp"

namespace hmor {

void* fmu_function(void* library, const std::string& path, const std::string& name) {
  void* found = dlsym(library, name.c_str());
  if (found == nullptr)
    throw std::runtime_error("Binary " + path + " of the FMU must have a function " + name + ", found none.");
  return found;
}

namespace {

/// Owns the library and, for an FMU that exists once per process, the right to it. The library stays open: its own
/// threads and exit handlers may still run.
class Opened final : public FmuInstance {
 public:
  Opened(const FmuDescription& d, int substeps) : once_(d.once ? d.library : "") {
    claim();
    try {
      void* library = dlopen(d.library.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) {
        const char* why = dlerror();
        throw std::runtime_error("Binary of the FMU cannot be opened: " + std::string(why ? why : "no reason") + ".");
      }
      inner_.reset(d.version == 3 ? open_fmu3(d, library)
                   : d.exchange   ? open_fmu2_exchange(d, library, substeps)
                                  : open_fmu2(d, library));
      inner_->begin();
    } catch (...) {
      give_back();
      throw;
    }
  }
  ~Opened() override {
    if (inner_) inner_->end();
    give_back();
  }
  void begin() override { inner_->begin(); }
  void end() noexcept override { inner_->end(); }
  int set(const double* u) noexcept override { return inner_->set(u); }
  int advance(double t, double dt) noexcept override { return inner_->advance(t, dt); }
  int get(double* y) noexcept override { return inner_->get(y); }
  const std::string& said() const noexcept { return inner_->message(); }

 private:
  static std::mutex& lock() {
    static std::mutex mutex;
    return mutex;
  }
  static std::set<std::string>& taken() {
    static std::set<std::string> names;
    return names;
  }
  void claim() {
    if (once_.empty()) return;
    const std::lock_guard<std::mutex> guard(lock());
    if (!taken().insert(once_).second) {
      once_.clear();
      throw std::runtime_error(
          "The FMU allows one instance per process and there is one already; run it in worker processes or end the "
          "other first.");
    }
  }
  void give_back() noexcept {
    if (once_.empty()) return;
    const std::lock_guard<std::mutex> guard(lock());
    taken().erase(once_);
    once_.clear();
  }

  std::string once_;
  std::unique_ptr<FmuInstance> inner_;
};

constexpr int discarded = 2;

}  // namespace

Fmu::Fmu(const FmuDescription& d, FmuTiming timing, int substeps, double dt)
    : Block(static_cast<int>(d.inputs.size()), static_cast<int>(d.outputs.size()), d.n_states, dt),
      instance_(nullptr),
      timing_(timing),
      real_time_(d.real_time) {
  if (!(dt > 0.0) || substeps < 1 || d.parameters.size() != d.values.size())
    throw std::invalid_argument("dt, substeps and parameters of Fmu do not fit.");
  instance_ = new Opened(d, substeps);
}

Fmu::~Fmu() { delete instance_; }

void Fmu::step(double, const double* in, double* out) noexcept {
  const bool first = fresh_;
  fresh_ = false;
  const double t = static_cast<double>(steps_) * period();
  int worst = instance_->set(in);
  if (timing_ == FmuTiming::before) worst = std::max(worst, instance_->get(out));
  if (!(first && timing_ == FmuTiming::start)) {
    worst = std::max(worst, instance_->advance(t, period()));
    ++steps_;
  }
  if (timing_ != FmuTiming::before) worst = std::max(worst, instance_->get(out));
  if (worst >= discarded) {
    fault_ = worst;
    std::fill(out, out + n_out(), std::numeric_limits<double>::quiet_NaN());
  }
}

void Fmu::reset() noexcept {
  fault_ = 0;
  if (fresh_) return;
  instance_->end();
  steps_ = 0;
  fresh_ = true;
  try {
    instance_->begin();
  } catch (...) {
    fault_ = discarded + 1;
  }
}

std::string Fmu::message() const {
  const std::string& said = static_cast<const Opened*>(instance_)->said();
  const char* status = fault_ == discarded ? "discarded the step" : "reported an error";
  return "the FMU " + std::string(status) + (said.empty() ? "" : ": " + said);
}

}  // namespace hmor
