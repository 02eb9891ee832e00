// Building a plan, outside the loop; running it stands in rom.cpp.

#include <algorithm>
#include <map>
#include <set>

#include "rom/rom.hpp"

namespace hmor {

namespace {

bool consecutive(const std::vector<int>& places) noexcept {
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i] != places[i - 1] + 1) return false;
  return true;
}

}  // namespace

Plan::Plan(int n_u, int n_state, std::vector<double> array, std::vector<int> outputs, std::vector<int> next_state)
    : n_u_(n_u),
      n_state_(n_state),
      array_(std::move(array)),
      outputs_(std::move(outputs)),
      next_state_(std::move(next_state)),
      next_(next_state_.size()) {
  if (n_u < 0 || n_state < 0 || array_.size() > most_numbers ||
      static_cast<std::size_t>(n_u) + static_cast<std::size_t>(n_state) > array_.size() ||
      next_state_.size() != static_cast<std::size_t>(n_state))
    throw std::invalid_argument("sizes of a plan do not fit together.");
  if (outputs_.empty()) throw std::invalid_argument("a plan must have at least one output.");
  check(outputs_);
  check(next_state_);
  y_side_by_side_ = consecutive(outputs_);
  state_moves_ = std::any_of(next_state_.begin(), next_state_.end(), [=](int i) { return i >= n_u && i < n_u + n_state; });
}

void Plan::check(const std::vector<int>& places) const {
  for (int i : places)
    if (i < 0 || static_cast<std::size_t>(i) >= array_.size())
      throw std::invalid_argument("a step of a plan points outside its numbers.");
}

/// `out` if there is room for n >= 1 numbers from there on; kernels write whole groups of four.
int Plan::room(int out, int n) const {
  if (n < 1) throw std::invalid_argument("a step of a plan must have at least one result.");
  if (out < n_u_ + n_state_ || static_cast<std::size_t>(n) > array_.size() ||
      static_cast<std::size_t>(out) + static_cast<std::size_t>(padded(n)) > array_.size())
    throw std::invalid_argument("the result of a step of a plan has no room.");
  return out;
}

/// Kernels read arguments while they write results: the two must not share a place.
void Plan::check_apart(const std::vector<int>& places, int out, int n) const {
  for (int i : places)
    if (i >= out && i - out < padded(n)) throw std::invalid_argument("a step of a plan writes over its arguments.");
}

Plan::Step& Plan::append(Kind kind, std::vector<int> x, int out, int n) {
  check(x);
  room(out, n);
  check_apart(x, out, n);
  gives_y_ = false;
  elements_ += static_cast<std::int64_t>(x.size()) + n;
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
  layer.head_out = out;
  layer.shift.assign(1, c);
  layer.gain.assign(static_cast<std::size_t>(layer.matrix.ld()), 0.0);
  for (int j = 0; j < weights.cols(); ++j) layer.gain[j] = weights(0, j);
  return true;
}

void Plan::dense(std::vector<int> x, Matrix weights, std::vector<int> c, Unary function, int out) {
  check(c);
  if (x.empty() || weights.rows() < 1 || static_cast<std::size_t>(weights.cols()) != x.size() ||
      static_cast<std::size_t>(weights.rows()) != c.size())
    throw std::invalid_argument("a dense step of a plan does not fit together.");
  check(x);
  check_apart(c, room(out, weights.rows()), weights.rows());
  const bool one_row = weights.rows() == 1 && function == Unary::none, whole = whole_result(x), fixed = !written(c);
  const bool whole_c = whole_result(c);
  work_ += static_cast<std::int64_t>(weights.rows()) * weights.cols();
  if (one_row && fixed && join_output(x, weights, array_[c[0]], room(out, 1))) return;
  Step& step = append(one_row ? Kind::dot : Kind::dense, std::move(x), out, weights.rows());
  step.unary = function;
  step.other = std::move(c);
  step.matrix = std::move(weights);
  // Rows that only fill a group of four repeat the last one: zeros would turn an infinite x into a nan there, which the
  // zero weights behind it do not make vanish.
  const int last = step.n - 1, ld = step.matrix.ld();
  for (int j = 0; j < step.matrix.cols(); ++j)
    for (int i = step.n; i < ld; ++i) step.matrix(i, j) = step.matrix(last, j);
  step.constant.assign(ld, 0.0);
  step.constant_c = fixed;
  step.whole_c = whole_c && !fixed;
  if (fixed)
    for (int i = 0; i < ld; ++i) step.constant[i] = array_[step.other[std::min(i, last)]];
  if (one_row) {
    step.side_by_side = whole;  // else gathered into `work`, with zeros behind
    step.gain.assign(static_cast<std::size_t>(padded(step.matrix.cols())), 0.0);
    for (int j = 0; j < step.matrix.cols(); ++j) step.gain[j] = step.matrix(0, j);
  }
  if (function == Unary::tanh || function == Unary::sigmoid) {  // the kernel does it
    step.activation = function == Unary::tanh ? Activation::tanh : Activation::sigmoid;
    step.unary = Unary::none;
  }
  step.layer = layer_kernel(step.activation, step.matrix.ld());
}

