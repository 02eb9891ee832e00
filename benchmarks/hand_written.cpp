// What a careful C++ programmer writes without the engine: one function per job, sizes known to the compiler.

#include <cstdint>

namespace {
constexpr int n = 6, p = 3, lag = 10;
}

extern "C" {

/// x+ = A x + B u, y = C x, u = y[0] ten ticks ago; records u, y every tick. Row-major a (6, 6), b (6), c (3, 6).
void linear_delay_record(const double* a, const double* b, const double* c, double* x, std::int64_t ticks, double* record) {
  double ring[lag] = {0.0}, y[p], next[n];
  int at = 0;
  double u = 0.0;
  for (std::int64_t k = 0; k < ticks; ++k) {
    for (int i = 0; i < p; ++i) {
      y[i] = 0.0;
      for (int j = 0; j < n; ++j) y[i] += c[i * n + j] * x[j];
    }
    for (int i = 0; i < n; ++i) {
      next[i] = b[i] * u;
      for (int j = 0; j < n; ++j) next[i] += a[i * n + j] * x[j];
    }
    for (int i = 0; i < n; ++i) x[i] = next[i];
    u = ring[at];
    ring[at] = y[0];
    at = at + 1 == lag ? 0 : at + 1;
    double* frame = record + k * (p + 1);
    for (int i = 0; i < p; ++i) frame[i] = y[i];
    frame[p] = u;
  }
}

/// Right-hand side of a three-storey frame: dx = [v; M^-1 (-C v - K x) - 1 a_g]; parameters M^-1 K and M^-1 C row by row.
void frame_rhs(double, const double* x, const double* u, const double* q, double* dx, double* y) {
  for (int i = 0; i < 3; ++i) {
    double force = 0.0;
    for (int j = 0; j < 3; ++j) force += q[3 * i + j] * x[j] + q[9 + 3 * i + j] * x[3 + j];
    dx[i] = x[3 + i];
    dx[3 + i] = -force - u[0];
    y[i] = x[i];
  }
}
}
