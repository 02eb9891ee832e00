#pragma once

#include <vector>

#include "engine/block.hpp"
#include "math/dense.hpp"

namespace hmor {

/// Stability warning: does the loop gain more energy than the numerical structure dissipates?
///
///   W_F = int -f' dx_i,   E_d = int v' C dx,   x_i = G x   (trapezoidal sums, updated every tick)
///   SW  = W_F / (max(E_d, 0) + margin) when W_F > 0, else 0;   SW >= 1: stop the test
///
/// x (n) m, v (n) m/s and C (n, n) of the numerical structure, f (m) feedback force in N at the interface, G (m, n)
/// picks the interface, margin in J (about 1 % of the expected input work). Inputs: x, v, f. Outputs: SW, W_F, E_d.
class StabilityWarning final : public Block {
 public:
  /// Outside the loop.
  StabilityWarning(Matrix damping, Matrix interface, double margin);
  void step(double t, const double* in, double* out) noexcept override;
  void reset() noexcept override;

 private:
  Matrix damping_, interface_;
  double margin_;
  std::vector<double> dx_, force_, work_, x_, cv_, f_;  // cv_ = C v and f_ of the last tick
  double w_ = 0.0, e_ = 0.0;
  bool started_ = false;
};

/// Energy error of the loop, for comparison with SW. With v* = (x_k - x_{k-1}) / dt:
///
///   W_I = int p' dx,  E_k* = v*' M v* / 2,  E_d* = int v*' C dx,  E_s = x' K x / 2,  W_exp = int -f' dx_m
///   EEI = (W_I - (E_k* + E_d* + E_s - W_exp)) / (max(W_I, 0) + e_most)
///
/// p (n) N excitation force on the numerical structure, f (m) N feedback force, x_m (m) m measured displacement, e_most
/// in J. Inputs: x, p, f, x_m. Outputs: EEI, W_I.
class EnergyErrorIndicator final : public Block {
 public:
  /// Outside the loop. mass, damping, stiffness (n, n); m interface coordinates.
  EnergyErrorIndicator(Matrix mass, Matrix damping, Matrix stiffness, int m, double e_most, double dt);
  void step(double t, const double* in, double* out) noexcept override;
  void reset() noexcept override;

 private:
  Matrix mass_, damping_, stiffness_;
  int m_;
  double e_most_;
  std::vector<double> dx_, product_, last_;
  double w_i_ = 0.0, e_d_ = 0.0, w_exp_ = 0.0;
  bool started_ = false;
};

}  // namespace hmor
