#pragma once

#include <array>
#include <vector>

namespace hmor {

/// Six limbs between a fixed frame and a moving platform. With the pose w = [v, th] of the platform (m, rad),
/// A = A_x(th_x) A_y(th_y) A_z(th_z), fixed joints a_i and joints b_i in the frame of the platform:
///
///   r_i = A b_i,   s_i = v + r_i - a_i,   stroke_i = |s_i| - |s_i at rest|
///   n_i = s_i / |s_i|,   J_i = [n_i, (r_i x n_i) . axis],   axes e_x, A_x e_y, A_x A_y e_z
class Platform {
 public:
  static constexpr int limbs = 6;
  static constexpr double lever = 0.1;  // m; rotations are scaled with it, so that pivots have one unit
  /// Floating-point operations of `strokes`, `evaluate` and `solve`; a sine or cosine counts 20.
  static constexpr double strokes_flops = 320.0, evaluate_flops = 440.0, solve_flops = 290.0;
  using Strokes = std::array<double, limbs>;
  using Jacobian = std::array<std::array<double, limbs>, limbs>;  // row by row

  /// Outside the loop. fixed, moving: 18 numbers each, limb by limb; stroke: 12 numbers, lower and upper limb by limb.
  Platform(const std::vector<double>& fixed, const std::vector<double>& moving, const std::vector<double>& stroke);

  // In the loop.
  void strokes(const double* pose, double* stroke) const noexcept;
  void evaluate(const double* pose, double* stroke, Jacobian& jacobian) const noexcept;
  /// Smallest distance of a stroke from its limits over half the way between them: 1 in the middle, 0 at a limit.
  double margin(const double* stroke) const noexcept;

 private:
  std::array<std::array<double, 3>, limbs> fixed_, moving_;
  Strokes rest_, lower_, upper_;
};

/// In the loop. x = J^-1 x by elimination with row exchange; returns the smallest over the largest pivot of J with its
/// rotation columns divided by the lever. Zero when J is singular or not finite: x is then left as it is.
double solve(Platform::Jacobian j, double* x) noexcept;

/// In the loop. The same for x = J^-T x.
double solve_transposed(const Platform::Jacobian& j, double* x) noexcept;

}  // namespace hmor
