#pragma once

namespace hmor {

/// Families of one-variable correlations, in the order of mor/reduced/kriging/kernels.py.
enum class Correlation : int { linear, exponential, matern32, matern52, gaussian };

/// In the loop. Products of one-variable correlations of a point z (d) with n points, n a multiple of four:
///
///   r_j = prod_i (1 - w_i + w_i k(|z_i - points_ij| rate_i)),   points (d, n) row after row.
///
/// k(a): max(0, 1 - a); exp(-a); (1 + a) exp(-a); (1 + a + a^2/3) exp(-a); exp(-a^2/2). With w = nullptr, all w_i are 1
/// and one exponential function is enough for a point.
using Correlations = void (*)(const double* z, int d, const double* points, const double* rate, const double* w,
                              double* r, int n) noexcept;

/// Outside the loop. The function for a family, with or without weights, for this host.
Correlations correlations_kernel(Correlation family, bool weighted);
/// Outside the loop. The same for any host, for tests.
Correlations correlations_of_any_host(Correlation family, bool weighted);

}  // namespace hmor
