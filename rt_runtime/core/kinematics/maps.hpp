#pragma once

#include <algorithm>
#include <cmath>

#include "engine/block.hpp"
#include "kinematics/platform.hpp"

namespace hmor {

/// Pose (6) -> strokes (6) and the margin of the strokes to their limits.
class InverseKinematics final : public Block {
 public:
  /// Outside the loop.
  explicit InverseKinematics(const Platform& platform) : Block(6, 7), platform_(platform) {}
  void step(double, const double* in, double* out) noexcept override {
    platform_.strokes(in, out);
    out[6] = platform_.margin(out);
  }
  void reset() noexcept override {}
  Work work() const noexcept override { return {Platform::strokes_flops + 36.0}; }

 private:
  Platform platform_;
};

/// Strokes (6) -> pose (6), residual, pivot, by a fixed number of Newton steps from the pose of the last tick:
///
///   w <- w + J(w)^-1 (stroke - f(w))
///
/// When a step would leave |v| <= reach, |th| <= turn, when the pivot of J is below `least_pivot` or a stroke is not
/// finite, the pose of the last tick stays. residual = max |stroke - f(pose)|, at most 1 m; pivot as `solve` gives it.
class ForwardKinematics final : public Block {
 public:
  /// Outside the loop.
  ForwardKinematics(const Platform& platform, int steps, double reach, double turn, double least_pivot)
      : Block(6, 8, 6), platform_(platform), steps_(steps), reach_(reach), turn_(turn), least_pivot_(least_pivot) {
    if (steps < 1) throw std::invalid_argument("steps of ForwardKinematics must be at least 1.");
  }
  void step(double, const double* in, double* out) noexcept override {
    Platform::Strokes pose = pose_, stroke, change;
    Platform::Jacobian jacobian;
    double pivot = 0.0;
    bool good = std::all_of(in, in + 6, [](double s) { return std::isfinite(s); });
    for (int k = 0; good && k < steps_; ++k) {
      platform_.evaluate(pose.data(), stroke.data(), jacobian);
      for (std::size_t i = 0; i < 6; ++i) change[i] = in[i] - stroke[i];
      pivot = solve(jacobian, change.data());
      good = pivot >= least_pivot_;
      for (std::size_t i = 0; good && i < 6; ++i) {
        pose[i] += change[i];
        good = std::abs(pose[i]) <= (i < 3 ? reach_ : turn_);
      }
    }
    if (good) pose_ = pose;
    platform_.strokes(pose_.data(), stroke.data());
    double residual = 0.0;
    for (std::size_t i = 0; i < 6; ++i) {
      const double error = std::abs(in[i] - stroke[i]);
      residual = std::max(residual, error <= 1.0 ? error : 1.0);
    }
    std::copy(pose_.begin(), pose_.end(), out);
    out[6] = residual;
    out[7] = pivot;
  }
  void reset() noexcept override { pose_.fill(0.0); }
  /// Each Newton step, then the residual.
  Work work() const noexcept override {
    return {steps_ * (Platform::evaluate_flops + Platform::solve_flops + 24.0) + Platform::strokes_flops + 24.0, steps_};
  }

 private:
  Platform platform_;
  int steps_;
  double reach_, turn_, least_pivot_;
  Platform::Strokes pose_{};
};

/// Forces of the limbs (6) and pose (6) -> force and moment [F; M] = J(w)^T f on the platform; `inverse`: from [F; M]
/// to the forces of the limbs (zero where J is singular).
class ForceTransform final : public Block {
 public:
  /// Outside the loop.
  ForceTransform(const Platform& platform, bool inverse) : Block(12, 6), platform_(platform), inverse_(inverse) {}
  void step(double, const double* in, double* out) noexcept override {
    Platform::Strokes stroke;
    Platform::Jacobian jacobian;
    platform_.evaluate(in + 6, stroke.data(), jacobian);
    if (inverse_) {
      std::copy(in, in + 6, out);
      if (!(solve_transposed(jacobian, out) > 0.0)) std::fill(out, out + 6, 0.0);
      return;
    }
    for (std::size_t j = 0; j < 6; ++j) {
      out[j] = 0.0;
      for (std::size_t i = 0; i < 6; ++i) out[j] += jacobian[i][j] * in[i];
    }
  }
  void reset() noexcept override {}
  Work work() const noexcept override {
    return {Platform::evaluate_flops + (inverse_ ? Platform::solve_flops : 72.0)};
  }

 private:
  Platform platform_;
  bool inverse_;
};

}  // namespace hmor
