#include "blocks/rom.hpp"

#include <algorithm>
#include <cmath>

#include "elementary.hpp"

namespace hmor {

namespace {

typedef double Four __attribute__((vector_size(32), aligned(8)));

bool consecutive(const std::vector<int>& places) noexcept {
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i] != places[i - 1] + 1) return false;
  return true;
}

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
    case Unary::relu: each(x, r, n, [](double v) { return v > 0.0 ? v : 0.0 * v; }); break;  // a nan stays one
    case Unary::exp: each(x, r, n, [](double v) { return std::exp(v); }); break;
    case Unary::log: each(x, r, n, [](double v) { return std::log(v); }); break;
    case Unary::neg: each(x, r, n, [](double v) { return -v; }); break;
    case Unary::abs: each(x, r, n, [](double v) { return std::fabs(v); }); break;
    case Unary::sqrt: each(x, r, n, [](double v) { return std::sqrt(v); }); break;
    case Unary::softplus:
      each(x, r, n, [](double v) { return (v > 0.0 ? v : 0.0 * v) + std::log(1.0 + std::exp(-std::fabs(v))); });
      break;
  }
}

template <typename F>
inline void pairs(const double* array, const int* a, const int* b, double* r, int n, F f) noexcept {
  for (int i = 0; i < n; ++i) r[i] = f(array[a[i]], array[b[i]]);
}

void combine(Binary function, const double* array, const int* a, const int* b, double* r, int n) noexcept {
  switch (function) {
    case Binary::add: pairs(array, a, b, r, n, [](double v, double w) { return v + w; }); break;
    case Binary::sub: pairs(array, a, b, r, n, [](double v, double w) { return v - w; }); break;
    case Binary::mul: pairs(array, a, b, r, n, [](double v, double w) { return v * w; }); break;
    case Binary::div: pairs(array, a, b, r, n, [](double v, double w) { return v / w; }); break;
    case Binary::max: pairs(array, a, b, r, n, [](double v, double w) { return v < w ? w : v; }); break;  // nan in a stays
    case Binary::min: pairs(array, a, b, r, n, [](double v, double w) { return w < v ? w : v; }); break;
  }
}

/// r_i = prod_k (gain_ik x_i + shift_ik) for groups of four rows; rows are padded.
HMOR_CLONES
void products_of_factors(const double* x, const double* gain, const double* shift, const int* depth, int groups,
                         double* r) noexcept {
  for (int g = 0; g < groups; ++g) {
    const Four z = *reinterpret_cast<const Four*>(x + 4 * g);
    Four p = *reinterpret_cast<const Four*>(gain) * z + *reinterpret_cast<const Four*>(shift);
    for (int k = 1; k < depth[g]; ++k)
      p *= reinterpret_cast<const Four*>(gain)[k] * z + reinterpret_cast<const Four*>(shift)[k];
    gain += 4 * depth[g];
    shift += 4 * depth[g];
    *reinterpret_cast<Four*>(r + 4 * g) = p;
  }
}

}  // namespace

Plan::Plan(int n_u, int n_state, std::vector<double> array, std::vector<int> outputs, std::vector<int> next_state)
    : n_u_(n_u),
      n_state_(n_state),
      array_(std::move(array)),
      outputs_(std::move(outputs)),
      next_state_(std::move(next_state)),
      next_(next_state_.size()) {
  if (n_u < 0 || n_state < 0 || static_cast<std::size_t>(n_u + n_state) > array_.size() ||
      next_state_.size() != static_cast<std::size_t>(n_state))
    throw std::invalid_argument("sizes of a plan do not fit together.");
  check(outputs_);
  check(next_state_);
  y_side_by_side_ = consecutive(outputs_);
}

void Plan::check(const std::vector<int>& places) const {
  for (int i : places)
    if (i < 0 || static_cast<std::size_t>(i) >= array_.size())
      throw std::invalid_argument("a step of a plan points outside its numbers.");
}

