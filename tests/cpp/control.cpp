// The controllers of the core: not one allocation in 10 000 steps with active constraints, and the quadratic programme
// against problems whose answer is known by hand.

#include "allocations.hpp"

#include <array>

#include "check.hpp"
#include "control/adaptive_compensation.hpp"
#include "mpc/adaptive_mpc.hpp"
#include "control/extrapolator.hpp"
#include "control/kalman.hpp"
#include "control/model_based.hpp"
#include "mpc/move_qp.hpp"
#include "mpc/mpc.hpp"
#include "control/pi_lead.hpp"

using namespace hmor;

namespace {

Matrix matrix(int rows, int cols, std::initializer_list<double> values) {
  return Matrix::from_rows(values.begin(), rows, cols);
}

/// The electric drive 3060 / (s^2 + 267 s + 3060) at 1024 Hz with an output disturbance.
struct Drive {
  Matrix a = matrix(3, 3, {0.7693, -0.0411, 0.0, 0.0550, 0.9987, 0.0, 0.0, 0.0, 1.0});
  Matrix b = matrix(3, 1, {0.0069, 0.0002, 0.0});
  Matrix c = matrix(1, 3, {0.0, 5.98, 1.0});
  Matrix gain = matrix(3, 1, {3.7e-5, 7.21e-4, 9.74e-4});
};

Horizon horizon(double rate, bool preview) {
  Horizon h;
  h.prediction = h.control = 10;
  h.output_weight = {64.073};
  h.move_weight = {0.002};
  h.lower = {-0.05};
  h.upper = {0.05};
  h.least_move = {-rate};
  h.most_move = {rate};
  h.preview = preview;
  return h;
}

void check_qp() {
  // H = I: the minimum without constraints is -f = (3, 1, 0.2), and each bound acts on its own.
  MoveQp qp(1, 3);
  Matrix identity(3, 3);
  for (int i = 0; i < 3; ++i) identity(i, i) = 1.0;
  CHECK(qp.set_hessian(identity));
  const double f[] = {-3.0, -1.0, -0.2};
  const double wide[] = {9.0, 9.0, 9.0, 9.0, 9.0, 9.0}, narrow[] = {2.0, 0.5, 2.0, 9.0, 9.0, 9.0};
  const double minus[] = {-9.0, -9.0, -9.0, -9.0, -9.0, -9.0};
  QpResult result = qp.solve(f, minus, wide);
  CHECK(result.status == QpStatus::optimal && result.iterations == 0);
  CHECK_NEAR(qp.solution()[0], 3.0, 1e-15);
  CHECK_NEAR(qp.solution()[5], 4.2, 1e-14);
  result = qp.solve(f, minus, narrow);
  CHECK(result.status == QpStatus::optimal && result.iterations <= 2);  // none where the start finds both bounds
  CHECK_NEAR(qp.solution()[0], 2.0, 1e-14);
  CHECK_NEAR(qp.solution()[1], 0.5, 1e-14);
  double multipliers[6];
  qp.multipliers(multipliers);
  CHECK_NEAR(multipliers[0], 1.0, 1e-13);
  CHECK_NEAR(multipliers[1], 0.5, 1e-13);
  result = qp.solve(f, minus, narrow);
  CHECK(result.iterations == 0);  // warm start
  // A running sum at its bound: x0 + x1 <= 2 with -f = (3, 1) is met at (2, 0); the third move is free to go back.
  const double sums[] = {9.0, 9.0, 9.0, 9.0, 2.0, 9.0};
  result = qp.solve(f, minus, sums);
  CHECK(result.status == QpStatus::optimal);
  CHECK_NEAR(qp.solution()[0], 2.0, 1e-13);
  CHECK_NEAR(qp.solution()[1], 0.0, 1e-13);
  CHECK_NEAR(qp.solution()[2], 0.2, 1e-13);
}

/// Gradients of sixteen decades beside bounds that vary from step to step: whatever the status, a feasible move.
void check_far_targets() {
  constexpr int channels = 2, moves = 7, n = channels * moves;
  Matrix h(n, n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) h(i, j) = std::exp(-0.1 * std::abs(i - j)) + (i == j ? 1e-6 : 0.0);
  double f[n], lower[2 * n], upper[2 * n];
  int seen[4] = {0, 0, 0, 0};
  for (int cap : {0, 2}) for (double decades : {16.0, 312.0}) {  // the last ones overflow
    MoveQp qp(channels, moves, cap);
    CHECK(qp.set_hessian(h));
    for (int k = 0; k < 3000; ++k) {
      for (int i = 0; i < n; ++i) {
        f[i] = std::pow(10.0, decades * std::fabs(std::sin(0.37 * k)) - 2.0) * std::sin(1.3 * k + 2.1 * i);
        upper[i] = 0.1 + 0.05 * std::sin(0.2 * k + i), lower[i] = -0.1 + 0.05 * std::sin(0.3 * k + i);
        upper[n + i] = 0.2 + 0.1 * std::sin(0.5 * k + 0.3 * i), lower[n + i] = -0.2 + 0.1 * std::sin(0.7 * k - 0.2 * i);
      }
      const QpStatus status = qp.solve(f, lower, upper).status;
      ++seen[static_cast<int>(status)];
      for (int i = 0; i < 2 * n && status != QpStatus::infeasible; ++i) {
        CHECK(std::isfinite(qp.solution()[i]));
        if (status != QpStatus::not_finite) CHECK(qp.solution()[i] <= upper[i] + 2e-10 && qp.solution()[i] >= lower[i] - 2e-10);
      }
    }
  }
  std::printf("far targets: %d optimal, %d feasible, %d infeasible, %d not finite\n", seen[0], seen[1], seen[2], seen[3]);
  CHECK(seen[0] > 0 && seen[1] > 0 && seen[3] > 0);
}

/// Steps a block with a varied input; returns allocations and the largest output.
template <class Input>
double run(Block& block, Input input, const char* name) {
  std::vector<double> in(block.n_in() + 1), out(block.n_out() + 4);
  double largest = 0.0;
  const long before = allocations.load();
  block.reset();
  for (int k = 0; k < 10'000; ++k) {
    for (int i = 0; i < block.n_in(); ++i) in[i] = input(k, i);
    block.step(1e-3 * k, in.data(), out.data());
    for (int i = 0; i < block.n_out(); ++i) {
      CHECK(std::isfinite(out[i]));
      largest = std::fabs(out[i]) > largest ? std::fabs(out[i]) : largest;
    }
  }
  const long during = allocations.load() - before;
  std::printf("%s: allocations in 10000 steps: %ld\n", name, during);
  CHECK(during == 0);
  return largest;
}

}  // namespace

