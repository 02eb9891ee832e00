#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <vector>

#include "math/dense.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hmor {

using Array1 = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Array2 = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline std::vector<double> to_vector(const Array1& a) { return {a.data(), a.data() + a.size()}; }

inline Matrix to_matrix(const Array2& a) {
  return Matrix::from_rows(a.data(), static_cast<int>(a.shape(0)), static_cast<int>(a.shape(1)));
}

/// A new numpy array (n) or (rows, cols) that owns a copy of `data`.
inline nb::ndarray<nb::numpy, double> to_numpy(const double* data, std::initializer_list<std::size_t> shape) {
  std::size_t size = 1;
  for (std::size_t n : shape) size *= n;
  auto* copy = new double[size > 0 ? size : 1];
  for (std::size_t i = 0; i < size; ++i) copy[i] = data[i];
  nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  return {copy, shape.size(), shape.begin(), owner};
}

/// A new numpy array (rows, cols).
inline nb::ndarray<nb::numpy, double> to_numpy(const Matrix& a) {
  std::vector<double> rows;
  for (int i = 0; i < a.rows(); ++i)
    for (int j = 0; j < a.cols(); ++j) rows.push_back(a(i, j));
  return to_numpy(rows.data(), {static_cast<std::size_t>(a.rows()), static_cast<std::size_t>(a.cols())});
}

void bind_engine(nb::module_& m);
void bind_blocks(nb::module_& m);
void bind_control(nb::module_& m);
void bind_kinematics(nb::module_& m);
void bind_runtime(nb::module_& m);
void bind_safety(nb::module_& m);
void bind_actuators(nb::module_& m);
void bind_rom(nb::module_& m);
void bind_interop(nb::module_& m);

}  // namespace hmor
