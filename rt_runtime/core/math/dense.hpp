#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <vector>

/// One kernel, compiled for AVX2 hosts and for any x86-64; the loader picks. Arithmetic is the same in both
/// (no fused multiply-add), only the width of the registers differs.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(HMOR_SANITIZE)
#define HMOR_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define HMOR_CLONES
#endif

namespace hmor {

/// Rows are padded to whole groups of four so that kernels have no remainder loop.
constexpr int padded(int n) noexcept { return (n + 3) & ~3; }

/// Allocates at the start of a cache line, so that no vector register is loaded across two of them.
template <class T>
struct CacheLines {
  using value_type = T;
  CacheLines() = default;
  template <class U>
  CacheLines(const CacheLines<U>&) noexcept {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64})); }
  void deallocate(T* p, std::size_t) noexcept { ::operator delete(p, std::align_val_t{64}); }
  bool operator==(const CacheLines&) const noexcept { return true; }
};
using Numbers = std::vector<double, CacheLines<double>>;

/// Dense column-major matrix whose capacity is fixed when it is built; a(i, j) = data[j * ld + i].
/// Padding rows are zero and stay zero.
class Matrix {
 public:
  /// Outside the loop: allocates.
  Matrix() = default;
  Matrix(int rows, int cols) : rows_(rows), cols_(cols), ld_(padded(rows)) {
    if (rows < 0 || cols < 0) throw std::invalid_argument("rows and columns of a matrix must not be negative.");
    data_.assign(static_cast<std::size_t>(ld_) * static_cast<std::size_t>(cols), 0.0);
  }
  /// Outside the loop: from row-major numbers, as numpy stores them.
  static Matrix from_rows(const double* a, int rows, int cols) {
    Matrix m(rows, cols);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < cols; ++j) m(i, j) = a[static_cast<std::size_t>(i) * cols + j];
    return m;
  }

  // In the loop.
  double& operator()(int i, int j) noexcept { return data_[static_cast<std::size_t>(j) * ld_ + i]; }
  double operator()(int i, int j) const noexcept { return data_[static_cast<std::size_t>(j) * ld_ + i]; }
  double* data() noexcept { return data_.data(); }
  const double* data() const noexcept { return data_.data(); }
  double* column(int j) noexcept { return data_.data() + static_cast<std::size_t>(j) * ld_; }
  const double* column(int j) const noexcept { return data_.data() + static_cast<std::size_t>(j) * ld_; }
  int rows() const noexcept { return rows_; }
  int cols() const noexcept { return cols_; }
  int ld() const noexcept { return ld_; }

 private:
  Numbers data_;
  int rows_ = 0, cols_ = 0, ld_ = 0;
};

/// y = A x for 0 to 4 groups of four rows, chosen for this host when the program starts.
using MultiplyKernel = void (*)(const double* a, std::ptrdiff_t ld, int cols, const double* x, double* y) noexcept;
using MultiplyKernels = std::array<MultiplyKernel, 5>;
extern const MultiplyKernels multiply_kernels;

/// In the loop. The same for more than four groups.
void multiply_tall(const double* a, std::ptrdiff_t ld, int cols, const double* x, double* y) noexcept;

/// Outside the loop. The kernel for matrices with this `ld`, for a block that multiplies the same matrix every tick.
inline MultiplyKernel multiply_kernel(int ld) noexcept {
  return ld > 16 ? multiply_tall : multiply_kernels[static_cast<std::size_t>(ld) / 4];
}

/// In the loop. y = A x with A column-major, `ld` a multiple of four; writes ld numbers to y. y must not alias x.
inline void multiply(const double* a, int ld, int cols, const double* x, double* y) noexcept {
  if (ld > 16) return multiply_tall(a, ld, cols, x, y);
  multiply_kernels[static_cast<std::size_t>(ld) / 4](a, ld, cols, x, y);
}

/// In the loop. y = A x; y has room for A.ld() numbers.
inline void multiply(const Matrix& a, const double* x, double* y) noexcept {
  multiply(a.data(), a.ld(), a.cols(), x, y);
}

/// In the loop. In place A = L L' on the lower triangle; false when A is not positive definite (A is then spoilt).
bool cholesky(Matrix& a) noexcept;

/// In the loop. x = L^-1 x with the lower triangle of `l`.
void solve_lower(const Matrix& l, double* x) noexcept;

/// In the loop. x = L^-T x with the lower triangle of `l`.
void solve_lower_transposed(const Matrix& l, double* x) noexcept;

/// In the loop. x = A^-1 x from the Cholesky factor of A.
inline void solve(const Matrix& l, double* x) noexcept {
  solve_lower(l, x);
  solve_lower_transposed(l, x);
}

}  // namespace hmor
