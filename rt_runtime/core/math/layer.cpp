#include "math/layer.hpp"

#include <array>
#include <cstring>

#include "math/elementary_kernels.hpp"

namespace hmor {

namespace {

#define HMOR_NO_ACTIVATION(x, y) y = x;

// For G groups of rows. Even and odd columns are summed apart: two short chains of additions, not a long one.
#define HMOR_LAYER(ACTIVATE, AFTER)                                                                             \
  Lanes even[G], odd[G] = {};                                                                                   \
  _Pragma("GCC unroll 4") for (int i = 0; i < G; ++i) even[i] = reinterpret_cast<const Lanes*>(c)[i];           \
  int j = 0;                                                                                                    \
  for (; j + 2 <= cols; j += 2, a += 2 * ld)                                                                    \
    _Pragma("GCC unroll 4") for (int i = 0; i < G; ++i) {                                                       \
      even[i] += reinterpret_cast<const Lanes*>(a)[i] * x[j];                                                   \
      odd[i] += reinterpret_cast<const Lanes*>(a + ld)[i] * x[j + 1];                                           \
    }                                                                                                           \
  if (j < cols)                                                                                                 \
    _Pragma("GCC unroll 4") for (int i = 0; i < G; ++i) even[i] += reinterpret_cast<const Lanes*>(a)[i] * x[j]; \
  _Pragma("GCC unroll 4") for (int i = 0; i < G; ++i) {                                                         \
    const Lanes sum = even[i] + odd[i];                                                                         \
    Lanes y;                                                                                                    \
    ACTIVATE(sum, y)                                                                                            \
    reinterpret_cast<Lanes*>(r)[i] = y;                                                                         \
    AFTER                                                                                                       \
  }

// An output is summed in four parts whatever the host, so that its bits are the same.
#define HMOR_ADD_Four(sum, terms) sum += terms;
#define HMOR_ADD_Eight(sum, terms)           \
  {                                          \
    const Eight both = terms;                \
    Four halves[2];                          \
    std::memcpy(halves, &both, sizeof both); \
    sum += halves[0];                        \
    sum += halves[1];                        \
  }

#define HMOR_ARGUMENTS const double *a, std::ptrdiff_t ld, int cols, const double *x, const double *c, double *r

// A layer and a layer with output, for one kind of host.
#define HMOR_PAIR(NAME, HOST, COUNT, ACTIVATE)                                            \
  template <int G>                                                                        \
  HOST void NAME(HMOR_ARGUMENTS) noexcept {                                               \
    HMOR_LANES(COUNT)                                                                     \
    HMOR_LAYER(ACTIVATE, )                                                                \
  }                                                                                       \
  template <int G>                                                                        \
  HOST double NAME##_output(HMOR_ARGUMENTS, const double* v) noexcept {                   \
    HMOR_LANES(COUNT)                                                                     \
    Four out{};                                                                           \
    HMOR_LAYER(ACTIVATE, HMOR_ADD_##COUNT(out, reinterpret_cast<const Lanes*>(v)[i] * y)) \
    return (out[0] + out[1]) + (out[2] + out[3]);                                         \
  }

HMOR_PAIR(plain_none, , Four, HMOR_NO_ACTIVATION)
HMOR_PAIR(plain_tanh, , Four, HMOR_TANH)
HMOR_PAIR(plain_sigmoid, , Four, HMOR_SIGMOID)
#if defined(HMOR_WIDE)
HMOR_PAIR(wide_none, HMOR_WIDE, Four, HMOR_NO_ACTIVATION)
HMOR_PAIR(wide_tanh, HMOR_WIDE, Four, HMOR_TANH)
HMOR_PAIR(wide_sigmoid, HMOR_WIDE, Four, HMOR_SIGMOID)
HMOR_PAIR(widest_none, HMOR_WIDEST, Eight, HMOR_NO_ACTIVATION)
HMOR_PAIR(widest_tanh, HMOR_WIDEST, Eight, HMOR_TANH)
HMOR_PAIR(widest_sigmoid, HMOR_WIDEST, Eight, HMOR_SIGMOID)
#endif

// By activation, by groups of four rows.
template <class Kernel>
using Kernels = std::array<std::array<Kernel, 5>, 3>;

#define HMOR_KERNELS(HOST, END)                                                                                 \
  {                                                                                                             \
    {{nullptr, HOST##_none##END<1>, HOST##_none##END<2>, HOST##_none##END<3>, HOST##_none##END<4>},             \
     {nullptr, HOST##_tanh##END<1>, HOST##_tanh##END<2>, HOST##_tanh##END<3>, HOST##_tanh##END<4>},             \
     {nullptr, HOST##_sigmoid##END<1>, HOST##_sigmoid##END<2>, HOST##_sigmoid##END<3>, HOST##_sigmoid##END<4>}} \
  }

// Eight and sixteen rows in groups of eight.
#define HMOR_WIDEST_KERNELS(END)                                                                            \
  {                                                                                                         \
    {{nullptr, wide_none##END<1>, widest_none##END<1>, wide_none##END<3>, widest_none##END<2>},             \
     {nullptr, wide_tanh##END<1>, widest_tanh##END<1>, wide_tanh##END<3>, widest_tanh##END<2>},             \
     {nullptr, wide_sigmoid##END<1>, widest_sigmoid##END<1>, wide_sigmoid##END<3>, widest_sigmoid##END<2>}} \
  }

#if defined(HMOR_WIDE)
#define HMOR_OF_THIS_HOST(KERNEL, END)                               \
  (has_widest_registers() ? Kernels<KERNEL> HMOR_WIDEST_KERNELS(END) \
   : has_wide_registers() ? Kernels<KERNEL> HMOR_KERNELS(wide, END)  \
                          : Kernels<KERNEL> HMOR_KERNELS(plain, END))
#else
#define HMOR_OF_THIS_HOST(KERNEL, END) Kernels<KERNEL> HMOR_KERNELS(plain, END)
#endif
const Kernels<Layer> kernels = HMOR_OF_THIS_HOST(Layer, );
const Kernels<LayerWithOutput> kernels_with_output = HMOR_OF_THIS_HOST(LayerWithOutput, _output);

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

LayerWithOutput layer_of_any_host(Activation activation, int ld) noexcept {
  static const Kernels<LayerWithOutput> plain HMOR_KERNELS(plain, _output);
  return plain[static_cast<std::size_t>(activation)][static_cast<std::size_t>(ld) / 4];
}

}  // namespace hmor
