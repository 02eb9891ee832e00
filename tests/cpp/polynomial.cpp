// Univariate factors and terms of a polynomial in several variables against plain sums and products.

#include "rom/polynomial.hpp"

#include "check.hpp"

using namespace hmor;

int main() {
  {  // opposite roots share a factor; a root of zero, a lone one and rows of other lengths beside them do not
    const std::vector<std::vector<double>> gain{{0.0}, {1.5}, {2.0, 2.0}, {1.1, 1.1, 1.1}, {2.0, 2.0, 2.0, 2.0}, {1.0, 3.0}},
        shift{{1.0}, {0.2}, {0.7, -0.7}, {-0.9, 1e-18, 0.9}, {0.3, 0.8, -0.8, -0.3}, {0.5, -0.5}};
    const Factors factors(gain, shift);
    for (double z : {-1.3, -0.35, 0.0, 0.4, 1.0, 25.0}) {
      Numbers x(8, z), r(8, 0.0);
      factors.run(x.data(), r.data());
      for (std::size_t i = 0; i < gain.size(); ++i) {
        double p = 1.0, size = 1.0;
        for (std::size_t k = 0; k < gain[i].size(); ++k) {
          p *= gain[i][k] * z + shift[i][k];
          size *= std::abs(gain[i][k] * z) + std::abs(shift[i][k]);
        }
        CHECK_NEAR(r[i], p, 1e-14 * size);
      }
    }
  }
  {  // outputs with terms of their own, shared ones, none at all; up to four factors
    const std::vector<double> x{1.0, 0.5, -2.0, 3.0, 0.25, 7.0};
    const std::vector<std::vector<int>> terms{{1}, {2, 3}, {1, 2, 4}, {0}, {1, 2, 3, 5}, {4, 5}, {3, 3}, {5}, {2}};
    const int n = static_cast<int>(terms.size());
    for (int m : {1, 2, 3, 6}) {
      Matrix c(m, n);
      std::vector<double> constant(static_cast<std::size_t>(m));
      for (int o = 0; o < m; ++o) {
        constant[static_cast<std::size_t>(o)] = 0.1 * o;
        for (int t = 0; t < n; ++t)
          if (o != 2 && (t + o) % (o + 2) != 1) c(o, t) = 0.3 * t - 0.7 * o + 0.05;
      }
      Terms polynomial(terms, c, constant);
      std::vector<double> r(static_cast<std::size_t>(m));
      polynomial.run(x.data(), r.data());
      for (int o = 0; o < m; ++o) {
        double sum = constant[static_cast<std::size_t>(o)];
        for (int t = 0; t < n; ++t) {
          double p = c(o, t);
          for (int place : terms[static_cast<std::size_t>(t)]) p *= x[static_cast<std::size_t>(place)];
          sum += p;
        }
        CHECK_NEAR(r[static_cast<std::size_t>(o)], sum, 1e-12);
      }
      CHECK(polynomial.work() > 0);
    }
  }
}
