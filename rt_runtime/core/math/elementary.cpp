#include "math/elementary.hpp"

#include "math/elementary_kernels.hpp"

namespace hmor {

namespace {

#define HMOR_EACH(KERNEL)                                             \
  {                                                                   \
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

void tanh_plain(const double* x, double* r, int n) noexcept HMOR_EACH(HMOR_TANH)
void sigmoid_plain(const double* x, double* r, int n) noexcept HMOR_EACH(HMOR_SIGMOID)

#if defined(HMOR_WIDE)
HMOR_WIDE void tanh_wide(const double* x, double* r, int n) noexcept HMOR_EACH(HMOR_TANH)
HMOR_WIDE void sigmoid_wide(const double* x, double* r, int n) noexcept HMOR_EACH(HMOR_SIGMOID)
#else
constexpr Elementwise tanh_wide = tanh_plain, sigmoid_wide = sigmoid_plain;
bool has_wide_registers() { return false; }
#endif

}  // namespace

const Elementwise tanh_each = has_wide_registers() ? tanh_wide : tanh_plain;
const Elementwise sigmoid_each = has_wide_registers() ? sigmoid_wide : sigmoid_plain;

Elementwise tanh_of_any_host() { return tanh_plain; }
Elementwise sigmoid_of_any_host() { return sigmoid_plain; }

}  // namespace hmor
