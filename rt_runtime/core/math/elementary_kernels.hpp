#pragma once

#include <cstring>

/// What elementary.cpp, layer.cpp and others compile for hosts with 64-byte and 32-byte registers and for any host, with
/// the same bits: macros, as a shared inline function would be cut down to the plainest host before it is inlined. Inside
/// hmor only.
namespace hmor {

typedef double Four __attribute__((vector_size(32), aligned(8)));
typedef long long FourWhole __attribute__((vector_size(32), aligned(8)));
typedef double Eight __attribute__((vector_size(64), aligned(8)));
typedef long long EightWhole __attribute__((vector_size(64), aligned(8)));

/// First in a kernel: how many numbers the macros below take at a time, HMOR_LANES(Four) or HMOR_LANES(Eight).
#define HMOR_LANES(COUNT)                           \
  using Lanes = COUNT;                              \
  using LanesWhole [[maybe_unused]] = COUNT##Whole; \
  [[maybe_unused]] constexpr int lanes = sizeof(Lanes) / sizeof(double);

// x = n ln 2 + g, |g| <= ln(2)/2, and exp(g) = (q + p) / (q - p): p and q, rational of degree (3, 3) in all, and 2^n.
// For -708 <= x <= 708, or nan.
#define HMOR_EXP_PARTS(x, p, q, power)                                                                           \
  const Lanes magic = Lanes{} + 0x1.8p52; /* adding it rounds to a whole number and leaves it in the low bits */ \
  const Lanes shifted = (x) * 1.4426950408889634073599 + magic;                                                  \
  const Lanes whole = shifted - magic;                                                                           \
  const Lanes g = ((x) - whole * 6.93145751953125e-1) - whole * 1.42860682030941723212e-6;                       \
  const Lanes gg = g * g;                                                                                        \
  const Lanes p = g * 9.99999999999999999910e-1 +                                                                \
                 (g * gg) * (1.26177193074810590878e-4 * gg + 3.02994407707441961300e-2);                        \
  const Lanes q = (3.00198505138664455042e-6 * gg + 2.52448340349684104192e-3) * (gg * gg) +                     \
                 (2.27265548208155028766e-1 * gg + 2.00000000000000000005e0);                                    \
  LanesWhole exponent;                                                                                           \
  std::memcpy(&exponent, &shifted, sizeof exponent);                                                             \
  exponent = (exponent + 1023) << 52;                                                                            \
  Lanes power;                                                                                                   \
  std::memcpy(&power, &exponent, sizeof power);

// 2 / (exp(2 |x|) + 1) = 2 (q - p) / (q (2^n + 1) + p (2^n - 1)), and one division for both ranges.
#define HMOR_TANH(x, y)                                                                                                \
  {                                                                                                                    \
    LanesWhole sign;                                                                                                   \
    std::memcpy(&sign, &(x), sizeof sign);                                                                             \
    const LanesWhole bits = sign & 0x7fff'ffff'ffff'ffff;                                                              \
    sign ^= bits;                                                                                                      \
    Lanes size;                                                                                                        \
    std::memcpy(&size, &bits, sizeof size);                                                                            \
    const Lanes twice = 2.0 * size;                                                                                    \
    HMOR_EXP_PARTS(twice, p, q, power)                                                                                 \
    const Lanes xx = size * size;                                                                                      \
    const Lanes near_p = (-9.64399179425052238628e-1 * xx - 9.92877231001918586564e1) * xx - 1.61468768441708447952e3; \
    const Lanes near_q =                                                                                               \
        ((xx + 1.12811678491632931402e2) * xx + 2.23548839060100448583e3) * xx + 4.84406305325125486048e3;             \
    const LanesWhole near = size < 0.625;                                                                              \
    const Lanes ratio = (near ? near_p : 2.0 * (q - p)) / (near ? near_q : q * (power + 1.0) + p * (power - 1.0));     \
    const Lanes far = size > 22.0 ? Lanes{} + 1.0 : 1.0 - ratio;                                                       \
    const Lanes value = near ? size + size * xx * ratio : far;                                                         \
    LanesWhole signed_bits;                                                                                            \
    std::memcpy(&signed_bits, &value, sizeof signed_bits);                                                             \
    signed_bits |= sign;                                                                                               \
    std::memcpy(&(y), &signed_bits, sizeof signed_bits);                                                               \
  }

#define HMOR_SIGMOID(x, y)                                           \
  {                                                                  \
    const Lanes capped = (x) > 708.0 ? Lanes{} + 708.0 : (x);        \
    const Lanes minus = capped < -708.0 ? Lanes{} + 708.0 : -capped; \
    HMOR_EXP_PARTS(minus, p, q, power)                               \
    y = 1.0 / (1.0 + (1.0 + 2.0 * (p / (q - p))) * power);           \
  }

// For -708 <= x <= 708, or nan.
#define HMOR_EXP(x, y)                       \
  {                                          \
    HMOR_EXP_PARTS(x, p, q, power)           \
    y = (1.0 + 2.0 * (p / (q - p))) * power; \
  }

// x = m 2^e with m in [sqrt(1/2), sqrt(2)), z = m - 1, and log(1 + z) = z - z^2 / 2 + z^3 P(z) / Q(z). For normal x > 0.
#define HMOR_LOG(x, y)                                                                                                     \
  {                                                                                                                        \
    LanesWhole bits;                                                                                                       \
    std::memcpy(&bits, &(x), sizeof bits);                                                                                 \
    const LanesWhole below = ((bits & 0xf'ffff'ffff'ffff) < 0x6'a09e'667f'3bcd) & 1; /* of sqrt(2) */                      \
    const LanesWhole whole = ((bits >> 52) & 0x7ff) - 1022 - below;                                                        \
    LanesWhole mantissa = (bits & 0xf'ffff'ffff'ffff) | ((below + 0x3fe) << 52);                                           \
    LanesWhole counted = whole + 0x4338'0000'0000'0000; /* a whole number in the low bits of 1.5 2^52 */                   \
    Lanes z, e;                                                                                                            \
    std::memcpy(&z, &mantissa, sizeof z);                                                                                  \
    std::memcpy(&e, &counted, sizeof e);                                                                                   \
    z -= 1.0;                                                                                                              \
    e -= 0x1.8p52;                                                                                                         \
    const Lanes top = ((((1.01875663804580931796e-4 * z + 4.97494994976747001425e-1) * z + 4.70579119878881725854e0) * z + \
                       1.44989225341610930846e1) * z + 1.79368678507819816313e1) * z + 7.70838733755885391666e0;           \
    const Lanes bottom = ((((z + 1.12873587189167450590e1) * z + 4.52279145837532221105e1) * z +                           \
                          8.29875266912776603211e1) * z + 7.11544750618563894466e1) * z + 2.31251620126765340583e1;        \
    const Lanes zz = z * z;                                                                                                \
    const Lanes rest = (z * zz * (top / bottom) - e * 2.121944400546905827679e-4) - 0.5 * zz;                              \
    y = (z + rest) + e * 0.693359375;                                                                                      \
  }

// By the kernel; a number outside of [LOW, HIGH], or a nan, by the C library, whatever stands beside it.
#define HMOR_WITHIN(KERNEL, LOW, HIGH, OTHER, x, y)                                       \
  {                                                                                       \
    const LanesWhole inside = ((x) >= LOW) & ((x) <= HIGH);                               \
    KERNEL(x, y)                                                                          \
    long long all = inside[0];                                                            \
    _Pragma("GCC unroll 8") for (int lane = 1; lane < lanes; ++lane) all &= inside[lane]; \
    if (all == 0)                                                                         \
      for (int lane = 0; lane < lanes; ++lane)                                            \
        if (inside[lane] == 0) y[lane] = OTHER((x)[lane]);                                \
  }
#define HMOR_EXP_WITHIN(x, y) HMOR_WITHIN(HMOR_EXP, -708.0, 708.0, std::exp, x, y)
#define HMOR_LOG_WITHIN(x, y) HMOR_WITHIN(HMOR_LOG, 2.2250738585072014e-308, 1.7976931348623157e308, std::log, x, y)

#if defined(__x86_64__)
#define HMOR_WIDE __attribute__((target("avx2")))
#define HMOR_WIDEST __attribute__((target("avx512f,avx512dq,avx512vl")))

/// Outside the loop. Whether this host has 32-byte registers.
inline bool has_wide_registers() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") != 0;
}

/// Outside the loop. Whether this host has 64-byte registers that it can use at full clock: those of the first generation,
/// which slow down or stand still for microseconds when such registers come into use, lack VBMI2.
inline bool has_widest_registers() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512vbmi2") != 0;
}
#endif

}  // namespace hmor
