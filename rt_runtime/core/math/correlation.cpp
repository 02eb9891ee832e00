#include "math/correlation.hpp"

#include <array>
#include <cstddef>

#include "math/elementary_kernels.hpp"

namespace hmor {

namespace {

// y = exp(x) for x <= 0; below -708 it is that of -708, about 3e-308. A nan stays one.
#define HMOR_EXP_BELOW(x, y)                                   \
  {                                                            \
    HMOR_LANES(Four)                                           \
    const Four above = (x) < -708.0 ? Four{} - 708.0 : (x);    \
    HMOR_EXP_PARTS(above, p, q, power)                         \
    y = (1.0 + 2.0 * (p / (q - p))) * power;                   \
  }

#define HMOR_DISTANCE(a)                                                                                              \
  const Four difference = z[i] - *reinterpret_cast<const Four*>(points + static_cast<std::ptrdiff_t>(i) * n + j);      \
  const Four a = (difference < 0.0 ? -difference : difference) * rate[i];

// The factor in front of the exponential function, and what stands in its exponent.
#define HMOR_FRONT(a) (K == 2 ? 1.0 + (a) : 1.0 + (a) * (1.0 + (a) * (1.0 / 3.0)))
#define HMOR_EXPONENT(a) (K == 4 ? -0.5 * (a) * (a) : -(a))

#define HMOR_WEIGHTED(NAME, HOST)                                                                                     \
  template <int K>                                                                                                    \
  HOST void NAME(const double* z, int d, const double* points, const double* rate, const double* w, double* r,        \
                 int n) noexcept {                                                                                    \
    for (int j = 0; j < n; j += 4) {                                                                                  \
      Four product = Four{} + 1.0;                                                                                    \
      for (int i = 0; i < d; ++i) {                                                                                   \
        HMOR_DISTANCE(a)                                                                                              \
        Four k;                                                                                                       \
        if (K == 0) {                                                                                                 \
          k = a > 1.0 ? Four{} : 1.0 - a;                                                                             \
        } else {                                                                                                      \
          const Four exponent_of = HMOR_EXPONENT(a);                                                                  \
          HMOR_EXP_BELOW(exponent_of, k)                                                                              \
          if (K == 2 || K == 3) k *= HMOR_FRONT(a);                                                                   \
        }                                                                                                             \
        product *= (1.0 - w[i]) + w[i] * k;                                                                           \
      }                                                                                                               \
      *reinterpret_cast<Four*>(r + j) = product;                                                                      \
    }                                                                                                                 \
  }

#define HMOR_PRODUCT(NAME, HOST)                                                                                      \
  template <int K>                                                                                                    \
  HOST void NAME(const double* z, int d, const double* points, const double* rate, const double*, double* r,          \
                 int n) noexcept {                                                                                    \
    for (int j = 0; j < n; j += 4) {                                                                                  \
      Four product = Four{} + 1.0, sum{};                                                                             \
      for (int i = 0; i < d; ++i) {                                                                                   \
        HMOR_DISTANCE(a)                                                                                              \
        if (K == 0)                                                                                                   \
          product *= a > 1.0 ? Four{} : 1.0 - a;                                                                      \
        else                                                                                                          \
          sum += HMOR_EXPONENT(a);                                                                                    \
        if (K == 2 || K == 3) product *= HMOR_FRONT(a);                                                               \
      }                                                                                                               \
      if (K != 0) {                                                                                                   \
        Four k;                                                                                                       \
        HMOR_EXP_BELOW(sum, k)                                                                                        \
        product *= k;                                                                                                 \
      }                                                                                                               \
      *reinterpret_cast<Four*>(r + j) = product;                                                                      \
    }                                                                                                                 \
  }

HMOR_WEIGHTED(weighted_plain, )
HMOR_PRODUCT(product_plain, )
#if defined(HMOR_WIDE)
HMOR_WEIGHTED(weighted_wide, HMOR_WIDE)
HMOR_PRODUCT(product_wide, HMOR_WIDE)
#endif

#define HMOR_FAMILIES(NAME) {NAME<0>, NAME<1>, NAME<2>, NAME<3>, NAME<4>}
constexpr std::array<std::array<Correlations, 5>, 2> any_host{{HMOR_FAMILIES(product_plain), HMOR_FAMILIES(weighted_plain)}};

}  // namespace

Correlations correlations_of_any_host(Correlation family, bool weighted) {
  return any_host[weighted ? 1 : 0][static_cast<std::size_t>(family)];
}

Correlations correlations_kernel(Correlation family, bool weighted) {
#if defined(HMOR_WIDE)
  static constexpr std::array<std::array<Correlations, 5>, 2> wide{
      {HMOR_FAMILIES(product_wide), HMOR_FAMILIES(weighted_wide)}};
  if (has_wide_registers()) return wide[weighted ? 1 : 0][static_cast<std::size_t>(family)];
#endif
  return correlations_of_any_host(family, weighted);
}

}  // namespace hmor
