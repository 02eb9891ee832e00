#include "math/dense.hpp"

namespace hmor {

namespace {

typedef double Four __attribute__((vector_size(32), aligned(8)));

// y = A x for G groups of four rows. Even and odd columns are summed apart: two short chains of additions, not a long one.
// The text is compiled twice, for hosts with 32-byte registers and for any host; a shared inline function would be cut
// down to the plainest host before it is inlined.
#define HMOR_MULTIPLY_BODY                                                                      \
  {                                                                                             \
    Four even[G] = {}, odd[G] = {};                                                             \
    int j = 0;                                                                                  \
    if (cols >= 2) {                                                                            \
      _Pragma("GCC unroll 4") for (int g = 0; g < G; ++g) {                                     \
        even[g] = reinterpret_cast<const Four*>(a)[g] * x[0];                                   \
        odd[g] = reinterpret_cast<const Four*>(a + ld)[g] * x[1];                               \
      }                                                                                         \
      for (j = 2, a += 2 * ld; j + 2 <= cols; j += 2, a += 2 * ld)                              \
        _Pragma("GCC unroll 4") for (int g = 0; g < G; ++g) {                                   \
          even[g] += reinterpret_cast<const Four*>(a)[g] * x[j];                                \
          odd[g] += reinterpret_cast<const Four*>(a + ld)[g] * x[j + 1];                        \
        }                                                                                       \
    }                                                                                           \
    if (j < cols)                                                                               \
      _Pragma("GCC unroll 4") for (int g = 0; g < G; ++g) even[g] +=                            \
          reinterpret_cast<const Four*>(a)[g] * x[j];                                           \
    _Pragma("GCC unroll 4") for (int g = 0; g < G; ++g) reinterpret_cast<Four*>(y)[g] = even[g] + odd[g]; \
  }

template <int G>
void plain(const double* a, std::ptrdiff_t ld, int cols, const double* x, double* y) noexcept HMOR_MULTIPLY_BODY

void nothing(const double*, std::ptrdiff_t, int, const double*, double*) noexcept {}

#if defined(__x86_64__)
template <int G>
__attribute__((target("avx2"))) void wide(const double* a, std::ptrdiff_t ld, int cols, const double* x,
                                          double* y) noexcept HMOR_MULTIPLY_BODY

bool has_wide_registers() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") != 0;
}
#endif

#undef HMOR_MULTIPLY_BODY

}  // namespace

const MultiplyKernels multiply_kernels = [] {
#if defined(__x86_64__)
  if (has_wide_registers()) return MultiplyKernels{nothing, wide<1>, wide<2>, wide<3>, wide<4>};
#endif
  return MultiplyKernels{nothing, plain<1>, plain<2>, plain<3>, plain<4>};
}();

void multiply_tall(const double* a, std::ptrdiff_t ld, int cols, const double* x, double* y) noexcept {
  std::ptrdiff_t i = 0;
  for (; ld - i > 16; i += 16) multiply_kernels[4](a + i, ld, cols, x, y + i);
  multiply_kernels[static_cast<std::size_t>(ld - i) / 4](a + i, ld, cols, x, y + i);
}

bool cholesky(Matrix& a) noexcept {
  const int n = a.rows();
  for (int j = 0; j < n; ++j) {
    double pivot = a(j, j);
    for (int k = 0; k < j; ++k) pivot -= a(j, k) * a(j, k);
    if (!(pivot > 0.0)) return false;
    pivot = std::sqrt(pivot);
    a(j, j) = pivot;
    for (int i = j + 1; i < n; ++i) {
      double sum = a(i, j);
      for (int k = 0; k < j; ++k) sum -= a(i, k) * a(j, k);
      a(i, j) = sum / pivot;
    }
  }
  return true;
}

void solve_lower(const Matrix& l, double* x) noexcept {
  const int n = l.rows();
  for (int j = 0; j < n; ++j) {
    x[j] /= l(j, j);
    const double* column = l.column(j);
    for (int i = j + 1; i < n; ++i) x[i] -= column[i] * x[j];
  }
}

void solve_lower_transposed(const Matrix& l, double* x) noexcept {
  for (int j = l.rows() - 1; j >= 0; --j) {
    const double* column = l.column(j);
    double sum = x[j];
    for (int i = j + 1; i < l.rows(); ++i) sum -= column[i] * x[i];
    x[j] = sum / column[j];
  }
}

}  // namespace hmor
