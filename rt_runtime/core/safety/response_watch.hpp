#pragma once

#include <cstdint>
#include <vector>

#include "engine/block.hpp"

namespace hmor {

/// What a ResponseWatch is told; times in ticks.
struct WatchSettings {
  std::vector<int> lags;      ///< l_0 = 0 < l_1 < ... < l_n, bounds of the means that make up the model
  int every = 1;              ///< one sample of so many is learned
  std::int64_t learn = 1000;  ///< least ticks before it judges
  double tolerance = 0.05;    ///< allowed residual as a part of the largest response
  double caution = 1.0;       ///< c, weight of the misfit
  double nominal = 0.0;       ///< declared gain; 0: none
  int window = 50;            ///< ticks of the noise estimate
  double experience = 200.0;  ///< learned samples at full motion before it judges
  int memory = 250;           ///< ticks of the means of residuals
  int oldest = 0;             ///< largest age that is judged; 0: there is no age input
  bool together = false;      ///< u is as old as y: the age only tells which ticks brought an answer
};

/// Does a response y still follow its cause u as it did before? A linear model is learned from the run itself,
///
///   z_k = y_k - y_0,   z^ = w' phi,   w = (sum phi phi' + 1e-9 tr I)^-1 sum phi z
///   phi_j = mean of u_{k - age - i} - u_0 over l_{j-1} <= i < l_j,   j = 1 .. n
///
/// by least squares over every `every`-th sample with doubt, drift and lag below 1/2. With the residual r = z - z^, the
/// relative misfit rho = |z - w' phi|_2 / |z|_2 of the model to those samples, the noise s (mean square of the second
/// difference of y is 6 s^2), the largest |z| so far, Z, the velocity v of z^, and <.> a running mean over the last
/// `memory` ticks that were judged without a pause (drift and lag are 0 before there are so many):
///
///   doubt  = |r| / ((tolerance + 3 c rho) Z + 6 s)        1 and more: y is not the response to u
///   drift  = |<r>| / ((tolerance / 2 + 1.5 c rho) Z + 2 s)  the same for what stays: an offset that creeps
///   lag    = |<r v>| / (<v v> max(<z^ z^>, (Z / 10)^2))^1/2 / (tolerance + 3 c rho)  and for a delay that grows
///   gain   = slope of z over the phi_j of best correlation, over `nominal`; 1 while unknown
///   frozen = |change of z^ since y changed last| / Z: an exactly standing or coarsely quantised sensor
///   quiet  = noise power learned at first / noise power now: a sensor whose noise has gone
///
/// Noise power is at first the least running mean of -d_k d_{k-1} over second differences d, 4 s^2 for white noise and
/// negative for a smooth motion; later that of (2/3) d^2. Nothing is judged before `learn` ticks, nor while rho exceeds
/// 1/2 (y has little to do with u), Z is below 20 s, or the motion is larger than what was learned: the sum of phi_1^2
/// over the learned samples must reach `experience` times the square of the largest phi_1 so far.
/// A tick without a new answer (the age grew) is left out.
/// Inputs: u, y, and the age of y in ticks when `oldest` > 0. Outputs: doubt, drift, lag, gain, frozen, quiet.
class ResponseWatch final : public Block {
 public:
  /// Outside the loop.
  ResponseWatch(WatchSettings settings, double dt);
  void step(double t, const double* in, double* out) noexcept override;
  void reset() noexcept override;
  /// Prediction and outputs, one learned sample, one solution.
  Work work() const noexcept override {
    const double n = n_;
    return {4.0 * n + 60.0 + 2.0 * n * n + n * n * n / 3.0 + 4.0 * n * n};
  }

 private:
  void learn(double z) noexcept;
  void hear(double y) noexcept;
  void solve() noexcept;
  double gain() const noexcept;
  double quiet() const noexcept;
  void look_back(double r, double v, double predicted) noexcept;

  WatchSettings s_;
  int n_;
  std::size_t mask_;
  std::vector<double> past_, phi_, w_, a_, b_, l_;
  std::int64_t k_ = 0, learned_ = 0, differences_ = 0, judged_ = 0;
  double u0_ = 0.0, y0_ = 0.0, zz_ = 0.0, misfit_ = 1.0, dd_ = 0.0, largest_ = 0.0, cause_ = 0.0;
  double y1_ = 0.0, y2_ = 0.0, d1_ = 0.0, noise_ = 0.0, power_ = 0.0, floor_ = 0.0, age_ = 0.0, still_ = 0.0;
  double last_ = 0.0, mean_ = 0.0, rv_ = 0.0, vv_ = 0.0, pp_ = 0.0;
};

/// Work done on a specimen, in a window that fades with `fade` s: a passive specimen gives back at most what it got.
///
///   a = 1 - dt / fade,   E_k = a E_{k-1} + (f_k + f_{k-1}) dx_k / 2,   N_k = a N_{k-1} + |dx_k df_k|
///   out = -E / (x_largest f_largest / 2 + 2 N)
///
/// with dx_k = x_k - x_{k-1}, df_k alike. 1 is the elastic energy of the largest motion, taken out of a specimen that
/// never got it: a force of the wrong sign. N is what noise can do; a smooth motion adds little to it.
/// Inputs: x, f (from their first values). Output: the ratio; 0 while nothing has moved.
class EnergyWatch final : public Block {
 public:
  /// Outside the loop.
  EnergyWatch(double fade, double dt);
  void step(double t, const double* in, double* out) noexcept override;
  void reset() noexcept override;

 private:
  double keep_;
  bool started_ = false;
  double x0_ = 0.0, f0_ = 0.0, x_ = 0.0, f_ = 0.0, energy_ = 0.0, noise_ = 0.0, most_x_ = 0.0, most_f_ = 0.0;
};

}  // namespace hmor
