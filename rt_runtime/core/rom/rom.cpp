#include "rom/rom.hpp"

#include <algorithm>
#include <cmath>

#include "math/elementary.hpp"
#include "math/elementary_kernels.hpp"

namespace hmor {

namespace {

template <typename F>
inline void each(const double* x, double* r, int n, F f) noexcept {
  for (int i = 0; i < n; ++i) r[i] = f(x[i]);
}

/// sum_i a_i x_i over whole groups of four.
inline double dot(const double* a, const double* x, int n) noexcept {
  Four sum{};
  for (int i = 0; i < n; i += 4) sum += *reinterpret_cast<const Four*>(a + i) * *reinterpret_cast<const Four*>(x + i);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

void apply(Unary function, const double* x, double* r, int n) noexcept {
  switch (function) {
    case Unary::none: each(x, r, n, [](double v) { return v; }); break;
    case Unary::tanh: tanh_each(x, r, n); break;
    case Unary::sigmoid: sigmoid_each(x, r, n); break;
    case Unary::relu: each(x, r, n, [](double v) { return v < 0.0 ? 0.0 : v; }); break;  // a nan stays one
    case Unary::exp: exp_each(x, r, n); break;
    case Unary::log: log_each(x, r, n); break;
    case Unary::neg: each(x, r, n, [](double v) { return -v; }); break;
    case Unary::abs: each(x, r, n, [](double v) { return std::fabs(v); }); break;
    case Unary::sqrt: each(x, r, n, [](double v) { return std::sqrt(v); }); break;
    case Unary::softplus:
      each(x, r, n, [](double v) { return (v < 0.0 ? 0.0 : v) + std::log(1.0 + std::exp(-std::fabs(v))); });
      break;
  }
}

template <typename F>
inline void pairs(const double* __restrict a, const double* __restrict b, double* __restrict r, int n, F f) noexcept {
  for (int i = 0; i < n; ++i) r[i] = f(a[i], b[i]);
}

void combine(Binary function, const double* a, const double* b, double* r, int n) noexcept {
  switch (function) {
    case Binary::add: pairs(a, b, r, n, [](double v, double w) { return v + w; }); break;
    case Binary::sub: pairs(a, b, r, n, [](double v, double w) { return v - w; }); break;
    case Binary::mul: pairs(a, b, r, n, [](double v, double w) { return v * w; }); break;
    case Binary::div: pairs(a, b, r, n, [](double v, double w) { return v / w; }); break;
    case Binary::max: pairs(a, b, r, n, [](double v, double w) { return v < w ? w : v; }); break;  // nan in a stays
    case Binary::min: pairs(a, b, r, n, [](double v, double w) { return w < v ? w : v; }); break;
    case Binary::less: pairs(a, b, r, n, [](double v, double w) { return v < w ? 1.0 : 0.0; }); break;
    case Binary::greater: pairs(a, b, r, n, [](double v, double w) { return v > w ? 1.0 : 0.0; }); break;
  }
}

}  // namespace

const double* Plan::argument(Step& step) noexcept {
  if (step.side_by_side) return array_.data() + step.x[0];
  const double* array = array_.data();
  const int* places = step.x.data();
  const int n = static_cast<int>(step.x.size());
  double* work = step.work.data();
  for (int i = 0; i < n; ++i) work[i] = array[places[i]];
  return work;
}

/// r_i = min(max(v_i, lower_i), upper_i), v_i = scaled(x_i); a nan stays one.
template <typename F>
void Plan::clipped(const double* array, const Step& step, double* r, F scaled) noexcept {
  const int* places = step.x.data();
  const double *lower = step.shift.data(), *upper = step.constant.data();
  for (int i = 0; i < step.n; ++i) {
    const double v = scaled(array[places[i]], i), above = v < lower[i] ? lower[i] : v;
    r[i] = upper[i] < above ? upper[i] : above;
  }
}

void Plan::run(const double* u, double* y) noexcept {
  double* array = array_.data();
  for (int i = 0; i < n_u_; ++i) array[i] = u[i];
  Step* const last = gives_y_ ? steps_.data() + steps_.size() - 1 : nullptr;
  for (Step& step : steps_) {
    double* r = &step == last ? y : array + step.out;
    switch (step.kind) {
      case Kind::dense: {
        if (!step.constant_c && !step.whole_c)
          for (int i = 0; i < step.n; ++i) step.constant[i] = array[step.other[i]];
        const Matrix& a = step.matrix;
        const double *x = argument(step), *c = step.whole_c ? array + step.other[0] : step.constant.data();
        if (step.head != nullptr) {
          array[step.head_out] = step.head(a.data(), a.ld(), a.cols(), x, c, r, step.gain.data()) + step.shift[0];
          break;
        }
        step.layer(a.data(), a.ld(), a.cols(), x, c, r);
        if (step.unary != Unary::none) apply(step.unary, r, r, a.ld());
        break;
      }
      case Kind::dot:
        r[0] = dot(step.gain.data(), argument(step), step.matrix.cols()) +
               (step.constant_c ? step.constant[0] : array[step.other[0]]);
        break;
      case Kind::factors:
        for (int i = 0; i < step.n; ++i) step.work[i] = array[step.x[i]];
        step.factors.run(step.work.data(), r);
        break;
      case Kind::terms: step.terms.run(array, r); break;
      case Kind::form: {
        const Matrix& a = step.matrix;
        double* f = step.gain.data();
        for (int i = 0; i < a.rows(); ++i) f[i] = array[step.other[i]];
        double* zeros = step.shift.data();
        r[0] = step.head(a.data(), a.ld(), a.cols(), argument(step), zeros, zeros + a.ld(), f) + step.constant[0];
        break;
      }
      case Kind::standard:
        for (int i = 0; i < step.n; ++i) r[i] = (array[step.x[i]] - step.shift[i]) / step.gain[i];
        break;
      case Kind::clip:
        if (step.divides)
          clipped(step.reads_u ? u : array, step, r, [&step](double x, int i) { return x / step.gain[i]; });
        else
          clipped(step.reads_u ? u : array, step, r, [](double x, int) { return x; });
        break;
      case Kind::correlations:
        step.correlations(argument(step), static_cast<int>(step.x.size()), step.gain.data(), step.shift.data(),
                          step.constant.data(), r, padded(step.n));
        break;
      case Kind::unary: apply(step.unary, argument(step), r, step.n); break;
      case Kind::binary: {
        const double* b = step.constant.data();
        if (step.constant.empty())
          b = array + step.other[0];
        else if (!step.constant_c)
          for (int i = 0; i < step.n; ++i) step.constant[i] = array[step.other[i]];
        combine(step.binary, argument(step), b, r, step.n);
        break;
      }
      case Kind::play:
        for (int i = 0; i < step.n; ++i) {
          const double x = array[step.x[i]], p = array[step.other[i]], low = x - step.gain[i], high = x + step.gain[i];
          const double above = p < low ? low : p;
          r[i] = high < above ? high : above;
        }
        break;
      case Kind::bars: steel_bars(array, step.x.data(), step.gain.data(), step.law, r, step.count); break;
      case Kind::select:
        for (int i = 0; i < step.n; ++i) r[i] = array[array[step.x[i]] != 0.0 ? step.other[i] : step.third[i]];
        break;
      case Kind::product: {
        const double* x = argument(step);
        for (int i = 0; i < step.n; ++i, x += step.count) {
          double p = x[0];
          for (int j = 1; j < step.count; ++j) p *= x[j];
          r[i] = p;
        }
        break;
      }
    }
  }
  if (gives_y_) return;
  if (y_side_by_side_) {
    const double* from = array + outputs_[0];
    for (std::size_t i = 0; i < outputs_.size(); ++i) y[i] = from[i];
  } else {
    for (std::size_t i = 0; i < outputs_.size(); ++i) y[i] = array[outputs_[i]];
  }
  if (n_state_ == 0) return;
  double* next = state_moves_ ? next_.data() : state();
  for (int i = 0; i < n_state_; ++i) next[i] = array[next_state_[i]];
  if (state_moves_) std::copy(next_.begin(), next_.end(), state());
}

Rom::Rom(Plan plan, std::vector<double> initial, std::vector<double> lower, std::vector<double> upper, bool watch,
         double period)
    : Block(plan.n_u(), plan.n_y() + (watch ? 1 : 0), plan.n_state(), period),
      plan_(std::move(plan)),
      initial_(std::move(initial)),
      lower_(std::move(lower)),
      upper_(std::move(upper)),
      kept_(initial_.size()),
      watch_(watch) {
  if (static_cast<int>(initial_.size()) != plan_.n_state() || static_cast<int>(lower_.size()) != plan_.n_u() ||
      static_cast<int>(upper_.size()) != plan_.n_u())
    throw std::invalid_argument("initial state and domain of Rom do not fit its plan.");
  reset();
}

void Rom::step(double, const double* in, double* out) noexcept {
  if (watch_) {
    int outside = 0;
    for (int i = 0; i < plan_.n_u(); ++i) outside += in[i] >= lower_[i] && in[i] <= upper_[i] ? 0 : 1;
    out[plan_.n_y()] = outside;
  }
  plan_.run(in, out);
}

void Rom::reset() noexcept { std::copy(initial_.begin(), initial_.end(), plan_.state()); }

void Rom::evaluate(const double* row, double* y) noexcept {
  std::copy(plan_.state(), plan_.state() + plan_.n_state(), kept_.begin());
  std::copy(row + plan_.n_u(), row + plan_.n_u() + plan_.n_state(), plan_.state());
  plan_.run(row, y);
  std::copy(kept_.begin(), kept_.end(), plan_.state());
}

}  // namespace hmor
