#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "engine/block.hpp"
#include "math/correlation.hpp"
#include "math/dense.hpp"
#include "math/layer.hpp"
#include "math/steel.hpp"
#include "rom/polynomial.hpp"

namespace hmor {

/// Element-wise functions of one argument.
enum class Unary : int { none, tanh, sigmoid, relu, exp, log, neg, abs, sqrt, softplus };
/// Element-wise functions of two arguments; less and greater give 1 or 0.
enum class Binary : int { add, sub, mul, div, max, min, less, greater };

/// A reduced model as a flat list of steps on one array of numbers, compiled from an ONNX file (rt_runtime/rom.py).
///
/// Every tensor of the file is a list of places in the array, so that transposing, gathering and joining cost nothing.
/// The array starts with the inputs u, then the state, then constants and results. Kinds of step:
///
///   dense      r = f(W x + c)                                    one layer of a network with its activation, and
///                                                                behind it, if it has one, the only output v' r + d
///   factors    r_i = prod_k (gain_ik x_i + shift_ik)             univariate polynomials, see Factors
///   terms      r = C p + c,  p_t = prod_j x_{place_jt}           the terms of a polynomial in several variables, see
///                                                                Terms; two factors each and one output as f' C g + c
///   standard   r_i = (x_i - mean_i) / divisor_i
///   clip       r_i = min(max(x_i / divisor_i, lower_i), upper_i) a nan stays one
///   play       r_i = min(max(p_i, x_i - radius_i), x_i + radius_i)  play operators, p their state
///   bars       the next states of reinforcing bars, see SteelBars; each of the seven from a whole group of four on
///   select     r_i = condition_i ? a_i : b_i                     condition: not zero
///   correlations r_j = prod_i (1 - w_i + w_i k(|x_i - points_ij| rate_i))  a point with all rows of a Gaussian process
///   unary, binary, product                                       single operators, element by element
class Plan {
 public:
  /// Numbers of one plan: far more than a tick can compute, and their places fit in an int.
  static constexpr std::size_t most_numbers = std::size_t{1} << 26;

  /// Outside the loop. `size` numbers in all, the first n_u are inputs, the next n_state the state.
  Plan(int n_u, int n_state, std::vector<double> array, std::vector<int> outputs, std::vector<int> next_state);

  // Outside the loop: append a step. Places point into the array; results are written from place `out` on.
  void dense(std::vector<int> x, Matrix weights, std::vector<int> c, Unary function, int out);
  void factors(std::vector<int> x, std::vector<std::vector<double>> gain, std::vector<std::vector<double>> shift,
               int out);
  void terms(std::vector<std::vector<int>> places, Matrix coefficients, std::vector<double> constant, int out);
  void standard(std::vector<int> x, std::vector<double> mean, std::vector<double> divisor, int out);
  void clip(std::vector<int> x, std::vector<double> divisor, std::vector<double> lower, std::vector<double> upper,
            int out);
  void correlations(std::vector<int> x, const Matrix& points, std::vector<double> rate, std::vector<double> weight,
                    Correlation family, int out);
  void unary(Unary function, std::vector<int> x, int out);
  void binary(Binary function, std::vector<int> a, std::vector<int> b, int out);
  void product(std::vector<int> x, int count, int out);
  void play(std::vector<int> x, std::vector<int> p, std::vector<double> radius, int out);
  void bars(const std::vector<std::vector<int>>& places, const std::vector<std::vector<double>>& numbers,
            const SteelLaw& law, int out);
  void select(std::vector<int> condition, std::vector<int> a, std::vector<int> b, int out);

  /// In the loop. u (n_u) in, y (n_y) out; the state is taken from and left in the array.
  void run(const double* u, double* y) noexcept;
  /// In the loop. n_state numbers.
  double* state() noexcept { return array_.data() + n_u_; }
  const double* state() const noexcept { return array_.data() + n_u_; }

