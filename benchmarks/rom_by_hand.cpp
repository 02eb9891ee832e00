// The 2-10-1 tanh network as a careful C++ programmer writes it, and the same file through onnxruntime's C API.

#include <dlfcn.h>
#include <time.h>

#include <cmath>
#include <cstdint>
#include <cstring>

extern "C" {

/// y_k = b2 + sum_i w2_i tanh(b1_i + w1_i0 u_k0 + w1_i1 u_k1) for n rows; w1 row-major (10, 2).
void network_by_hand(const double* w1, const double* b1, const double* w2, double b2, const double* u, std::int64_t n,
                     double* y) {
  for (std::int64_t k = 0; k < n; ++k) {
    double sum = b2;
    for (int i = 0; i < 10; ++i) sum += w2[i] * std::tanh(b1[i] + w1[2 * i] * u[2 * k] + w1[2 * i + 1] * u[2 * k + 1]);
    y[k] = sum;
  }
}

/// Runs a model with input u (1, 2) and output y (1, 1) row by row. The table of functions is reached by position, which
/// onnxruntime keeps from version to version. Returns 0, or the number of the call that failed.
int onnxruntime_c_api(const char* library, const void* model, std::size_t size, const double* u, std::int64_t n,
                      double* y, std::int64_t* nanoseconds) {
  struct Base {
    const void* const* (*get_api)(std::uint32_t);
    const char* (*version)();
  };
  using Status = void*;
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return 1;
  auto base = reinterpret_cast<const Base* (*)()>(dlsym(handle, "OrtGetApiBase"));
  if (base == nullptr) return 2;
  const void* const* api = base()->get_api(17);
  if (api == nullptr) return 3;
  auto create_env = reinterpret_cast<Status (*)(int, const char*, void**)>(api[3]);
  auto create_session = reinterpret_cast<Status (*)(void*, const void*, std::size_t, void*, void**)>(api[8]);
  auto run = reinterpret_cast<Status (*)(void*, const void*, const char* const*, const void* const*, std::size_t,
                                         const char* const*, std::size_t, void**)>(api[9]);
  auto create_options = reinterpret_cast<Status (*)(void**)>(api[10]);
  auto set_threads = reinterpret_cast<Status (*)(void*, int)>(api[24]);
  auto create_tensor = reinterpret_cast<Status (*)(void*, void*, std::size_t, const std::int64_t*, std::size_t, int,
                                                   void**)>(api[49]);
  auto create_memory_info = reinterpret_cast<Status (*)(int, int, void**)>(api[69]);
  void *env = nullptr, *options = nullptr, *session = nullptr, *memory = nullptr, *in = nullptr, *out = nullptr;
  if (create_env(3, "bench", &env) || create_options(&options) || set_threads(options, 1)) return 4;
  if (create_session(env, model, size, options, &session)) return 5;
  double row[2], result[1];
  const std::int64_t in_shape[2] = {1, 2}, out_shape[2] = {1, 1};
  constexpr int float64 = 11;
  if (create_memory_info(0, 0, &memory) || create_tensor(memory, row, sizeof row, in_shape, 2, float64, &in) ||
      create_tensor(memory, result, sizeof result, out_shape, 2, float64, &out))
    return 6;
  const char *in_name = "u", *out_name = "y";
  const void* ins[1] = {in};
  void* outs[1] = {out};
  timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (std::int64_t k = 0; k < n; ++k) {
    std::memcpy(row, u + 2 * k, sizeof row);
    if (run(session, nullptr, &in_name, ins, 1, &out_name, 1, outs)) return 7;
    y[k] = result[0];
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  *nanoseconds = (end.tv_sec - begin.tv_sec) * 1'000'000'000 + end.tv_nsec - begin.tv_nsec;
  return 0;
}
}
