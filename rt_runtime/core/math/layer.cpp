#include "math/layer.hpp"

#include <array>

#include "math/elementary_kernels.hpp"

namespace hmor {

namespace {

#define HMOR_NO_ACTIVATION(x, y) y = x;

// For G groups of four rows. Even and odd columns are summed apart: two short chains of additions, not a long one.
#define HMOR_LAYER(ACTIVATE, AFTER)                                                                    \
  Four even[G], odd[G] = {};                                                                           \
  _Pragma("GCC unroll 4") for (int i = 0; i < G; ++i) even[i] = reinterpret_cast<const Four*>(c)[i];   \
  int j = 0;                                                                                           \
  for (; j + 2 <= cols; j += 2, a += 2 * ld)                                                           \
    _Pragma("GCC unroll 4") for (int i = 0; i < G; ++i) {                                              \
      even[i] += reinterpret_cast<const Four*>(a)[i] * x[j];                                           \
      odd[i] += reinterpret_cast<const Four*>(a + ld)[i] * x[j + 1];                                   \
    }                                                                                                  \
  if (j < cols)                                                                                        \
    _Pragma("GCC unroll 4") for (int i = 0; i < G; ++i) even[i] += reinterpret_cast<const Four*>(a)[i] * x[j]; \
  _Pragma("GCC unroll 4") for (int i = 0; i < G; ++i) {                                                \
    const Four sum = even[i] + odd[i];                                                                 \
    Four y;                                                                                            \
    ACTIVATE(sum, y)                                                                                   \
    reinterpret_cast<Four*>(r)[i] = y;                                                                 \
    AFTER                                                                                              \
  }

#define HMOR_ARGUMENTS const double *a, std::ptrdiff_t ld, int cols, const double *x, const double *c, double *r

// A layer and a layer with output, for one kind of host.
#define HMOR_PAIR(NAME, HOST, ACTIVATE)                                           \
  template <int G>                                                                \
  HOST void NAME(HMOR_ARGUMENTS) noexcept {                                       \
    HMOR_LAYER(ACTIVATE, )                                                        \
  }                                                                               \
  template <int G>                                                                \
  HOST double NAME##_output(HMOR_ARGUMENTS, const double* v) noexcept {           \
    Four out{};                                                                   \
    HMOR_LAYER(ACTIVATE, out += reinterpret_cast<const Four*>(v)[i] * y;)         \
    return (out[0] + out[1]) + (out[2] + out[3]);                                 \
  }

HMOR_PAIR(plain_none, , HMOR_NO_ACTIVATION)
HMOR_PAIR(plain_tanh, , HMOR_TANH)
HMOR_PAIR(plain_sigmoid, , HMOR_SIGMOID)
#if defined(HMOR_WIDE)
HMOR_PAIR(wide_none, HMOR_WIDE, HMOR_NO_ACTIVATION)
HMOR_PAIR(wide_tanh, HMOR_WIDE, HMOR_TANH)
HMOR_PAIR(wide_sigmoid, HMOR_WIDE, HMOR_SIGMOID)
#endif

// By activation, by groups of four rows.
template <class Kernel>
using Kernels = std::array<std::array<Kernel, 5>, 3>;

#define HMOR_KERNELS(HOST, END)                                                                                       \
  {                                                                                                                   \
    {{nullptr, HOST##_none##END<1>, HOST##_none##END<2>, HOST##_none##END<3>, HOST##_none##END<4>},                   \
     {nullptr, HOST##_tanh##END<1>, HOST##_tanh##END<2>, HOST##_tanh##END<3>, HOST##_tanh##END<4>},                   \
     {nullptr, HOST##_sigmoid##END<1>, HOST##_sigmoid##END<2>, HOST##_sigmoid##END<3>, HOST##_sigmoid##END<4>}}       \
  }

#if defined(HMOR_WIDE)
const bool wide = has_wide_registers();
const Kernels<Layer> kernels = wide ? Kernels<Layer> HMOR_KERNELS(wide, ) : Kernels<Layer> HMOR_KERNELS(plain, );
const Kernels<LayerWithOutput> kernels_with_output = wide ? Kernels<LayerWithOutput> HMOR_KERNELS(wide, _output)
                                                          : Kernels<LayerWithOutput> HMOR_KERNELS(plain, _output);
#else
const Kernels<Layer> kernels HMOR_KERNELS(plain, );
const Kernels<LayerWithOutput> kernels_with_output HMOR_KERNELS(plain, _output);
#endif

template <Activation F>
void tall(HMOR_ARGUMENTS) noexcept {
  const auto& of_host = kernels[static_cast<std::size_t>(F)];
  std::ptrdiff_t i = 0;
  for (; ld - i > 16; i += 16) of_host[4](a + i, ld, cols, x, c + i, r + i);
  of_host[static_cast<std::size_t>(ld - i) / 4](a + i, ld, cols, x, c + i, r + i);
}

template <Activation F>
double tall_output(HMOR_ARGUMENTS, const double* v) noexcept {
  const auto& of_host = kernels_with_output[static_cast<std::size_t>(F)];
  std::ptrdiff_t i = 0;
  double out = 0.0;
  for (; ld - i > 16; i += 16) out += of_host[4](a + i, ld, cols, x, c + i, r + i, v + i);
  return out + of_host[static_cast<std::size_t>(ld - i) / 4](a + i, ld, cols, x, c + i, r + i, v + i);
}

}  // namespace

Layer layer_kernel(Activation activation, int ld) noexcept {
  constexpr Layer tall_ones[] = {tall<Activation::none>, tall<Activation::tanh>, tall<Activation::sigmoid>};
  const auto of = static_cast<std::size_t>(activation);
  return ld > 16 ? tall_ones[of] : kernels[of][static_cast<std::size_t>(ld) / 4];
}

LayerWithOutput layer_with_output_kernel(Activation activation, int ld) noexcept {
  constexpr LayerWithOutput tall_ones[] = {tall_output<Activation::none>, tall_output<Activation::tanh>,
                                           tall_output<Activation::sigmoid>};
  const auto of = static_cast<std::size_t>(activation);
  return ld > 16 ? tall_ones[of] : kernels_with_output[of][static_cast<std::size_t>(ld) / 4];
}

}  // namespace hmor
