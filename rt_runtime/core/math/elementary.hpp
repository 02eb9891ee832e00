#pragma once

namespace hmor {

/// Activations of networks, four numbers at a time, with the same bits on every host (the C library's differ from
/// release to release), tanh within 2 and the sigmoid within 2.5 units in the last place; a nan stays one. x and r may be
/// the same.
///
///   exp(x)   = 2^n (q + p) / (q - p), n = round(x / ln 2), p and q polynomials in g = x - n ln 2
///   tanh(x)  = x + x^3 P(x^2) / Q(x^2) for |x| < 0.625, else sign(x) (1 - 2 / (exp(2 |x|) + 1))
///   sigmoid  = 1 / (1 + exp(-x))
///   ln(x)    = z - z^2 / 2 + z^3 P(z) / Q(z) + e ln 2, x = (1 + z) 2^e
///
/// with the coefficients of Moshier's Cephes library; the fractions of tanh are drawn together, so that it takes one
/// division.
using Elementwise = void (*)(const double* x, double* r, int n) noexcept;

/// In the loop. r_i = tanh(x_i).
extern const Elementwise tanh_each;
/// In the loop. r_i = 1 / (1 + exp(-x_i)).
extern const Elementwise sigmoid_each;

/// In the loop. r_i = exp(x_i), within 2 units in the last place; outside of [-708, 708] by the C library.
extern const Elementwise exp_each;
/// In the loop. r_i = ln(x_i), within 2 units in the last place; of what is no normal positive number by the C library.
extern const Elementwise log_each;

/// Outside the loop. The same compiled for any host, to compare with what this host chose.
Elementwise tanh_of_any_host();
Elementwise sigmoid_of_any_host();
Elementwise exp_of_any_host();
Elementwise log_of_any_host();

}  // namespace hmor