/// `out` if there is room for n numbers from there on; kernels write whole groups of four.
int Plan::room(int out, int n) const {
  if (out < n_u_ + n_state_ || n < 0 || static_cast<std::size_t>(out + padded(n)) > array_.size())
    throw std::invalid_argument("the result of a step of a plan has no room.");
  return out;
}

Plan::Step& Plan::append(Kind kind, std::vector<int> x, int out, int n) {
  check(x);
  room(out, n);
  Step& step = steps_.emplace_back();
  step.kind = kind;
  step.out = out;
  step.n = n;
  step.side_by_side = consecutive(x) && !x.empty();
  step.work.assign(static_cast<std::size_t>(padded(static_cast<int>(x.size()))) + 4, 0.0);
  step.x = std::move(x);
  return step;
}

/// Whether an earlier step, the inputs or the state change a number at one of the places.
bool Plan::written(const std::vector<int>& places) const noexcept {
  for (int i : places) {
    if (i < n_u_ + n_state_) return true;
    for (const Step& step : steps_)
      if ((i >= step.out && i < step.out + padded(step.n)) || (step.head != nullptr && i == step.head_out)) return true;
  }
  return false;
}

/// Whether the places are all results of an earlier step: then the room behind them holds numbers, zero or not, that a
/// product with zero makes vanish.
bool Plan::whole_result(const std::vector<int>& places) const noexcept {
  if (!consecutive(places) || places.empty()) return false;
  for (const Step& step : steps_)
    if (step.out == places[0] && step.n == static_cast<int>(places.size())) return true;
  return false;
}

/// Lets the last step, a layer, give the single output that is computed from its results; false when it cannot.
bool Plan::join_output(const std::vector<int>& x, const Matrix& weights, double c, int out) {
  if (steps_.empty() || steps_.back().kind != Kind::dense || steps_.back().unary != Unary::none) return false;
  Step& layer = steps_.back();
  if (layer.head != nullptr || layer.out != x[0] || layer.n != static_cast<int>(x.size()) || !consecutive(x)) return false;
  layer.head = layer_with_output_kernel(layer.activation, layer.matrix.ld());
  if (layer.head == nullptr) return false;
  layer.head_out = out;
  layer.shift.assign(1, c);
  layer.gain.assign(static_cast<std::size_t>(layer.matrix.ld()), 0.0);
  for (int j = 0; j < weights.cols(); ++j) layer.gain[j] = weights(0, j);
  return true;
}

void Plan::dense(std::vector<int> x, Matrix weights, std::vector<int> c, Unary function, int out) {
  check(c);
  if (weights.cols() != static_cast<int>(x.size()) || static_cast<int>(c.size()) != weights.rows() || x.empty())
    throw std::invalid_argument("a dense step of a plan does not fit together.");
  const bool one_row = weights.rows() == 1 && function == Unary::none, whole = whole_result(x), fixed = !written(c);
  work_ += static_cast<std::int64_t>(weights.rows()) * weights.cols();
  if (one_row && fixed && join_output(x, weights, array_[c[0]], room(out, 1))) return;
  Step& step = append(one_row ? Kind::dot : Kind::dense, std::move(x), out, weights.rows());
  step.unary = function;
  step.other = std::move(c);
  step.matrix = std::move(weights);
  step.constant.assign(step.matrix.ld(), 0.0);
  step.constant_c = fixed;
  if (fixed)
    for (int i = 0; i < step.n; ++i) step.constant[i] = array_[step.other[i]];
  if (one_row) {
    step.side_by_side = whole;  // else gathered into `work`, with zeros behind
    step.gain.assign(static_cast<std::size_t>(padded(step.matrix.cols())), 0.0);
    for (int j = 0; j < step.matrix.cols(); ++j) step.gain[j] = step.matrix(0, j);
  }
  const bool smooth = function == Unary::tanh || function == Unary::sigmoid;
  if (smooth) step.activation = function == Unary::tanh ? Activation::tanh : Activation::sigmoid;
  if (smooth) step.unary = Unary::none;
  step.layer = layer_kernel(step.activation, step.matrix.ld());
}

