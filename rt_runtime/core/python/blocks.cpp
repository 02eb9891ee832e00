#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "integrators/adams_bashforth.hpp"
#include "blocks/delay.hpp"
#include "blocks/filter.hpp"
#include "blocks/gain.hpp"
#include "blocks/noise.hpp"
#include "integrators/ode.hpp"
#include "integrators/rosenbrock.hpp"
#include "blocks/state_space.hpp"
#include "blocks/table.hpp"
#include "blocks/tunables.hpp"

namespace hmor {

namespace {

Equations equations(std::uintptr_t address, std::uintptr_t outputs, std::uintptr_t held, int n_held) {
  return {reinterpret_cast<Rhs>(address), reinterpret_cast<Outputs>(outputs), reinterpret_cast<Rhs>(held), n_held};
}

template <class T>
nb::ndarray<nb::numpy, double> state_of(const T& block) {
  return to_numpy(block.state(), {static_cast<std::size_t>(block.n_state())});
}

}  // namespace

void bind_blocks(nb::module_& m) {
  nb::enum_<Update>(m, "Update", "When a block with state advances within its tick.")
      .value("end", Update::end)
      .value("start", Update::start);
  nb::enum_<Hold>(m, "Hold", "How an input runs between two ticks.").value("zero", Hold::zero).value("first", Hold::first);

  nb::class_<StateSpace, Block>(m, "StateSpace")
      .def(
          "__init__",
          [](StateSpace* self, const Array2& a, const Array2& b, const Array2& c, const Array2& d, const Array2& entry,
             const Array1& initial, double period, Update update) {
            new (self) StateSpace(to_matrix(a), to_matrix(b), to_matrix(c), to_matrix(d), to_matrix(entry),
                                  to_vector(initial), period, update);
          },
          "a"_a, "b"_a, "c"_a, "d"_a, "entry"_a, "initial"_a, "period"_a, "update"_a)
      .def_prop_ro("state", state_of<StateSpace>, nb::rv_policy::move);

  nb::class_<Ode, Block>(m, "Ode")
      .def(
          "__init__",
          [](Ode* self, std::uintptr_t address, std::uintptr_t outputs, std::uintptr_t held, int n_held, int n_in, int n_out, const Array1& initial,
             const Array1& parameters, double period, int substeps, Hold hold, Update update) {
            new (self) Ode(equations(address, outputs, held, n_held), n_in, n_out, to_vector(initial), to_vector(parameters), period,
                           substeps, hold, update);
          },
          "address"_a, "outputs"_a, "held"_a, "n_held"_a, "n_in"_a, "n_out"_a, "initial"_a, "parameters"_a, "period"_a, "substeps"_a,
          "hold"_a, "update"_a)
      .def_prop_ro("state", state_of<Ode>, nb::rv_policy::move);

  nb::class_<AdamsBashforth, Block>(m, "AdamsBashforth")
      .def(
          "__init__",
          [](AdamsBashforth* self, std::uintptr_t address, std::uintptr_t outputs, std::uintptr_t held, int n_held, int n_in, int n_out,
             const Array1& initial, const Array1& parameters, double period, int substeps, Hold hold, Update update,
             std::vector<int> fresh) {
            new (self) AdamsBashforth(equations(address, outputs, held, n_held), n_in, n_out, to_vector(initial),
                                      to_vector(parameters), period, substeps, hold, update, std::move(fresh));
          },
          "address"_a, "outputs"_a, "held"_a, "n_held"_a, "n_in"_a, "n_out"_a, "initial"_a, "parameters"_a, "period"_a, "substeps"_a,
          "hold"_a, "update"_a, "fresh"_a)
      .def_prop_ro("state", state_of<AdamsBashforth>, nb::rv_policy::move);

  nb::class_<Rosenbrock, Block>(m, "Rosenbrock")
      .def(
          "__init__",
          [](Rosenbrock* self, std::uintptr_t address, std::uintptr_t outputs, std::uintptr_t held, int n_held, std::uintptr_t jacobian, int n_in,
             int n_out, const Array1& initial, const Array1& parameters, const Array1& scales, double period,
             int substeps, Hold hold, Update update) {
            new (self) Rosenbrock(equations(address, outputs, held, n_held), reinterpret_cast<Jacobian>(jacobian), n_in, n_out,
                                  to_vector(initial), to_vector(parameters), to_vector(scales), period, substeps, hold,
                                  update);
          },
          "address"_a, "outputs"_a, "held"_a, "n_held"_a, "jacobian"_a, "n_in"_a, "n_out"_a, "initial"_a, "parameters"_a, "scales"_a,
          "period"_a, "substeps"_a, "hold"_a, "update"_a)
      .def_prop_ro("state", state_of<Rosenbrock>, nb::rv_policy::move);

  nb::class_<Table, Block>(m, "Table")
      .def(
          "__init__",
          [](Table* self, const Array1& times, const Array2& values) {
            new (self) Table(to_vector(times), to_matrix(values));
          },
          "times"_a, "values"_a);

  nb::class_<Delay, Block>(m, "Delay")
      .def(
          "__init__",
          [](Delay* self, double steps, const Array1& initial) { new (self) Delay(steps, to_vector(initial)); },
          "steps"_a, "initial"_a);

  nb::class_<Gain, Block>(m, "Gain")
      .def(
          "__init__",
          [](Gain* self, const Array2& matrix, const Array1& offset) {
            new (self) Gain(to_matrix(matrix), to_vector(offset));
          },
          "matrix"_a, "offset"_a);

  nb::class_<Filter, Block>(m, "Filter")
      .def(
          "__init__",
          [](Filter* self, const Array2& sections, int channels) {
            std::vector<Filter::Section> rows(sections.shape(0));
            for (std::size_t i = 0; i < rows.size(); ++i)
              for (std::size_t j = 0; j < 5; ++j) rows[i][j] = sections(i, j);
            new (self) Filter(std::move(rows), channels);
          },
          "sections"_a, "channels"_a);

  nb::class_<Noise, Block>(m, "Noise")
      .def(
          "__init__",
          [](Noise* self, const Array1& deviation, std::uint64_t seed) { new (self) Noise(to_vector(deviation), seed); },
          "deviation"_a, "seed"_a);

  nb::class_<Tunables, Block>(m, "Tunables")
      .def(
          "__init__",
          [](Tunables* self, const Array2& ranges, double dt) {
            std::vector<Tunables::Range> rows;
            for (std::size_t i = 0; i < ranges.shape(0); ++i)
              rows.push_back({ranges(i, 0), ranges(i, 1), ranges(i, 2), ranges(i, 3)});
            new (self) Tunables(std::move(rows), dt);
          },
          "ranges"_a, "dt"_a);
}

}  // namespace hmor