  int n_u() const noexcept { return n_u_; }
  int n_y() const noexcept { return static_cast<int>(outputs_.size()); }
  int n_state() const noexcept { return n_state_; }
  std::int64_t multiply_adds() const noexcept { return work_; }
  std::int64_t elements() const noexcept { return elements_; }
  std::size_t steps() const noexcept { return steps_.size(); }

 private:
  enum class Kind { dense, dot, factors, terms, form, standard, clip, correlations, unary, binary, product, play, bars, select };
  struct Step {
    Kind kind{};
    Unary unary{};
    Binary binary{};
    int out = 0, n = 0, count = 0;
    bool side_by_side = false;         // x stands in consecutive places from x[0] on
    bool reads_u = false;              // clip: all x are inputs and taken before they are copied
    bool divides = false;              // clip: some divisor is not 1
    bool constant_c = false;           // dense, binary: c or b does not change and stands in `constant`
    bool whole_c = false;              // dense: c is the whole result of an earlier step and is read where it stands
    Activation activation = Activation::none;
    Layer layer = nullptr;             // dense: the kernel, with the function where it has it
    LayerWithOutput head = nullptr;    // dense: the same with one output behind it, weights `gain`, constant `shift`;
                                       // form: of C g with f, gathered into `work` and `gain`
    Correlations correlations = nullptr;
    SteelLaw law;                      // bars: with their numbers in `gain`
    int head_out = 0;                  // dense: where that output goes
    std::vector<int> x, other, third;  // third: select, where the condition is zero
    Matrix matrix;                     // weights; coefficients
    std::vector<double> work;          // gathered arguments
    std::vector<double> constant;      // c; clip: upper; binary: b, gathered, where it does not stand side by side
    std::vector<double> gain, shift;   // weights of one row; clip: divisor, lower; standard: divisor, mean; play: radius
    Factors factors;
    Terms terms;
  };

  const double* argument(Step& step) noexcept;
  template <typename F>
  static void clipped(const double* array, const Step& step, double* r, F scaled) noexcept;
  void check(const std::vector<int>& places) const;
  void check_apart(const std::vector<int>& places, int out, int n) const;
  int room(int out, int n) const;
  Step& append(Kind kind, std::vector<int> x, int out, int n);
  bool ends_in_y() const noexcept;
  bool written(const std::vector<int>& places) const noexcept;
  bool whole_result(const std::vector<int>& places) const noexcept;
  bool bilinear_form(const std::vector<int>& a, const std::vector<int>& b, const Matrix& coefficients, double c, int out);
  bool join_output(const std::vector<int>& x, const Matrix& weights, double c, int out);

  int n_u_, n_state_;
  std::vector<double> array_;
  std::vector<int> outputs_, next_state_;
  std::vector<double> next_;
  std::vector<Step> steps_;
  std::int64_t work_ = 0, elements_ = 0;  // multiply-adds; numbers read and written by the steps
  std::set<int> ones_;  // places that always hold 1: factors of a polynomial of degree 0
  bool y_side_by_side_ = false;
  bool state_moves_ = false;  // a number of the next state stands in the state: all are read before one is written
  bool gives_y_ = false;  // the last step writes the outputs, all of them and nothing behind
};

/// A reduced model as a block. Inputs: u. Outputs: y, and with `watch` the number of inputs outside their domain (a nan
/// is outside). A model with memory keeps its state here and starts from `initial`.
class Rom final : public Block {
 public:
  /// Outside the loop. lower and upper: the domain of the inputs.
  Rom(Plan plan, std::vector<double> initial, std::vector<double> lower, std::vector<double> upper, bool watch,
      double period);

  void step(double t, const double* in, double* out) noexcept override;
  void reset() noexcept override;
  /// Outside the loop. One evaluation at (u, state) -> y; the state of the block is put back.
  void evaluate(const double* row, double* y) noexcept;

  Work work() const noexcept override { return {static_cast<double>(2 * plan_.multiply_adds() + plan_.elements())}; }

  const Plan& plan() const noexcept { return plan_; }

 private:
  Plan plan_;
  std::vector<double> initial_, lower_, upper_, kept_;
  bool watch_;
};

}  // namespace hmor
