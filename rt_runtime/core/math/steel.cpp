#include "math/steel.hpp"

#include <cmath>

#include "math/elementary_kernels.hpp"

namespace hmor {

namespace {

// As Max and Min of a plan: a nan in a stays.
#define HMOR_MAX(a, b) ((a) < (b) ? (b) : (a))
#define HMOR_MIN(a, b) ((b) < (a) ? (b) : (a))

#define HMOR_STEEL(NAME, HOST)                                                                                        \
  HOST void NAME(const double* array, const int* places, const double* numbers, const SteelLaw& law, double* r,       \
                 int n) noexcept {                                                                                    \
    const Four zero{}, one = zero + 1.0, minus_one = zero - 1.0;                                                      \
    const Four least = zero + law.least, most = -least, tiny = zero + law.tiny, limit = zero + law.limit;             \
    for (int i = 0; i < n; i += 4) {                                                                                  \
      Four in[8];                                                                                                     \
      _Pragma("GCC unroll 8") for (int k = 0; k < 8; ++k) {                                                           \
        const int* at = places + k * n + i;                                                                           \
        in[k] = Four{array[at[0]], array[at[1]], array[at[2]], array[at[3]]};                                         \
      }                                                                                                               \
      const Four plus = *reinterpret_cast<const Four*>(numbers + i);                                                  \
      const Four minus = *reinterpret_cast<const Four*>(numbers + n + i);                                             \
      const Four radius = *reinterpret_cast<const Four*>(numbers + 2 * n + i);                                        \
      const Four before = in[1], now = HMOR_MIN(HMOR_MAX(before, in[0] - radius), in[0] + radius);                    \
      const Four last = HMOR_MAX(before, zero) * plus + HMOR_MIN(before, zero) * minus;                               \
      const Four strain = HMOR_MAX(now, zero) * plus + HMOR_MIN(now, zero) * minus;                                   \
      const Four step = strain - last;                                                                                \
      const FourWhole turned = in[2] * step < zero;                                                                   \
      const Four held = step < zero ? minus_one : in[2], d = step > zero ? one : held;                                \
      const Four e_r = turned ? last : in[3], q_r = turned ? in[5] : in[4];                                           \
      const Four high = turned ? HMOR_MAX(in[6], last) : in[6], low = turned ? HMOR_MIN(in[7], last) : in[7];         \
      const FourWhole down = d < zero;                                                                                \
      const Four left = d - q_r, w = down ? HMOR_MIN(left, most) : HMOR_MAX(left, least);                             \
      const Four far = down ? HMOR_MIN(low, minus_one) : HMOR_MAX(high, one), yielded = far - e_r - w;                \
      const Four xi = yielded < zero ? -yielded : yielded, R = law.R0 - law.R1 * (xi / (law.c + xi));                 \
      const Four way = strain - e_r, quotient = way / w, ratio = HMOR_MAX(quotient, tiny);                            \
      Four log_ratio, raised, log_sum, kept;                                                                          \
      HMOR_LOG_WITHIN(ratio, log_ratio)                                                                               \
      const Four log_power = log_ratio * R, limited = HMOR_MIN(log_power, limit);                                     \
      HMOR_EXP_WITHIN(limited, raised)                                                                                \
      const Four sum = 1.0 + raised;                                                                                  \
      HMOR_LOG_WITHIN(sum, log_sum)                                                                                   \
      const Four log_kept = -(log_sum / R);                                                                           \
      HMOR_EXP_WITHIN(log_kept, kept)                                                                                 \
      const Four loose = q_r + way * kept, stress = HMOR_MIN(HMOR_MAX(loose, minus_one), one);                        \
      const Four out[7] = {now, d, e_r, q_r, stress, high, low};                                                      \
      _Pragma("GCC unroll 7") for (int k = 0; k < 7; ++k) *reinterpret_cast<Four*>(r + k * n + i) = out[k];           \
    }                                                                                                                 \
  }

HMOR_STEEL(steel_plain, )
#if defined(HMOR_WIDE)
HMOR_STEEL(steel_wide, HMOR_WIDE)
#else
constexpr SteelBars steel_wide = steel_plain;
bool has_wide_registers() { return false; }
#endif

}  // namespace

const SteelBars steel_bars = has_wide_registers() ? steel_wide : steel_plain;

SteelBars steel_bars_of_any_host() { return steel_plain; }

}  // namespace hmor
