// libFuzzer: a plan built from anything is refused when it is built or runs within its own memory, and a copy of it
// gives the same bits.

#include <fuzzer/FuzzedDataProvider.h>

#include <cstring>
#include <limits>
#include <stdexcept>

#include "../cpp/check.hpp"
#include "rom/rom.hpp"

using namespace hmor;

namespace {

/// Numbers, lengths and places for a plan; mostly such that fit, else every plan is refused.
class Source {
 public:
  Source(FuzzedDataProvider& input, int size) : input_(input), size_(size) {}

  double number() {
    constexpr double inf = std::numeric_limits<double>::infinity();
    constexpr double usual[] = {0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1e-300, 1e300, inf, -inf, std::numeric_limits<double>::quiet_NaN()};
    return usual[input_.ConsumeIntegralInRange<std::size_t>(0, std::size(usual) - 1)];
  }
  int place() {
    if (input_.ConsumeIntegralInRange<int>(0, 63) == 0) return input_.ConsumeIntegral<int>();
    return input_.ConsumeIntegralInRange<int>(0, size_ > 0 ? size_ - 1 : 0);
  }
  int length(int usual) { return input_.ConsumeIntegralInRange<int>(0, 31) == 0 ? input_.ConsumeIntegralInRange<int>(0, 9) : usual; }
  int count() { return input_.ConsumeIntegralInRange<int>(1, 9); }
  std::vector<int> places(int n) {
    std::vector<int> found(static_cast<std::size_t>(length(n)));
    const bool row = input_.ConsumeBool();
    const int first = place();
    for (std::size_t i = 0; i < found.size(); ++i)
      found[i] = row && first < std::numeric_limits<int>::max() - 16 ? first + static_cast<int>(i) : place();
    return found;
  }
  std::vector<double> numbers(int n) {
    std::vector<double> found(static_cast<std::size_t>(length(n)));
    for (double& value : found) value = number();
    return found;
  }
  template <class T, class Draw>
  std::vector<T> several(int usual, Draw draw) {
    std::vector<T> found(static_cast<std::size_t>(length(usual)));
    for (T& list : found) list = draw();
    return found;
  }
  Matrix matrix(int rows, int cols) {
    Matrix m(length(rows), length(cols));
    for (int i = 0; i < m.rows(); ++i)
      for (int j = 0; j < m.cols(); ++j) m(i, j) = number();
    return m;
  }

 private:
  FuzzedDataProvider& input_;
  int size_;
};

void append(Plan& plan, FuzzedDataProvider& input, Source& from) {
  const int n = from.count(), k = from.count(), out = from.place();
  const auto unary = static_cast<Unary>(input.ConsumeIntegralInRange<int>(0, 9));
  const auto binary = static_cast<Binary>(input.ConsumeIntegralInRange<int>(0, 7));
  switch (input.ConsumeIntegralInRange<int>(0, 11)) {
    case 0: plan.dense(from.places(k), from.matrix(n, k), from.places(n), unary, out); break;
    case 1: {
      std::vector<std::vector<double>> gain, shift;
      for (int i = 0; i < n; ++i) {
        const int depth = input.ConsumeIntegralInRange<int>(1, 4);
        gain.push_back(from.numbers(depth));
        shift.push_back(from.numbers(depth));
      }
      plan.factors(from.places(n), gain, shift, out);
      break;
    }
    case 2: {
      std::vector<std::vector<int>> places;
      for (int i = input.ConsumeIntegralInRange<int>(0, 3); i > 0; --i) places.push_back(from.places(k));
      const int rows = input.ConsumeIntegralInRange<int>(0, 3);
      plan.terms(places, from.matrix(rows, k), from.numbers(rows), out);
      break;
    }
    case 3: plan.standard(from.places(n), from.numbers(n), from.numbers(n), out); break;
    case 4: plan.clip(from.places(n), from.numbers(n), from.numbers(n), from.numbers(n), out); break;
    case 5: plan.unary(unary, from.places(n), out); break;
    case 6: plan.binary(binary, from.places(n), from.places(n), out); break;
    case 7: plan.play(from.places(n), from.places(n), from.numbers(n), out); break;
    case 8: plan.select(from.places(n), from.places(n), from.places(n), out); break;
    case 9: {
      const auto family = static_cast<Correlation>(input.ConsumeIntegralInRange<int>(-1, 5));
      plan.correlations(from.places(k), from.matrix(k, n), from.numbers(k), from.numbers(k), family, out);
      break;
    }
    case 10: {
      const auto places = from.several<std::vector<int>>(8, [&] { return from.places(n); });
      const auto numbers = from.several<std::vector<double>>(3, [&] { return from.numbers(n); });
      const SteelLaw law{from.number(), from.number(), from.number(), from.number(), from.number(), from.number()};
      plan.bars(places, numbers, input.ConsumeBool() ? SteelLaw{} : law, out);
      break;
    }
    default: plan.product(from.places(n), input.ConsumeIntegralInRange<int>(-1, 4), out); break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input(data, size);
  const int n_u = input.ConsumeIntegralInRange<int>(0, 4), n_state = input.ConsumeIntegralInRange<int>(0, 3);
  const int numbers = input.ConsumeIntegralInRange<int>(0, 95);
  Source from(input, numbers);
  try {
    Plan plan(n_u, n_state, from.numbers(numbers), from.places(input.ConsumeIntegralInRange<int>(0, 3)), from.places(n_state));
    for (int steps = input.ConsumeIntegralInRange<int>(0, 10); steps > 0; --steps) {
      try {
        append(plan, input, from);
      } catch (const std::invalid_argument&) {  // refused: the plan is as it was
      }
    }
    Plan copy = plan;
    const std::vector<double> u = from.numbers(n_u);
    if (static_cast<int>(u.size()) != n_u) return 0;
    std::vector<double> y(static_cast<std::size_t>(plan.n_y())), again(y.size());  // exactly as long as they must be
    for (int tick = 0; tick < 3; ++tick) {
      plan.run(u.data(), y.data());
      copy.run(u.data(), again.data());
      CHECK(std::memcmp(y.data(), again.data(), y.size() * sizeof(double)) == 0);
    }
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
