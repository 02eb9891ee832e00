#include "elementary.hpp"

#include <cstring>

namespace hmor {

namespace {

typedef double Four __attribute__((vector_size(32)));
typedef long long FourWhole __attribute__((vector_size(32)));

// The text is compiled twice, for hosts with 32-byte registers and for any host, as in dense.cpp.

// e = exp(x) for -708 <= x <= 708, or nan.
#define HMOR_EXP(x, e)                                                                                                \
  Four e;                                                                                                             \
  {                                                                                                                   \
    const Four magic = Four{} + 0x1.8p52; /* adding it rounds to a whole number and leaves it in the low bits */     \
    const Four shifted = (x) * 1.4426950408889634073599 + magic;                                                      \
    const Four whole = shifted - magic;                                                                               \
    const Four g = ((x) - whole * 6.93145751953125e-1) - whole * 1.42860682030941723212e-6;                           \
    const Four gg = g * g;                                                                                            \
    const Four p = g * ((1.26177193074810590878e-4 * gg + 3.02994407707441961300e-2) * gg + 9.99999999999999999910e-1); \
    const Four q = ((3.00198505138664455042e-6 * gg + 2.52448340349684104192e-3) * gg + 2.27265548208155028766e-1) * gg + \
                   2.00000000000000000005e0;                                                                          \
    FourWhole bits;                                                                                                   \
    std::memcpy(&bits, &shifted, sizeof bits);                                                                        \
    bits = (bits + 1023) << 52;                                                                                       \
    Four power;                                                                                                       \
    std::memcpy(&power, &bits, sizeof power);                                                                         \
    e = (1.0 + 2.0 * (p / (q - p))) * power;                                                                          \
  }

#define HMOR_TANH(x, y)                                                                                               \
  {                                                                                                                   \
    const Four size = (x) < 0.0 ? -(x) : (x);                                                                         \
    const Four twice = size > 22.0 ? Four{} + 44.0 : 2.0 * size;                                                      \
    HMOR_EXP(twice, e)                                                                                                \
    const Four far = 1.0 - 2.0 / (e + 1.0);                                                                           \
    const Four xx = (x) * (x);                                                                                        \
    const Four p = (-9.64399179425052238628e-1 * xx - 9.92877231001918586564e1) * xx - 1.61468768441708447952e3;      \
    const Four q = ((xx + 1.12811678491632931402e2) * xx + 2.23548839060100448583e3) * xx + 4.84406305325125486048e3; \
    const Four near = (x) + (x) * xx * (p / q);                                                                       \
    y = size < 0.625 ? near : ((x) < 0.0 ? -far : far);                                                               \
  }

#define HMOR_SIGMOID(x, y)                                            \
  {                                                                   \
    const Four capped = (x) > 708.0 ? Four{} + 708.0 : (x);           \
    const Four bounded = capped < -708.0 ? Four{} - 708.0 : capped;   \
    const Four minus = -bounded;                                      \
    HMOR_EXP(minus, e)                                                \
    y = 1.0 / (1.0 + e);                                              \
  }

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

#if defined(__x86_64__)
__attribute__((target("avx2"))) void tanh_wide(const double* x, double* r, int n) noexcept HMOR_EACH(HMOR_TANH)
__attribute__((target("avx2"))) void sigmoid_wide(const double* x, double* r, int n) noexcept HMOR_EACH(HMOR_SIGMOID)

bool has_wide_registers() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") != 0;
}
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
