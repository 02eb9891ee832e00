// Layers of networks and plans: every size against plain loops and other hosts, outputs joined to their layer, clips, forms.

#include "math/layer.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "rom/rom.hpp"
#include "check.hpp"
#include "math/elementary.hpp"

using namespace hmor;

namespace {

double number(int i) { return std::sin(1.7 * i + 0.3); }

double function(Activation f, double v) {
  return f == Activation::none ? v : f == Activation::tanh ? std::tanh(v) : 1.0 / (1.0 + std::exp(-v));
}

void every_size() {
  for (int rows = 1; rows <= 41; ++rows)
    for (int cols = 0; cols <= 7; ++cols)
      for (Activation f : {Activation::none, Activation::tanh, Activation::sigmoid}) {
        Matrix a(rows, cols);
        const int ld = padded(rows);
        std::vector<double> x(cols + 1), c(ld, 0.0), v(ld, 0.0), r(ld, 9.0), s(ld, 9.0);
        for (int j = 0; j < cols; ++j) x[j] = number(j);
        double expected = 0.0;
        for (int i = 0; i < rows; ++i) {
          c[i] = number(50 + i);
          v[i] = number(100 + i);
          double sum = c[i];
          for (int j = 0; j < cols; ++j) sum += (a(i, j) = number(7 * i + j)) * x[j];
          expected += v[i] * function(f, sum);
        }
        layer_kernel(f, ld)(a.data(), ld, cols, x.data(), c.data(), r.data());
        const double output = layer_with_output_kernel(f, ld)(a.data(), ld, cols, x.data(), c.data(), s.data(), v.data());
        for (int i = 0; i < rows; ++i) {
          double sum = c[i];
          for (int j = 0; j < cols; ++j) sum += a(i, j) * x[j];
          CHECK_NEAR(r[i], function(f, sum), 1e-14);
          CHECK(r[i] == s[i]);
        }
        CHECK_NEAR(output, expected, 1e-13);
        if (ld > 16) continue;  // a taller layer is made of such
        CHECK(layer_of_any_host(f, ld)(a.data(), ld, cols, x.data(), c.data(), r.data(), v.data()) == output);
        CHECK(std::memcmp(r.data(), s.data(), static_cast<std::size_t>(ld) * sizeof(double)) == 0);
      }
}

/// u (2) -> 3 tanh -> y, y also from part of the layer, with a constant that is a result.
void plans() {
  std::vector<double> array(40, 0.0);
  array[2] = 0.1, array[3] = -0.2, array[4] = 0.3, array[5] = 0.7;  // constants
  Matrix w(3, 2), v(1, 3), part(1, 2);
  for (int i = 0; i < 3; ++i) w(i, 0) = number(i), w(i, 1) = number(i + 5), v(0, i) = number(i + 9);
  part(0, 0) = 2.0, part(0, 1) = 3.0;
  Plan plan(2, 0, array, {12, 16, 20}, {});
  plan.dense({0, 1}, w, {2, 3, 4}, Unary::tanh, 8);
  plan.dense({8, 9, 10}, v, {5}, Unary::none, 12);      // joined to the layer
  plan.dense({9, 10}, part, {12}, Unary::none, 16);     // a part of it, and a constant that is the result before
  const double infinity = std::numeric_limits<double>::infinity();
  plan.clip({16}, {2.0}, {-0.25}, {infinity}, 20);
  CHECK(plan.steps() == 3 && plan.multiply_adds() == 6 + 3 + 2);
  for (double u : {-1.0, 0.0, 2.0}) {
    const double in[2] = {u, 0.5};
    double y[3], h[3], sum = 0.7;
    plan.run(in, y);
    for (int i = 0; i < 3; ++i) {
      h[i] = std::tanh(array[2 + i] + w(i, 0) * u + w(i, 1) * 0.5);
      sum += v(0, i) * h[i];
    }
    CHECK_NEAR(y[0], sum, 1e-15);
    CHECK_NEAR(y[1], sum + 2.0 * h[1] + 3.0 * h[2], 1e-14);
    CHECK_NEAR(y[2], std::max(y[1] / 2.0, -0.25), 0.0);
  }
  const double nan[2] = {std::nan(""), 0.0};
  double y[3];
  plan.run(nan, y);
  CHECK(std::isnan(y[0]) && std::isnan(y[1]) && std::isnan(y[2]));
  const double infinite[2] = {infinity, 0.0};  // saturates every row; rows that only fill the registers do not spoil it
  plan.run(infinite, y);
  double saturated = 0.7;
  for (int i = 0; i < 3; ++i) saturated += v(0, i) * (w(i, 0) > 0.0 ? 1.0 : -1.0);
  CHECK_NEAR(y[0], saturated, 1e-15);
  {  // the last step gives the outputs at once; a step behind it may still read its results
    Plan product(2, 0, array, {8, 9}, {}), longer(2, 0, array, {8, 9}, {});
    for (Plan* p : {&product, &longer}) p->binary(Binary::mul, {0, 1}, {1, 1}, 8);
    longer.unary(Unary::neg, {8, 9}, 12);
    for (Plan* p : {&product, &longer}) {
      const double in[2] = {3.0, 4.0};
      double z[2] = {0.0, 0.0};
      p->run(in, z);
      CHECK(z[0] == 12.0 && z[1] == 16.0);
    }
  }
  Plan bad(2, 0, array, {2}, {});
  CHECK_THROWS(bad.clip({0}, {1.0}, {0.0, 0.0}, {1.0}, 8));
  CHECK_THROWS(bad.standard({0}, {1.0, 2.0}, {0.0}, 8));
  CHECK_THROWS(bad.dense({}, Matrix(1, 0), {2}, Unary::none, 8));
  CHECK_THROWS(bad.dense({0, 1}, part, {2}, Unary::none, 38));
}

/// Steps and plans whose sizes do not fit are refused when they are built: run() checks nothing.
void what_does_not_fit_is_refused() {
  const std::vector<double> array(40, 0.0);
  constexpr int most = std::numeric_limits<int>::max();
  CHECK_THROWS(Plan(2, 0, array, {}, {}));              // no outputs
  CHECK_THROWS(Plan(most, most, array, {2}, {}));       // sizes that overflow an int
  CHECK_THROWS(Plan(2, 1, array, {2}, {}));             // a state without its next value
  CHECK_THROWS(Plan(2, 0, array, {40}, {}));
  Plan plan(2, 0, array, {8}, {});
  Matrix w(3, 2);
  CHECK_THROWS(plan.dense({0, 1}, Matrix(0, 2), {}, Unary::tanh, 8));
  CHECK_THROWS(plan.dense({0, 1}, w, {2, 3}, Unary::tanh, 8));
  CHECK_THROWS(plan.dense({0, 1}, w, {2, 3, 40}, Unary::tanh, 8));
  CHECK_THROWS(plan.dense({0, 1}, w, {2, 3, 4}, Unary::tanh, most - 2));
  CHECK_THROWS(plan.dense({0, 9}, w, {2, 3, 4}, Unary::tanh, 8));  // writes over what it reads
  CHECK_THROWS(plan.dense({0, 1}, w, {2, 3, 9}, Unary::tanh, 8));
  CHECK_THROWS(plan.factors({0, 1}, {{1.0, 2.0}, {1.0}}, {{0.0}, {0.0}}, 8));
  CHECK_THROWS(plan.factors({0, 1}, {{1.0}, {}}, {{0.0}, {}}, 8));
  CHECK_THROWS(plan.factors({}, {}, {}, 8));
  CHECK_THROWS(plan.terms({}, Matrix(1, 0), {0.0}, 8));
  CHECK_THROWS(plan.terms({{0, 1}}, Matrix(0, 2), {}, 8));
  CHECK_THROWS(plan.terms({{0, 8}, {1, 0}}, Matrix(1, 2), {0.0}, 8));
  CHECK_THROWS(plan.unary(Unary::exp, {}, 8));
  CHECK_THROWS(plan.unary(Unary::exp, {0}, 1));         // over an input
  CHECK_THROWS(plan.binary(Binary::add, {0}, {8}, 8));
  CHECK_THROWS(plan.product({}, 1, 8));
  CHECK(plan.steps() == 0);
}

/// Terms of two factors: dense pairs become a form f' (C g), pairs far apart stay a list; both give the sum. The work is
/// counted as executed: C g and a dot product, or a product a term and a dot product in groups of four.
void terms() {
  struct Case {
    int count, work;
  };
  for (const auto& [count, work] : {Case{3, 4 * (3 + 1)}, Case{8, 9 + 12}, Case{30, 6 * (6 + 1)}}) {
    std::vector<double> array(60, 0.0);
    std::vector<int> a, b;
    for (int t = 0; t < count; ++t) {
      a.push_back(count == 8 ? t : t % 5);
      b.push_back(count == 8 ? 10 + t : count > 20 ? 5 + t / 5 : 5 + t % 5);
    }
    a.push_back(count == 8 ? 8 : 7), b.push_back(count == 8 ? 18 : 9);  // 7: a factor of the right on the left
    Matrix c(1, count + 1);
    for (int t = 0; t <= count; ++t) c(0, t) = number(t);
    Plan plan(19, 0, array, {20}, {});
    plan.terms({a, b}, c, {0.25}, 20);
    double u[19], y = 0.0, expected = 0.25;
    for (int i = 0; i < 19; ++i) u[i] = number(3 * i);
    for (int t = 0; t <= count; ++t) expected += c(0, t) * u[a[t]] * u[b[t]];
    plan.run(u, &y);
    CHECK_NEAR(y, expected, 1e-14);
    CHECK(plan.multiply_adds() == work);
  }
}

}  // namespace

int main() {
  every_size();
  plans();
  what_does_not_fit_is_refused();
  terms();
}
