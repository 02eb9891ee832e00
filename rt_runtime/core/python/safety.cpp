#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings.hpp"
#include "blocks/monitor.hpp"
#include "blocks/stability.hpp"

namespace hmor {

void bind_safety(nb::module_& m) {
  nb::enum_<Action>(m, "Action", "What a broken rule leads to; a later one is worse.")
      .value("none", Action::none)
      .value("warn", Action::warn)
      .value("hold", Action::hold)
      .value("ramp", Action::ramp)
      .value("trip", Action::trip);
  nb::enum_<Quantity>(m, "Quantity", "What a rule looks at.")
      .value("value", Quantity::value)
      .value("rate", Quantity::rate)
      .value("difference", Quantity::difference)
      .value("unchanged", Quantity::unchanged);

  nb::class_<Rule>(m, "Rule")
      .def(
          "__init__",
          [](Rule* self, Quantity quantity, int signal, int other, double lower, double upper, Action action,
             std::int64_t ticks, std::int64_t grace) {
            new (self) Rule{quantity, signal, other, lower, upper, action, ticks, grace};
          },
          "quantity"_a, "signal"_a, "other"_a, "lower"_a, "upper"_a, "action"_a, "ticks"_a, "grace"_a);
  nb::class_<CommandLimit>(m, "CommandLimit")
      .def(
          "__init__",
          [](CommandLimit* self, double lower, double upper, double rate, double rest) {
            new (self) CommandLimit{lower, upper, rate, rest};
          },
          "lower"_a, "upper"_a, "rate"_a, "rest"_a);

  nb::class_<Monitor, Block>(m, "Monitor")
      .def(
          "__init__",
          [](Monitor* self, std::vector<CommandLimit> commands, int watched, std::vector<Rule> rules, double dt,
             std::int64_t arm_ticks, std::int64_t soft_start, std::int64_t soft_stop, std::int64_t trip_ticks,
             std::int64_t hold_limit, std::int64_t release, std::int64_t settle, bool trip_holds) {
            const Manners manners{arm_ticks, soft_start, soft_stop, trip_ticks, hold_limit, release, settle, trip_holds};
            new (self) Monitor(std::move(commands), watched, std::move(rules), manners, dt);
          },
          "commands"_a, "watched"_a, "rules"_a, "dt"_a, "arm_ticks"_a, "soft_start"_a, "soft_stop"_a, "trip_ticks"_a,
          "hold_limit"_a, "release"_a, "settle"_a, "trip_holds"_a)
      .def_prop_ro("state", [](const Monitor& block) { return static_cast<int>(block.state()); })
      .def_prop_ro("tripped_by", &Monitor::tripped_by)
      .def_prop_ro("tripped_value", &Monitor::tripped_value)
      .def_prop_ro("tripped_at", &Monitor::tripped_at)
      .def_prop_ro("ended_with", &Monitor::ended_with)
      .def_prop_ro("logged", [](const Monitor& block) {
        std::vector<std::tuple<std::int64_t, int, int, int, double>> rows;
        for (std::int64_t i = 0; i < block.n_events(); ++i) {
          const Event& e = block.events()[i];
          rows.emplace_back(e.tick, e.rule, e.action, e.state, e.value);
        }
        return rows;
      }, "(tick, rule, action, state, value) of every event.")
      .def_prop_ro("events_left_out", &Monitor::events_left_out);

  nb::class_<Host, Block>(m, "Host").def(nb::init<>());

  nb::class_<StabilityWarning, Block>(m, "StabilityWarning")
      .def(
          "__init__",
          [](StabilityWarning* self, const Array2& damping, const Array2& interface, double margin) {
            new (self) StabilityWarning(to_matrix(damping), to_matrix(interface), margin);
          },
          "damping"_a, "interface"_a, "margin"_a);
  nb::class_<EnergyError, Block>(m, "EnergyError")
      .def(
          "__init__",
          [](EnergyError* self, const Array2& mass, const Array2& damping, const Array2& stiffness, int n_interface,
             double e_most, double dt) {
            new (self)
                EnergyError(to_matrix(mass), to_matrix(damping), to_matrix(stiffness), n_interface, e_most, dt);
          },
          "mass"_a, "damping"_a, "stiffness"_a, "n_interface"_a, "e_most"_a, "dt"_a);
}

}  // namespace hmor
