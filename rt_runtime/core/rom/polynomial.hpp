#pragma once

#include <vector>

#include "math/dense.hpp"

namespace hmor {

/// Univariate polynomials by their roots, four side by side. Roots that are opposite to rounding, as all those of an even
/// or odd polynomial are, share one factor in z^2:
///
///   r_i = prod_k (gain_ik z_i + shift_ik) = prod_a (g_ia z_i + s_ia) prod_b (G_ib z_i^2 + S_ib)
class Factors {
 public:
  Factors() = default;
  /// Outside the loop. Gains and shifts of each row, at least one.
  Factors(const std::vector<std::vector<double>>& gain, const std::vector<std::vector<double>>& shift);

  /// In the loop. z and r: one number a row, rows padded to whole groups of four.
  void run(const double* z, double* r) const noexcept;

  /// Multiply-adds of `run`.
  int work() const noexcept { return static_cast<int>(numbers_.size()) / 2; }

 private:
  Numbers numbers_;                    // group after group: four gains, four shifts of each linear, then square factor
  std::vector<int> linear_, squares_;  // how many of them
};

/// Terms of a polynomial in several variables, r_o = sum_t c_ot p_t + c_o with p_t = prod_j x_{place_jt}.
///
/// Terms are put in an order in which those of one output stand side by side, and within it those with as many factors;
/// an output is then one dot product over its own terms.
class Terms {
 public:
  Terms() = default;
  /// Outside the loop. Factors of each term as places, at least one; coefficients (outputs, terms).
  Terms(const std::vector<std::vector<int>>& factors, const Matrix& coefficients, std::vector<double> constant);

  /// In the loop.
  void run(const double* array, double* r) noexcept;

  /// Multiply-adds of `run`.
  int work() const noexcept { return work_; }

 private:
  struct Segment {  // terms begin to end with `count` factors each; places_ from `at` on, factor after factor
    int begin, end, count, at;
  };
  struct Output {  // dot product with p from `begin` on over `groups` of four; coefficients_ from `at` on
    int begin, groups, at;
  };

  std::vector<Segment> segments_;
  std::vector<Output> outputs_;
  std::vector<int> places_;
  Numbers coefficients_, products_;
  std::vector<double> constant_;
  int work_ = 0;
};

}  // namespace hmor
