#pragma once

#include <string>
#include <vector>

#include "fmu/fmu.hpp"

namespace hmor {

/// One instance of an FMU behind the functions of its standard. Every call returns the FMU's status: 0 ok, 1 warning,
/// 2 discarded, 3 error, 4 fatal; a call that throws is outside the loop.
class FmuInstance {
 public:
  virtual ~FmuInstance() = default;
  /// Outside the loop. Instantiates and initialises at time zero; throws std::runtime_error.
  virtual void begin() = 0;
  /// Outside the loop. Terminates and frees the instance.
  virtual void end() noexcept = 0;
  // In the loop.
  virtual int set(const double* u) noexcept = 0;
  virtual int advance(double t, double dt) noexcept = 0;
  virtual int get(double* y) noexcept = 0;

  const std::string& message() const noexcept { return message_; }
  std::string message_;
};

/// Outside the loop.
FmuInstance* open_fmu2(const FmuDescription& description, void* library);
FmuInstance* open_fmu2_exchange(const FmuDescription& description, void* library, int substeps);
FmuInstance* open_fmu3(const FmuDescription& description, void* library);

/// Outside the loop. A function of the library; throws when there is none.
void* fmu_function(void* library, const std::string& path, const std::string& name);

template <class Function>
void find(void* library, const FmuDescription& d, const char* name, Function& function) {
  function = reinterpret_cast<Function>(fmu_function(library, d.library, name));
}

}  // namespace hmor