void Plan::factors(std::vector<int> x, std::vector<std::vector<double>> gain, std::vector<std::vector<double>> shift,
                   int out) {
  const std::size_t n = x.size();
  bool fit = n > 0 && gain.size() == n && shift.size() == n;
  for (std::size_t i = 0; fit && i < n; ++i) fit = !gain[i].empty() && gain[i].size() == shift[i].size();
  if (!fit) throw std::invalid_argument("factors of a plan do not fit together.");
  for (std::size_t i = 0; i < n; ++i)
    if (std::all_of(gain[i].begin(), gain[i].end(), [](double g) { return g == 0.0; }) &&
        std::all_of(shift[i].begin(), shift[i].end(), [](double c) { return c == 1.0; }))
      ones_.insert(out + static_cast<int>(i));
  Step& step = append(Kind::factors, std::move(x), out, static_cast<int>(n));
  step.factors = Factors(gain, shift);
  work_ += step.factors.work();
}

/// A single output sum_t c_t x_a(t) x_b(t) + c as the form f' C g + c, where C is not much larger than the list of terms.
bool Plan::bilinear_form(const std::vector<int>& a, const std::vector<int>& b, const Matrix& coefficients, double c,
                         int out) {
  const std::set<int> right(b.begin(), b.end());
  std::map<int, int> row, column;  // place -> row or column of C
  const auto numbered = [](std::map<int, int>& numbers, int place) {
    return numbers.emplace(place, static_cast<int>(numbers.size())).first->second;
  };
  std::vector<std::pair<int, int>> cells(a.size());
  for (std::size_t t = 0; t < a.size(); ++t) {
    const bool turned = right.count(a[t]) > 0;  // what also stands on the right is collected there
    cells[t] = {numbered(row, turned ? b[t] : a[t]), numbered(column, turned ? a[t] : b[t])};
  }
  if (row.size() * column.size() > 6 * a.size()) return false;
  Matrix matrix(static_cast<int>(row.size()), static_cast<int>(column.size()));
  for (std::size_t t = 0; t < cells.size(); ++t)
    matrix(cells[t].first, cells[t].second) += coefficients(0, static_cast<int>(t));
  std::vector<int> f(row.size()), g(column.size());
  for (const auto& [place, i] : row) f[i] = place;
  for (const auto& [place, j] : column) g[j] = place;
  check_apart(f, room(out, 1), 1);
  Step& step = append(Kind::form, std::move(g), out, 1);
  work_ += static_cast<std::int64_t>(matrix.rows()) * (matrix.cols() + 1);
  step.other = std::move(f);
  step.head = layer_with_output_kernel(Activation::none, matrix.ld());
  step.gain.assign(static_cast<std::size_t>(matrix.ld()), 0.0);
  step.shift.assign(static_cast<std::size_t>(2 * matrix.ld()), 0.0);  // zeros, and the product nobody reads
  step.constant.assign(1, c);
  step.matrix = std::move(matrix);
  return true;
}

void Plan::terms(std::vector<std::vector<int>> places, Matrix coefficients, std::vector<double> constant, int out) {
  const std::size_t n = places.empty() ? 0 : places.front().size();
  std::vector<int> all;
  for (const auto& place : places) {
    if (place.size() != n) throw std::invalid_argument("places of a plan must be of one length.");
    all.insert(all.end(), place.begin(), place.end());
  }
  if (n == 0 || all.size() > most_numbers || static_cast<std::size_t>(coefficients.cols()) != n ||
      constant.size() != static_cast<std::size_t>(coefficients.rows()))
    throw std::invalid_argument("terms of a plan do not fit together.");
  check(all);
  if (places.size() == 2 && coefficients.rows() == 1 &&
      bilinear_form(places[0], places[1], coefficients, constant[0], out))
    return;
  std::vector<std::vector<int>> factors(n);
  for (std::size_t t = 0; t < n; ++t) {
    for (const auto& place : places)
      if (ones_.count(place[t]) == 0) factors[t].push_back(place[t]);
    if (factors[t].empty()) factors[t].push_back(places[0][t]);
  }
  Step& step = append(Kind::terms, std::move(all), out, coefficients.rows());
  step.terms = Terms(factors, coefficients, std::move(constant));
  work_ += step.terms.work();
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
  gives_y_ = ends_in_y();
}