void Plan::factors(std::vector<int> x, std::vector<std::vector<double>> gain, std::vector<std::vector<double>> shift,
                   int out) {
  const std::size_t n = x.size();
  if (gain.size() != n || shift.size() != n) throw std::invalid_argument("factors of a plan do not fit together.");
  Step& step = append(Kind::factors, std::move(x), out, static_cast<int>(n));
  for (std::size_t first = 0; first < n; first += 4) {
    std::size_t depth = 1;
    for (std::size_t i = first; i < std::min(first + 4, n); ++i) depth = std::max(depth, gain[i].size());
    for (std::size_t k = 0; k < depth; ++k)
      for (std::size_t i = first; i < first + 4; ++i) {
        const bool there = i < n && k < gain[i].size();
        step.gain.push_back(there ? gain[i][k] : 0.0);
        step.shift.push_back(there ? shift[i][k] : 1.0);
      }
    step.depth.push_back(static_cast<int>(depth));
    work_ += static_cast<std::int64_t>(4 * depth);
  }
}

void Plan::terms(std::vector<std::vector<int>> places, Matrix coefficients, std::vector<double> constant, int out) {
  const std::size_t n = places.empty() ? 0 : places.front().size();
  std::vector<int> all;
  for (const auto& place : places) {
    if (place.size() != n) throw std::invalid_argument("places of a plan must be of one length.");
    all.insert(all.end(), place.begin(), place.end());
  }
  if (coefficients.cols() != static_cast<int>(n) || static_cast<int>(constant.size()) != coefficients.rows())
    throw std::invalid_argument("terms of a plan do not fit together.");
  Step& step = append(Kind::terms, std::move(all), out, coefficients.rows());
  step.count = static_cast<int>(n);
  if (coefficients.rows() == 1) {  // one row: its numbers side by side
    step.gain.assign(static_cast<std::size_t>(padded(step.count)), 0.0);
    for (int j = 0; j < step.count; ++j) step.gain[j] = coefficients(0, j);
  }
  work_ += static_cast<std::int64_t>(n) * (coefficients.rows() + static_cast<std::int64_t>(places.size()) - 1);
  step.matrix = std::move(coefficients);
  step.constant = std::move(constant);
  step.work.assign(static_cast<std::size_t>(padded(step.count)) + static_cast<std::size_t>(step.matrix.ld()), 0.0);
}

void Plan::standard(std::vector<int> x, std::vector<double> mean, std::vector<double> divisor, int out) {
  const std::size_t n = x.size();
  if (mean.size() != n || divisor.size() != n) throw std::invalid_argument("a standard step of a plan does not fit.");
  Step& step = append(Kind::standard, std::move(x), out, static_cast<int>(n));
  step.gain = std::move(divisor);
  step.shift = std::move(mean);
}

void Plan::clip(std::vector<int> x, std::vector<double> divisor, std::vector<double> lower, std::vector<double> upper,
                int out) {
  const std::size_t n = x.size();
  if (divisor.size() != n || lower.size() != n || upper.size() != n)
    throw std::invalid_argument("a clip step of a plan does not fit together.");
  Step& step = append(Kind::clip, std::move(x), out, static_cast<int>(n));
  step.reads_u = std::all_of(step.x.begin(), step.x.end(), [this](int i) { return i < n_u_; });
  step.divides = std::any_of(divisor.begin(), divisor.end(), [](double d) { return d != 1.0; });
  step.gain = std::move(divisor);
  step.shift = std::move(lower);
  step.constant = std::move(upper);
}

void Plan::unary(Unary function, std::vector<int> x, int out) {
  const int n = static_cast<int>(x.size());
  append(Kind::unary, std::move(x), out, n).unary = function;
}

void Plan::binary(Binary function, std::vector<int> a, std::vector<int> b, int out) {
  check(b);
  if (a.size() != b.size()) throw std::invalid_argument("a binary step of a plan does not fit together.");
  const int n = static_cast<int>(a.size());
  Step& step = append(Kind::binary, std::move(a), out, n);
  step.binary = function;
  step.other = std::move(b);
}