int main() {
  check_qp();
  check_far_targets();
  CHECK(!counting || allocations.load() > 0);  // the counter works
  const auto wave = [](int k, int i) { return std::sin(0.01 * k + i) + 0.1 * std::sin(1.7 * k); };
  const auto small = [&](int k, int i) { return 0.1 * wave(k, i); };
  const Drive drive;

  Mpc mpc(drive.a, drive.b, drive.c, drive.gain, horizon(1e-3, false), 1e-3);
  CHECK(run(mpc, small, "mpc") >= 1.0);  // iterations: constraints were active
  Mpc previewing(drive.a, drive.b, drive.c, drive.gain, horizon(2e-2, true), 1e-3);
  run(previewing, small, "mpc with preview");

  ArxRules rules;
  rules.initial = {-1.968, 0.969, 4.4e-4, 4.4e-4};
  rules.lower = {-2.5, 0.5, -1.0, -1.0};
  rules.upper = {-1.5, 1.5, 1.0, 1.0};
  rules.drift = {1.0, 1.0, 1.0, 1.0};
  AdaptiveMpc adaptive(2, 2, rules, horizon(1e-3, false), 1.0, 4e-4, 1.0, -1.0, 4e-4);
  run(adaptive, small, "adaptive mpc");
  AdaptiveMpc forgiving(2, 2, rules, horizon(1e-3, false), 1.0, 4e-4, 1.0, 0.05, 4e-4);
  run(forgiving, small, "adaptive mpc with late measurements");

  KalmanFilter kalman(drive.a, drive.b, drive.c, drive.gain, 1e-3);
  run(kalman, wave, "kalman filter");
  Extrapolator extrapolator(4, 8, {4.0, 8.0, 12.0}, 2);
  run(extrapolator, wave, "extrapolator");
  PiLead pi(2.0, 95.0, 30.0, -28.0, 0.6, -5.0, 5.0, 1e-3);
  CHECK_NEAR(run(pi, wave, "pi and lead"), 5.0, 0.0);
  ModelBasedCompensator based({{0.1, 0.2, 0.1, -0.5, 0.2}}, matrix(1, 1, {0.5}), matrix(1, 1, {0.1}), matrix(1, 1, {0.3}), 0.05,
                   {50.0, 0.1, 0.1, 1.0, 0.0, 0.0}, 1e-3);
  run(based, wave, "model-based");
  AdaptiveCompensation compensation({{{1.0, 10.0, 0.5, 1.5}, {0.01, 5.0, 0.0, 0.1}}}, {{0.1, 0.2, 0.1, -0.5, 0.2}},
                                    1e-3);
  run(compensation, wave, "adaptive compensation");
}
