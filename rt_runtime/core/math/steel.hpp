#pragma once

namespace hmor {

/// Numbers of the law of Giuffre, Menegotto and Pinto that all bars share (mor/reduced/hysteresis/steel.py):
/// R = R0 - R1 xi / (c + xi); `least` bounds |w| and `tiny` the ratio r from below, `limit` bounds R ln r from above.
struct SteelLaw {
  double least = 1e-9, c = 0.15, R0 = 18.0, R1 = 16.65, tiny = 1e-300, limit = 80.0;
};

/// In the loop. One step of n reinforcing bars, n a multiple of four:
///
///   places   (8, n)  where in `array` the signal and the states p, d, e_r, q_r, q, high and low of each bar stand
///   numbers  (3, n)  its strains at signals of 1 and -1 (the latter turned), and the radius of the play p
///   r        (7, n)  its next states
///
/// with the same bits as the operators of docs/bundle_format.md one by one.
using SteelBars = void (*)(const double* array, const int* places, const double* numbers, const SteelLaw& law, double* r,
                           int n) noexcept;

/// In the loop. For this host.
extern const SteelBars steel_bars;
/// Outside the loop. The same compiled for any host, for tests.
SteelBars steel_bars_of_any_host();

}  // namespace hmor
