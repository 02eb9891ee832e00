#pragma once

#include <cstddef>

namespace hmor {

enum class Activation { none, tanh, sigmoid };

/// One layer of a network, r = f(c + A x): A column-major with `ld` rows, a multiple of four, c and r of ld numbers. The
/// sums stay in registers until f is done; f as in elementary.hpp.
using Layer = void (*)(const double* a, std::ptrdiff_t ld, int cols, const double* x, const double* c,
                       double* r) noexcept;

/// Outside the loop. The kernel for a layer of `ld` rows on this host; call it in the loop. r must not alias x.
Layer layer_kernel(Activation activation, int ld) noexcept;

/// A layer and one output behind it: r as above, and returns v' r, v of ld numbers, taken while r is in registers.
using LayerWithOutput = double (*)(const double* a, std::ptrdiff_t ld, int cols, const double* x, const double* c,
                                   double* r, const double* v) noexcept;

/// Outside the loop. The kernel for a layer of `ld` rows on this host; call it in the loop.
LayerWithOutput layer_with_output_kernel(Activation activation, int ld) noexcept;

/// Outside the loop. The same compiled for any host, for tests; ld of 16 at most.
LayerWithOutput layer_of_any_host(Activation activation, int ld) noexcept;

}  // namespace hmor