void Plan::correlations(std::vector<int> x, const Matrix& points, std::vector<double> rate, std::vector<double> weight,
                        Correlation family, int out) {
  const std::size_t d = x.size();
  const int n = points.cols();
  if (d == 0 || static_cast<std::size_t>(points.rows()) != d || rate.size() != d || weight.size() != d || n < 1 ||
      static_cast<int>(family) < 0 || static_cast<int>(family) > 4)
    throw std::invalid_argument("a correlations step of a plan does not fit together.");
  const bool weighted = std::any_of(weight.begin(), weight.end(), [](double w) { return w != 1.0; });
  Step& step = append(Kind::correlations, std::move(x), out, n);
  step.correlations = correlations_kernel(family, weighted);
  const int ld = padded(n);
  step.gain.assign(d * static_cast<std::size_t>(ld), 0.0);  // points row after row; what fills a group repeats the last
  for (int i = 0; i < points.rows(); ++i)
    for (int j = 0; j < ld; ++j) step.gain[static_cast<std::size_t>(i) * ld + j] = points(i, std::min(j, n - 1));
  step.shift = std::move(rate);
  step.constant = std::move(weight);
  work_ += static_cast<std::int64_t>(4 * d) * n;
}

void Plan::unary(Unary function, std::vector<int> x, int out) {
  const int n = static_cast<int>(x.size());
  append(Kind::unary, std::move(x), out, n).unary = function;
}

/// Whether the results of the last step are the outputs and nobody else reads them.
bool Plan::ends_in_y() const noexcept {
  const Step& step = steps_.back();
  return n_state_ == 0 && !outputs_.empty() && y_side_by_side_ && outputs_[0] == step.out &&
         static_cast<int>(outputs_.size()) == step.n;
}

void Plan::binary(Binary function, std::vector<int> a, std::vector<int> b, int out) {
  check(b);
  if (a.size() != b.size()) throw std::invalid_argument("a binary step of a plan does not fit together.");
  const int n = static_cast<int>(a.size());
  check_apart(b, room(out, n), n);
  const bool fixed = !written(b), gathered = fixed || !consecutive(b);
  Step& step = append(Kind::binary, std::move(a), out, n);
  step.binary = function;
  step.constant_c = fixed;
  if (gathered)
    for (int i : b) step.constant.push_back(array_[i]);
  step.other = std::move(b);
  gives_y_ = ends_in_y();
}

void Plan::play(std::vector<int> x, std::vector<int> p, std::vector<double> radius, int out) {
  check(p);
  const std::size_t n = x.size();
  if (p.size() != n || radius.size() != n) throw std::invalid_argument("a play step of a plan does not fit together.");
  Step& step = append(Kind::play, std::move(x), out, static_cast<int>(n));
  step.other = std::move(p);
  step.gain = std::move(radius);
  work_ += static_cast<std::int64_t>(2 * n);
}

void Plan::bars(const std::vector<std::vector<int>>& places, const std::vector<std::vector<double>>& numbers,
                const SteelLaw& law, int out) {
  const std::size_t n = places.empty() ? 0 : places.front().size();
  const auto of_one_length = [n](const auto& list) { return list.size() == n; };
  if (places.size() != 8 || numbers.size() != 3 || n < 1 || n > most_numbers / 8 ||
      !std::all_of(places.begin(), places.end(), of_one_length) ||
      !std::all_of(numbers.begin(), numbers.end(), of_one_length))
    throw std::invalid_argument("a bars step of a plan does not fit together.");
  const int ld = padded(static_cast<int>(n));
  const auto whole_groups = [n, ld](const auto& lists) {  // one behind the other; what fills a group repeats the last
    auto all = lists.front();
    all.clear();
    for (const auto& list : lists) {
      all.insert(all.end(), list.begin(), list.end());
      all.insert(all.end(), static_cast<std::size_t>(ld) - n, list.back());
    }
    return all;
  };
  Step& step = append(Kind::bars, whole_groups(places), out, 7 * ld);
  step.count = ld;
  step.gain = whole_groups(numbers);
  step.law = law;
  work_ += 60 * static_cast<std::int64_t>(n);
}

void Plan::select(std::vector<int> condition, std::vector<int> a, std::vector<int> b, int out) {
  check(a);
  check(b);
  const std::size_t n = condition.size();
  if (a.size() != n || b.size() != n) throw std::invalid_argument("a select step of a plan does not fit together.");
  Step& step = append(Kind::select, std::move(condition), out, static_cast<int>(n));
  step.other = std::move(a);
  step.third = std::move(b);
}

void Plan::product(std::vector<int> x, int count, int out) {
  if (count < 1 || x.size() % static_cast<std::size_t>(count) != 0)
    throw std::invalid_argument("a product of a plan does not fit together.");
  const int n = static_cast<int>(x.size()) / count;
  append(Kind::product, std::move(x), out, n).count = count;
}

}  // namespace hmor
