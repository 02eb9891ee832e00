#include "math/elementary.hpp"

#include <cmath>

#include "math/elementary_kernels.hpp"

namespace hmor {

namespace {

#define HMOR_EACH(KERNEL)                                             \
  {                                                                   \
    HMOR_LANES(Four)                                                  \
    for (int i = 0; i < n; i += 4) {                                  \
      Four v{}, y;                                                    \
      const int left = n - i;                                         \
      if (left >= 4) {                                                \
        std::memcpy(&v, x + i, sizeof v);                             \
        KERNEL(v, y)                                                  \
        std::memcpy(r + i, &y, sizeof y);                             \
      } else {                                                        \
        for (int j = 0; j < left; ++j) v[j] = x[i + j];               \
        KERNEL(v, y)                                                  \
        for (int j = 0; j < left; ++j) r[i + j] = y[j];               \
      }                                                               \
    }                                                                 \
  }

// The same with a function of four numbers that are padded with ones.
#define HMOR_EACH_WITHIN(FUNCTION)                                            \
  {                                                                           \
    HMOR_LANES(Four)                                                          \
    for (int i = 0; i < n; i += 4) {                                          \
      Four v = Four{} + 1.0, y;                                               \
      const int count = n - i < 4 ? n - i : 4;                                \
      for (int j = 0; j < count; ++j) v[j] = x[i + j];                        \
      FUNCTION(v, y)                                                          \
      for (int j = 0; j < count; ++j) r[i + j] = y[j];                        \
    }                                                                         \
  }

void exp_plain(const double* x, double* r, int n) noexcept HMOR_EACH_WITHIN(HMOR_EXP_WITHIN)
void log_plain(const double* x, double* r, int n) noexcept HMOR_EACH_WITHIN(HMOR_LOG_WITHIN)
void tanh_plain(const double* x, double* r, int n) noexcept HMOR_EACH(HMOR_TANH)
void sigmoid_plain(const double* x, double* r, int n) noexcept HMOR_EACH(HMOR_SIGMOID)

#if defined(HMOR_WIDE)
HMOR_WIDE void tanh_wide(const double* x, double* r, int n) noexcept HMOR_EACH(HMOR_TANH)
HMOR_WIDE void sigmoid_wide(const double* x, double* r, int n) noexcept HMOR_EACH(HMOR_SIGMOID)
HMOR_WIDE void exp_wide(const double* x, double* r, int n) noexcept HMOR_EACH_WITHIN(HMOR_EXP_WITHIN)
HMOR_WIDE void log_wide(const double* x, double* r, int n) noexcept HMOR_EACH_WITHIN(HMOR_LOG_WITHIN)
#else
constexpr Elementwise tanh_wide = tanh_plain, sigmoid_wide = sigmoid_plain, exp_wide = exp_plain, log_wide = log_plain;
bool has_wide_registers() { return false; }
#endif

}  // namespace

const Elementwise tanh_each = has_wide_registers() ? tanh_wide : tanh_plain;
const Elementwise sigmoid_each = has_wide_registers() ? sigmoid_wide : sigmoid_plain;
const Elementwise exp_each = has_wide_registers() ? exp_wide : exp_plain;
const Elementwise log_each = has_wide_registers() ? log_wide : log_plain;

Elementwise tanh_of_any_host() { return tanh_plain; }
Elementwise sigmoid_of_any_host() { return sigmoid_plain; }
Elementwise exp_of_any_host() { return exp_plain; }
Elementwise log_of_any_host() { return log_plain; }

}  // namespace hmor
