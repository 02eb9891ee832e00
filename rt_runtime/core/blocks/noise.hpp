#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "engine/block.hpp"

namespace hmor {

/// Uniform random bits: xoshiro256++ (Blackman and Vigna), seeded through SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept {
    for (auto& word : s_) {
      seed += 0x9e3779b97f4a7c15u;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      word = z ^ (z >> 31);
    }
  }
  /// In the loop.
  std::uint64_t next() noexcept {
    const std::uint64_t result = std::rotl(s_[0] + s_[3], 23) + s_[0];
    const std::uint64_t t = s_[1] << 17;
    s_[2] ^= s_[0];
    s_[3] ^= s_[1];
    s_[1] ^= s_[2];
    s_[0] ^= s_[3];
    s_[2] ^= t;
    s_[3] = std::rotl(s_[3], 45);
    return result;
  }
  /// In the loop. Uniform in (0, 1].
  double uniform() noexcept { return static_cast<double>((next() >> 11) + 1) * 0x1.0p-53; }

 private:
  std::uint64_t s_[4];
};

/// Independent Gaussian noise per channel, y_i ~ N(0, deviation_i^2), by Box-Muller: bounded work, two draws a pair.
class Noise final : public Block {
 public:
  /// Outside the loop.
  Noise(std::vector<double> deviation, std::uint64_t seed)
      : Block(0, static_cast<int>(deviation.size()), 4), deviation_(std::move(deviation)), seed_(seed), random_(seed) {}

  void step(double, const double*, double* out) noexcept override {
    for (int i = 0; i < n_out(); i += 2) {
      const double radius = std::sqrt(-2.0 * std::log(random_.uniform()));
      const double angle = 2.0 * std::numbers::pi * random_.uniform();
      out[i] = deviation_[i] * radius * std::cos(angle);
      if (i + 1 < n_out()) out[i + 1] = deviation_[i + 1] * radius * std::sin(angle);
    }
  }
  void reset() noexcept override { random_ = Random(seed_); }

 private:
  std::vector<double> deviation_;
  std::uint64_t seed_;
  Random random_;
};

}  // namespace hmor
