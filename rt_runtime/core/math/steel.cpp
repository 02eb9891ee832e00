#include "math/steel.hpp"

#include <cmath>

#include "math/elementary_kernels.hpp"

namespace hmor {

namespace {

// As Max and Min of a plan: a nan in a stays.
#define HMOR_MAX(a, b) ((a) < (b) ? (b) : (a))
#define HMOR_MIN(a, b) ((b) < (a) ? (b) : (a))

#define HMOR_GATHERED_Four \
  Four { array[at[0]], array[at[1]], array[at[2]], array[at[3]] }
#define HMOR_GATHERED_Eight                                                                                        \
  Eight {                                                                                                          \
    array[at[0]], array[at[1]], array[at[2]], array[at[3]], array[at[4]], array[at[5]], array[at[6]], array[at[7]] \
  }

// The bars from i on, COUNT at a time, as long as there are so many.
#define HMOR_BARS(COUNT)                                                                                       \
  {                                                                                                            \
    HMOR_LANES(COUNT)                                                                                          \
    const Lanes zero{}, one = zero + 1.0, minus_one = zero - 1.0;                                              \
    const Lanes least = zero + law.least, most = -least, tiny = zero + law.tiny, limit = zero + law.limit;     \
    for (; i + lanes <= n; i += lanes) {                                                                       \
      Lanes in[8];                                                                                             \
      _Pragma("GCC unroll 8") for (int k = 0; k < 8; ++k) {                                                    \
        const int* at = places + k * n + i;                                                                    \
        in[k] = HMOR_GATHERED_##COUNT;                                                                         \
      }                                                                                                        \
      const Lanes plus = *reinterpret_cast<const Lanes*>(numbers + i);                                         \
      const Lanes minus = *reinterpret_cast<const Lanes*>(numbers + n + i);                                    \
      const Lanes radius = *reinterpret_cast<const Lanes*>(numbers + 2 * n + i);                               \
      const Lanes before = in[1], now = HMOR_MIN(HMOR_MAX(before, in[0] - radius), in[0] + radius);            \
      const Lanes last = HMOR_MAX(before, zero) * plus + HMOR_MIN(before, zero) * minus;                       \
      const Lanes strain = HMOR_MAX(now, zero) * plus + HMOR_MIN(now, zero) * minus;                           \
      const Lanes step = strain - last;                                                                        \
      const LanesWhole turned = in[2] * step < zero;                                                           \
      const Lanes held = step < zero ? minus_one : in[2], d = step > zero ? one : held;                        \
      const Lanes e_r = turned ? last : in[3], q_r = turned ? in[5] : in[4];                                   \
      const Lanes high = turned ? HMOR_MAX(in[6], last) : in[6], low = turned ? HMOR_MIN(in[7], last) : in[7]; \
      const LanesWhole down = d < zero;                                                                        \
      const Lanes left = d - q_r, w = down ? HMOR_MIN(left, most) : HMOR_MAX(left, least);                     \
      const Lanes far = down ? HMOR_MIN(low, minus_one) : HMOR_MAX(high, one), yielded = far - e_r - w;        \
      const Lanes xi = yielded < zero ? -yielded : yielded, R = law.R0 - law.R1 * (xi / (law.c + xi));         \
      const Lanes way = strain - e_r, quotient = way / w, ratio = HMOR_MAX(quotient, tiny);                    \
      Lanes log_ratio, raised, log_sum, kept;                                                                  \
      HMOR_LOG_WITHIN(ratio, log_ratio)                                                                        \
      const Lanes log_power = log_ratio * R, limited = HMOR_MIN(log_power, limit);                             \
      HMOR_EXP_WITHIN(limited, raised)                                                                         \
      const Lanes sum = 1.0 + raised;                                                                          \
      HMOR_LOG_WITHIN(sum, log_sum)                                                                            \
      const Lanes log_kept = -(log_sum / R);                                                                   \
      HMOR_EXP_WITHIN(log_kept, kept)                                                                          \
      const Lanes loose = q_r + way * kept, stress = HMOR_MIN(HMOR_MAX(loose, minus_one), one);                \
      const Lanes out[7] = {now, d, e_r, q_r, stress, high, low};                                              \
      _Pragma("GCC unroll 7") for (int k = 0; k < 7; ++k) *reinterpret_cast<Lanes*>(r + k * n + i) = out[k];   \
    }                                                                                                          \
  }

#define HMOR_ARGUMENTS \
  const double *array, const int *places, const double *numbers, const SteelLaw &law, double *r, int n

void steel_plain(HMOR_ARGUMENTS) noexcept {
  int i = 0;
  HMOR_BARS(Four)
}
#if defined(HMOR_WIDE)
HMOR_WIDE void steel_wide(HMOR_ARGUMENTS) noexcept {
  int i = 0;
  HMOR_BARS(Four)
}
HMOR_WIDEST void steel_widest(HMOR_ARGUMENTS) noexcept {
  int i = 0;
  HMOR_BARS(Eight)
  HMOR_BARS(Four)
}

SteelBars of_this_host() {
  if (has_widest_registers()) return steel_widest;
  return has_wide_registers() ? steel_wide : steel_plain;
}
#else
SteelBars of_this_host() { return steel_plain; }
#endif

}  // namespace

const SteelBars steel_bars = of_this_host();

SteelBars steel_bars_of_any_host() { return steel_plain; }

}  // namespace hmor
