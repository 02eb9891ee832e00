// Matrix-vector product, Cholesky factor and solves against sums written out.

#include "math/dense.hpp"

#include <vector>

#include "blocks/noise.hpp"
#include "check.hpp"

using namespace hmor;

int main() {
  Random random(1);
  for (int n = 1; n <= 25; ++n) {
    Matrix a(n, n);
    std::vector<double> x(n), y(a.ld());
    for (int j = 0; j < n; ++j) {
      x[j] = random.uniform() - 0.5;
      for (int i = 0; i < n; ++i) a(i, j) = random.uniform() - 0.5;
    }
    multiply(a, x.data(), y.data());
    for (int i = 0; i < n; ++i) {
      double sum = 0.0;
      for (int j = 0; j < n; ++j) sum += a(i, j) * x[j];
      CHECK_NEAR(y[i], sum, 1e-14);
    }
    for (int i = n; i < a.ld(); ++i) CHECK(y[i] == 0.0);

    Matrix spd(n, n);  // A A' + I
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        spd(i, j) = i == j ? 1.0 : 0.0;
        for (int k = 0; k < n; ++k) spd(i, j) += a(i, k) * a(j, k);
      }
    Matrix factor = spd;
    CHECK(cholesky(factor));
    std::vector<double> solution = x;
    solve(factor, solution.data());
    for (int i = 0; i < n; ++i) {
      double sum = 0.0;
      for (int j = 0; j < n; ++j) sum += spd(i, j) * solution[j];
      CHECK_NEAR(sum, x[i], 1e-12);
    }
    spd(n - 1, n - 1) = -1.0;
    CHECK(!cholesky(spd));
  }
  CHECK_THROWS(Matrix(-1, 2));
}