void Plan::product(std::vector<int> x, int count, int out) {
  if (count < 1 || x.size() % static_cast<std::size_t>(count) != 0)
    throw std::invalid_argument("a product of a plan does not fit together.");
  const int n = static_cast<int>(x.size()) / count;
  append(Kind::product, std::move(x), out, n).count = count;
}

const double* Plan::argument(Step& step) noexcept {
  if (step.side_by_side) return array_.data() + step.x[0];
  const double* array = array_.data();
  const int* places = step.x.data();
  const int n = static_cast<int>(step.x.size());
  double* work = step.work.data();
  for (int i = 0; i < n; ++i) work[i] = array[places[i]];
  return work;
}

void Plan::run(const double* u, double* y) noexcept {
  double* array = array_.data();
  for (int i = 0; i < n_u_; ++i) array[i] = u[i];
  for (Step& step : steps_) {
    double* r = array + step.out;
    switch (step.kind) {
      case Kind::dense: {
        if (!step.constant_c)
          for (int i = 0; i < step.n; ++i) step.constant[i] = array[step.other[i]];
        const Matrix& a = step.matrix;
        const double *x = argument(step), *c = step.constant.data();
        if (step.head != nullptr) {
          array[step.head_out] = step.head(a.data(), a.ld(), a.cols(), x, c, r, step.gain.data()) + step.shift[0];
          break;
        }
        step.layer(a.data(), a.ld(), a.cols(), x, c, r);
        if (step.unary != Unary::none) apply(step.unary, r, r, step.n);
        break;
      }
      case Kind::dot:
        r[0] = dot(step.gain.data(), argument(step), step.matrix.cols()) +
               (step.constant_c ? step.constant[0] : array[step.other[0]]);
        break;
      case Kind::factors: {
        const int groups = static_cast<int>(step.depth.size());
        const double* x = array_.data();
        for (int i = 0; i < step.n; ++i) step.work[i] = x[step.x[i]];
        products_of_factors(step.work.data(), step.gain.data(), step.shift.data(), step.depth.data(), groups, r);
        break;
      }
      case Kind::terms: {
        double* p = step.work.data();
        const int n = step.count;
        const int* place = step.x.data();
        const std::size_t rest = step.x.size();
        if (rest == 2 * static_cast<std::size_t>(n)) {
          for (int t = 0; t < n; ++t) p[t] = array[place[t]] * array[place[n + t]];
        } else {
          for (int t = 0; t < n; ++t) p[t] = array[place[t]];
          for (std::size_t at = n; at < rest; at += n)
            for (int t = 0; t < n; ++t) p[t] *= array[place[at + t]];
        }
        if (step.n == 1) {
          r[0] = dot(step.gain.data(), p, n) + step.constant[0];
        } else {
          multiply(step.matrix, p, r);
          for (int i = 0; i < step.n; ++i) r[i] += step.constant[i];
        }
        break;
      }
      case Kind::standard:
        for (int i = 0; i < step.n; ++i) r[i] = (array[step.x[i]] - step.shift[i]) / step.gain[i];
        break;
      case Kind::clip:
        for (int i = 0; i < step.n; ++i) {
          const double x = (step.reads_u ? u : array)[step.x[i]], v = step.divides ? x / step.gain[i] : x;
          const double above = v < step.shift[i] ? step.shift[i] : v;
          r[i] = step.constant[i] < above ? step.constant[i] : above;
        }
        break;
      case Kind::unary: apply(step.unary, argument(step), r, step.n); break;
      case Kind::binary: combine(step.binary, array, step.x.data(), step.other.data(), r, step.n); break;
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
  if (y_side_by_side_) {
    const double* from = array + outputs_[0];
    for (std::size_t i = 0; i < outputs_.size(); ++i) y[i] = from[i];
  } else {
    for (std::size_t i = 0; i < outputs_.size(); ++i) y[i] = array[outputs_[i]];
  }
  if (n_state_ == 0) return;
  for (int i = 0; i < n_state_; ++i) next_[i] = array[next_state_[i]];
  std::copy(next_.begin(), next_.end(), state());
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
