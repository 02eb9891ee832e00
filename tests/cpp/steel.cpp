// Reinforcing bars: this host's kernel and any host's give the same bits, and one bar yields, turns and yields again.

#include "math/steel.hpp"

#include <cmath>
#include <cstring>
#include <vector>

#include "check.hpp"

using namespace hmor;

int main() {
  constexpr int n = 12;  // a group of eight and one of four; array: the signal, then seven states of n bars each
  std::vector<int> places(8 * n);
  for (int k = 0; k < 8; ++k)
    for (int i = 0; i < n; ++i) places[k * n + i] = k == 0 ? 0 : 1 + (k - 1) * n + i;
  std::vector<double> numbers(3 * n);
  for (int i = 0; i < n; ++i) {
    numbers[i] = 1.0 + 0.3 * i;
    numbers[n + i] = i % 2 ? 1.0 : -0.4;
    numbers[2 * n + i] = i == 5 ? 10.0 : 1e-3;  // bar 5 never moves: far below what the kernel of exp takes
  }
  numbers[n] = 1.0;  // bar 0 is a plain one, e = p
  std::vector<double> here(1 + 7 * n), there(here), r(7 * n), s(7 * n);
  double largest = 0.0, smallest = 0.0;
  for (int tick = 0; tick < 4000; ++tick) {
    here[0] = there[0] = tick < 10 ? 0.0 : 5.0 * std::sin(0.01 * tick) + std::sin(0.173 * tick);
    steel_bars(here.data(), places.data(), numbers.data(), SteelLaw{}, r.data(), n);
    steel_bars_of_any_host()(there.data(), places.data(), numbers.data(), SteelLaw{}, s.data(), n);
    CHECK(std::memcmp(r.data(), s.data(), r.size() * sizeof(double)) == 0);
    std::memcpy(here.data() + 1, r.data(), r.size() * sizeof(double));
    std::memcpy(there.data() + 1, s.data(), s.size() * sizeof(double));
    for (int i = 0; i < n; ++i) CHECK(std::fabs(r[4 * n + i]) <= 1.0);
    largest = std::fmax(largest, r[4 * n]);
    smallest = std::fmin(smallest, r[4 * n]);
  }
  CHECK(largest > 0.95 && smallest < -0.95);
  return 0;
}
