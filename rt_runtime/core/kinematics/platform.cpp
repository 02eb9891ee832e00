#include "kinematics/platform.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace hmor {

namespace {

using Vector = std::array<double, 3>;

double dot(const Vector& a, const Vector& b) noexcept { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector cross(const Vector& a, const Vector& b) noexcept {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// Columns of A and the axes of the second and third rotation.
struct Rotation {
  Vector x, y, z, second, third;
};

Rotation rotation(const double* th) noexcept {
  const double cx = std::cos(th[0]), sx = std::sin(th[0]), cy = std::cos(th[1]), sy = std::sin(th[1]);
  const double cz = std::cos(th[2]), sz = std::sin(th[2]);
  return {{cy * cz, cx * sz + sx * sy * cz, sx * sz - cx * sy * cz},
          {-cy * sz, cx * cz - sx * sy * sz, sx * cz + cx * sy * sz},
          {sy, -sx * cy, cx * cy},
          {0.0, cx, sx},
          {sy, -sx * cy, cx * cy}};
}

Vector turned(const Rotation& a, const Vector& b) noexcept {
  Vector r;
  for (std::size_t i = 0; i < 3; ++i) r[i] = a.x[i] * b[0] + a.y[i] * b[1] + a.z[i] * b[2];
  return r;
}

}  // namespace

Platform::Platform(const std::vector<double>& fixed, const std::vector<double>& moving,
                   const std::vector<double>& stroke) {
  if (fixed.size() != 3 * limbs || moving.size() != 3 * limbs || stroke.size() != 2 * limbs)
    throw std::invalid_argument("a platform must have six fixed and six moving joints and six strokes.");
  for (std::size_t i = 0; i < limbs; ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      fixed_[i][k] = fixed[3 * i + k];
      moving_[i][k] = moving[3 * i + k];
    }
    const Vector s{moving_[i][0] - fixed_[i][0], moving_[i][1] - fixed_[i][1], moving_[i][2] - fixed_[i][2]};
    rest_[i] = std::sqrt(dot(s, s));
    lower_[i] = stroke[2 * i];
    upper_[i] = stroke[2 * i + 1];
    if (!(rest_[i] > 0.0 && lower_[i] < 0.0 && upper_[i] > 0.0))
      throw std::invalid_argument("limbs of a platform must have a length, and strokes to both sides.");
  }
}

void Platform::strokes(const double* pose, double* stroke) const noexcept {
  const Rotation a = rotation(pose + 3);
  for (std::size_t i = 0; i < limbs; ++i) {
    Vector s = turned(a, moving_[i]);
    for (std::size_t k = 0; k < 3; ++k) s[k] += pose[k] - fixed_[i][k];
    stroke[i] = std::sqrt(dot(s, s)) - rest_[i];
  }
}

void Platform::evaluate(const double* pose, double* stroke, Jacobian& jacobian) const noexcept {
  const Rotation a = rotation(pose + 3);
  for (std::size_t i = 0; i < limbs; ++i) {
    const Vector r = turned(a, moving_[i]);
    Vector n;
    for (std::size_t k = 0; k < 3; ++k) n[k] = pose[k] + r[k] - fixed_[i][k];
    const double length = std::max(std::sqrt(dot(n, n)), 1e-12);
    for (double& value : n) value /= length;
    const Vector m = cross(r, n);
    jacobian[i] = {n[0], n[1], n[2], m[0], dot(m, a.second), dot(m, a.third)};
    stroke[i] = length - rest_[i];
  }
}

double Platform::margin(const double* stroke) const noexcept {
  double least = 1.0;
  for (std::size_t i = 0; i < limbs; ++i) {
    const double half = 0.5 * (upper_[i] - lower_[i]);
    least = std::min(least, std::min(stroke[i] - lower_[i], upper_[i] - stroke[i]) / half);
  }
  return least;
}

namespace {

constexpr std::size_t n = Platform::limbs;

/// Elimination with row exchange on a (already scaled); y becomes the solution. Returns smallest over largest pivot.
double eliminate(Platform::Jacobian& a, Platform::Strokes& y) noexcept {
  double least = 0.0, most = 0.0;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t row = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(a[i][k]) > std::abs(a[row][k])) row = i;
    const double pivot = std::abs(a[row][k]);
    if (!(pivot > 0.0) || !std::isfinite(pivot)) return 0.0;
    std::swap(a[k], a[row]);
    std::swap(y[k], y[row]);
    least = k == 0 ? pivot : std::min(least, pivot);
    most = std::max(most, pivot);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k + 1; j < n; ++j) a[i][j] -= factor * a[k][j];
      y[i] -= factor * y[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) y[k] -= a[k][j] * y[j];
    y[k] /= a[k][k];
  }
  return least / most;
}

}  // namespace

double solve(Platform::Jacobian j, double* x) noexcept {
  for (auto& row : j)
    for (std::size_t k = 3; k < n; ++k) row[k] /= Platform::lever;
  Platform::Strokes y;
  std::copy_n(x, n, y.begin());
  const double pivot = eliminate(j, y);
  if (pivot > 0.0)
    for (std::size_t k = 0; k < n; ++k) x[k] = k < 3 ? y[k] : y[k] / Platform::lever;
  return pivot;
}

double solve_transposed(const Platform::Jacobian& j, double* x) noexcept {
  Platform::Jacobian t;
  Platform::Strokes y;
  for (std::size_t i = 0; i < n; ++i) {
    const double scale = i < 3 ? 1.0 : 1.0 / Platform::lever;
    for (std::size_t k = 0; k < n; ++k) t[i][k] = j[k][i] * scale;
    y[i] = x[i] * scale;
  }
  const double pivot = eliminate(t, y);
  if (pivot > 0.0) std::copy(y.begin(), y.end(), x);
  return pivot;
}

}  // namespace hmor
