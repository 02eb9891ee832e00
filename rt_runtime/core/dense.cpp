#include "dense.hpp"

namespace hmor {

HMOR_CLONES
void multiply(const double* a, int ld, int cols, const double* x, double* y) noexcept {
  typedef double Four __attribute__((vector_size(32), aligned(8)));
  int i = 0;
  for (; i + 8 <= ld; i += 8) {
    Four low{}, high{};
    const double* column = a + i;
    for (int j = 0; j < cols; ++j, column += ld) {
      low += *reinterpret_cast<const Four*>(column) * x[j];
      high += *reinterpret_cast<const Four*>(column + 4) * x[j];
    }
    *reinterpret_cast<Four*>(y + i) = low;
    *reinterpret_cast<Four*>(y + i + 4) = high;
  }
  if (i < ld) {
    Four sum{};
    const double* column = a + i;
    for (int j = 0; j < cols; ++j, column += ld) sum += *reinterpret_cast<const Four*>(column) * x[j];
    *reinterpret_cast<Four*>(y + i) = sum;
  }
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
