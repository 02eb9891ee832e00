#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "rom/rom.hpp"
#include "math/elementary.hpp"

namespace hmor {

void bind_rom(nb::module_& m) {
  nb::enum_<Unary>(m, "Unary")
      .value("none", Unary::none)
      .value("tanh", Unary::tanh)
      .value("sigmoid", Unary::sigmoid)
      .value("relu", Unary::relu)
      .value("exp", Unary::exp)
      .value("log", Unary::log)
      .value("neg", Unary::neg)
      .value("abs", Unary::abs)
      .value("sqrt", Unary::sqrt)
      .value("softplus", Unary::softplus);
  nb::enum_<Binary>(m, "Binary")
      .value("add", Binary::add)
      .value("sub", Binary::sub)
      .value("mul", Binary::mul)
      .value("div", Binary::div)
      .value("max", Binary::max)
      .value("min", Binary::min)
      .value("less", Binary::less)
      .value("greater", Binary::greater);

  nb::enum_<Correlation>(m, "Correlation")
      .value("linear", Correlation::linear)
      .value("exponential", Correlation::exponential)
      .value("matern32", Correlation::matern32)
      .value("matern52", Correlation::matern52)
      .value("gaussian", Correlation::gaussian);
  m.def(
      "correlations",
      [](const Array1& z, const Array2& points, const Array1& rate, const Array1& weight, Correlation family,
         bool any_host) {
        // points (d, n), row after row; for tests of the kernels
        const Matrix rows = to_matrix(points);
        const int d = rows.rows(), n = rows.cols(), ld = (n + 3) / 4 * 4;
        if (static_cast<int>(z.size()) != d || static_cast<int>(rate.size()) != d || static_cast<int>(weight.size()) != d)
          throw std::invalid_argument("sizes of correlations do not fit together.");
        std::vector<double> flat(static_cast<std::size_t>(d) * ld), r(ld);
        bool weighted = false;
        for (int i = 0; i < d; ++i) {
          weighted |= weight.data()[i] != 1.0;
          for (int j = 0; j < ld; ++j) flat[static_cast<std::size_t>(i) * ld + j] = rows(i, j < n ? j : n - 1);
        }
        const Correlations kernel =
            any_host ? correlations_of_any_host(family, weighted) : correlations_kernel(family, weighted);
        kernel(z.data(), d, flat.data(), rate.data(), weight.data(), r.data(), ld);
        return to_numpy(r.data(), {static_cast<std::size_t>(n)});
      },
      "z"_a, "points"_a, "rate"_a, "weight"_a, "family"_a, "any_host"_a = false);

  const auto bind_each = [&m](const char* name, Elementwise function) {
    m.def(
        name,
        [function](const Array1& x) {
          std::vector<double> r(x.size() + 1);
          function(x.data(), r.data(), static_cast<int>(x.size()));
          return to_numpy(r.data(), {x.size()});
        },
        "x"_a);
  };
  bind_each("tanh", tanh_each);
  bind_each("sigmoid", sigmoid_each);
  bind_each("exp", exp_each);
  bind_each("log", log_each);
  bind_each("exp_of_any_host", exp_of_any_host());
  bind_each("log_of_any_host", log_of_any_host());
  bind_each("tanh_of_any_host", tanh_of_any_host());
  bind_each("sigmoid_of_any_host", sigmoid_of_any_host());

  nb::class_<Plan>(m, "Plan", "A reduced model as a flat list of steps on one array of numbers.")
      .def(
          "__init__",
          [](Plan* self, int n_u, int n_state, const Array1& array, std::vector<int> outputs,
             std::vector<int> next_state) {
            new (self) Plan(n_u, n_state, to_vector(array), std::move(outputs), std::move(next_state));
          },
          "n_u"_a, "n_state"_a, "array"_a, "outputs"_a, "next_state"_a)
      .def(
          "dense",
          [](Plan& p, std::vector<int> x, const Array2& weights, std::vector<int> c, Unary function, int out) {
            p.dense(std::move(x), to_matrix(weights), std::move(c), function, out);
          },
          "x"_a, "weights"_a, "c"_a, "function"_a, "out"_a)
      .def("factors", &Plan::factors, "x"_a, "gain"_a, "shift"_a, "out"_a)
      .def(
          "terms",
          [](Plan& p, std::vector<std::vector<int>> places, const Array2& coefficients, std::vector<double> constant,
             int out) { p.terms(std::move(places), to_matrix(coefficients), std::move(constant), out); },
          "places"_a, "coefficients"_a, "constant"_a, "out"_a)
      .def("standard", &Plan::standard, "x"_a, "mean"_a, "divisor"_a, "out"_a)
      .def("clip", &Plan::clip, "x"_a, "divisor"_a, "lower"_a, "upper"_a, "out"_a)
      .def(
          "correlations",
          [](Plan& p, std::vector<int> x, const Array2& points, std::vector<double> rate, std::vector<double> weight,
             Correlation family, int out) {
            p.correlations(std::move(x), to_matrix(points), std::move(rate), std::move(weight), family, out);
          },
          "x"_a, "points"_a, "rate"_a, "weight"_a, "family"_a, "out"_a)
      .def("unary", &Plan::unary, "function"_a, "x"_a, "out"_a)
      .def("binary", &Plan::binary, "function"_a, "a"_a, "b"_a, "out"_a)
      .def("product", &Plan::product, "x"_a, "count"_a, "out"_a)
      .def("play", &Plan::play, "x"_a, "p"_a, "radius"_a, "out"_a)
      .def(
          "bars",
          [](Plan& p, const std::vector<std::vector<int>>& places, const std::vector<std::vector<double>>& numbers,
             double least, double c, double R0, double R1, double tiny, double limit,
             int out) { p.bars(places, numbers, SteelLaw{least, c, R0, R1, tiny, limit}, out); },
          "places"_a, "numbers"_a, "least"_a, "c"_a, "R0"_a, "R1"_a, "tiny"_a, "limit"_a, "out"_a)
      .def("select", &Plan::select, "condition"_a, "a"_a, "b"_a, "out"_a)
      .def_prop_ro("steps", &Plan::steps)
      .def_prop_ro("multiply_adds", &Plan::multiply_adds)
      .def_prop_ro("elements", &Plan::elements);

  nb::class_<Rom, Block>(m, "Rom")
      .def(
          "__init__",
          [](Rom* self, const Plan& plan, const Array1& initial, const Array1& lower, const Array1& upper, bool watch,
             double period) {
            new (self) Rom(plan, to_vector(initial), to_vector(lower), to_vector(upper), watch, period);
          },
          "plan"_a, "initial"_a, "lower"_a, "upper"_a, "watch"_a, "period"_a)
      .def(
          "evaluate",
          [](Rom& rom, const Array2& rows) {
            const int width = rom.plan().n_u() + rom.plan().n_state(), n_y = rom.plan().n_y();
            if (static_cast<int>(rows.shape(1)) != width) throw nb::value_error("rows of evaluate have the wrong width.");
            std::vector<double> y(rows.shape(0) * static_cast<std::size_t>(n_y) + 1);
            {
              nb::gil_scoped_release release;
              for (std::size_t i = 0; i < rows.shape(0); ++i)
                rom.evaluate(rows.data() + i * static_cast<std::size_t>(width), y.data() + i * static_cast<std::size_t>(n_y));
            }
            return to_numpy(y.data(), {rows.shape(0), static_cast<std::size_t>(n_y)});
          },
          "rows"_a, "Outputs (n, n_out) at rows (u, state); the state of the block stays as it is.")
      .def(
          "run",
          [](Rom& rom, const Array2& u) {
            if (static_cast<int>(u.shape(1)) != rom.n_in()) throw nb::value_error("rows of run have the wrong width.");
            const auto n_y = static_cast<std::size_t>(rom.plan().n_y());
            std::vector<double> y(u.shape(0) * n_y + 1), out(rom.n_out() + 1);
            {
              nb::gil_scoped_release release;
              rom.reset();
              for (std::size_t i = 0; i < u.shape(0); ++i) {
                rom.step(0.0, u.data() + i * u.shape(1), out.data());
                for (std::size_t j = 0; j < n_y; ++j) y[i * n_y + j] = out[j];
              }
              rom.reset();
            }
            return to_numpy(y.data(), {u.shape(0), n_y});
          },
          "u"_a, "Step over rows u from the initial state; outputs (n, n_out).")
      .def_prop_ro(
          "state",
          [](const Rom& rom) { return to_numpy(rom.plan().state(), {static_cast<std::size_t>(rom.plan().n_state())}); },
          nb::rv_policy::move, "The state as it stands.")
      .def_prop_ro("plan", &Rom::plan, nb::rv_policy::copy);
}

}  // namespace hmor
