#include "rom/polynomial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "math/elementary_kernels.hpp"

namespace hmor {

namespace {

using Pair = std::pair<double, double>;  // gain, shift

constexpr double opposite = 8.0 * std::numeric_limits<double>::epsilon();

/// Takes factors of opposite roots together: (g z + s)(g z - s) = g^2 z^2 - s^2.
void pair_up(const std::vector<double>& gain, const std::vector<double>& shift, std::vector<Pair>& linear,
             std::vector<Pair>& squares) {
  std::vector<bool> taken(gain.size(), false);
  for (std::size_t i = 0; i < gain.size(); ++i) {
    if (taken[i]) continue;
    std::size_t j = i + 1;
    while (j < gain.size() && (taken[j] || gain[j] != gain[i] || shift[i] == 0.0 ||
                               !(std::abs(shift[i] + shift[j]) <= opposite * std::abs(shift[i]))))
      ++j;
    if (j == gain.size()) {
      linear.emplace_back(gain[i], shift[i]);
    } else {
      taken[j] = true;
      squares.emplace_back(gain[i] * gain[i], shift[i] * shift[j]);
    }
  }
}

/// Products for groups of four rows.
HMOR_CLONES
void products_of_factors(const double* z, const double* numbers, const int* linear, const int* squares, int groups,
                         double* r) noexcept {
  const Four* next = reinterpret_cast<const Four*>(numbers);
  for (int g = 0; g < groups; ++g) {
    const Four x = *reinterpret_cast<const Four*>(z + 4 * g);
    const Four square = x * x;
    Four p = next[0] * x + next[1];
    next += 2;
    for (int k = 1; k < linear[g]; ++k, next += 2) p *= next[0] * x + next[1];
    for (int k = 0; k < squares[g]; ++k, next += 2) p *= next[0] * square + next[1];
    *reinterpret_cast<Four*>(r + 4 * g) = p;
  }
}

/// sum_i a_i x_i over whole groups of four, in two chains of additions.
HMOR_CLONES
double dot(const double* a, const double* x, int groups) noexcept {
  Four even{}, odd{};
  int g = 0;
  for (; g + 2 <= groups; g += 2, a += 8, x += 8) {
    even += *reinterpret_cast<const Four*>(a) * *reinterpret_cast<const Four*>(x);
    odd += *reinterpret_cast<const Four*>(a + 4) * *reinterpret_cast<const Four*>(x + 4);
  }
  if (g < groups) even += *reinterpret_cast<const Four*>(a) * *reinterpret_cast<const Four*>(x);
  const Four sum = even + odd;
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

}  // namespace

Factors::Factors(const std::vector<std::vector<double>>& gain, const std::vector<std::vector<double>>& shift) {
  const std::size_t n = gain.size();
  for (std::size_t first = 0; first < n; first += 4) {
    std::vector<Pair> linear[4], squares[4];
    std::size_t lines = 1, curves = 0;
    for (std::size_t i = 0; i < 4 && first + i < n; ++i) {
      pair_up(gain[first + i], shift[first + i], linear[i], squares[i]);
      lines = std::max(lines, linear[i].size());
      curves = std::max(curves, squares[i].size());
    }
    const auto append = [this](const std::vector<Pair>* rows, std::size_t depth) {
      for (std::size_t k = 0; k < depth; ++k) {
        for (int i = 0; i < 4; ++i) numbers_.push_back(k < rows[i].size() ? rows[i][k].first : 0.0);
        for (int i = 0; i < 4; ++i) numbers_.push_back(k < rows[i].size() ? rows[i][k].second : 1.0);
      }
    };
    append(linear, lines);
    append(squares, curves);
    linear_.push_back(static_cast<int>(lines));
    squares_.push_back(static_cast<int>(curves));
  }
}

void Factors::run(const double* z, double* r) const noexcept {
  products_of_factors(z, numbers_.data(), linear_.data(), squares_.data(), static_cast<int>(linear_.size()), r);
}

Terms::Terms(const std::vector<std::vector<int>>& factors, const Matrix& coefficients, std::vector<double> constant)
    : constant_(std::move(constant)) {
  const int n = coefficients.cols(), m = coefficients.rows();
  const auto last_output = [&](int t) {
    int o = m - 1;
    while (o > 0 && coefficients(o, t) == 0.0) --o;
    return o;
  };
  const auto first_output = [&](int t) {
    int o = 0;
    while (o < m - 1 && coefficients(o, t) == 0.0) ++o;
    return o;
  };
  const auto key = [&](int t) {
    return std::make_tuple(last_output(t), first_output(t), factors[static_cast<std::size_t>(t)].size());
  };
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });

  for (int t = 0; t < n;) {
    const std::size_t count = factors[static_cast<std::size_t>(order[t])].size();
    int end = t;
    while (end < n && factors[static_cast<std::size_t>(order[end])].size() == count) ++end;
    segments_.push_back({t, end, static_cast<int>(count), static_cast<int>(places_.size())});
    for (std::size_t j = 0; j < count; ++j)
      for (int i = t; i < end; ++i) places_.push_back(factors[static_cast<std::size_t>(order[i])][j]);
    work_ += (end - t) * (static_cast<int>(count) - 1);
    t = end;
  }
  products_.assign(static_cast<std::size_t>(padded(n)) + 4, 0.0);
  for (int o = 0; o < m; ++o) {
    int begin = 0, end = n;
    while (begin < end && coefficients(o, order[begin]) == 0.0) ++begin;
    while (end > begin && coefficients(o, order[end - 1]) == 0.0) --end;
    begin &= ~3;  // whole groups of four, each from the start of one
    const int groups = (end - begin + 3) / 4;
    outputs_.push_back({begin, groups, static_cast<int>(coefficients_.size())});
    for (int i = begin; i < begin + 4 * groups; ++i) coefficients_.push_back(i < n ? coefficients(o, order[i]) : 0.0);
    work_ += 4 * groups;
  }
}

void Terms::run(const double* array, double* r) noexcept {
  double* p = products_.data();
  for (const Segment& s : segments_) {
    const int n = s.end - s.begin;
    const int* a = places_.data() + s.at;
    double* q = p + s.begin;
    if (s.count == 2) {
      const int* b = a + n;
      for (int t = 0; t < n; ++t) q[t] = array[a[t]] * array[b[t]];
      continue;
    }
    if (s.count == 3) {
      const int *b = a + n, *c = b + n;
      for (int t = 0; t < n; ++t) q[t] = array[a[t]] * array[b[t]] * array[c[t]];
      continue;
    }
    for (int t = 0; t < n; ++t) q[t] = array[a[t]];
    for (int j = 1; j < s.count; ++j) {
      a += n;
      for (int t = 0; t < n; ++t) q[t] *= array[a[t]];
    }
  }
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    const Output& out = outputs_[o];
    r[o] = dot(coefficients_.data() + out.at, p + out.begin, out.groups) + constant_[o];
  }
}

}  // namespace hmor
