#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bindings.hpp"
#include "safety/monitor.hpp"
#include "safety/response_watch.hpp"
#include "safety/stability.hpp"

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
      .value("unchanged", Quantity::unchanged)
      .value("acceleration", Quantity::acceleration);

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
          [](CommandLimit* self, double lower, double upper, double rate, double rest, int measured) {
            new (self) CommandLimit{lower, upper, rate, rest, measured};
          },
          "lower"_a, "upper"_a, "rate"_a, "rest"_a, "measured"_a = -1);

  nb::class_<Monitor, Block>(m, "Monitor")
      .def(
          "__init__",
          [](Monitor* self, std::vector<CommandLimit> commands, int watched, std::vector<Rule> rules, double dt,
             std::int64_t arm_ticks, std::int64_t soft_start, std::int64_t soft_stop, std::int64_t trip_ticks,
             std::int64_t hold_limit, std::int64_t release, std::int64_t settle, bool trip_holds, bool by_operator,
             bool hold_stops_clock, std::int64_t brake) {
            const StartStop manners{arm_ticks, soft_start, soft_stop,  trip_ticks,  hold_limit,
                                    release,   settle,     trip_holds, by_operator, hold_stops_clock, brake};
            new (self) Monitor(std::move(commands), watched, std::move(rules), manners, dt);
          },
          "commands"_a, "watched"_a, "rules"_a, "dt"_a, "arm_ticks"_a, "soft_start"_a, "soft_stop"_a, "trip_ticks"_a,
          "hold_limit"_a, "release"_a, "settle"_a, "trip_holds"_a, "by_operator"_a = false, "hold_stops_clock"_a = false,
          "brake"_a = 0)
      .def("shown",
           [](const Monitor& block) {
             std::vector<std::tuple<double, double, double, double, double, bool>> rows;
             for (std::size_t i = 0; i < block.n_rules(); ++i) {
               const Monitor::Shown s = block.shown(i);
               rows.emplace_back(s.value, s.least, s.most, s.lower, s.upper, s.acting);
             }
             return rows;
           },
           "(value, least, most, lower, upper, acting) of every rule, while the loop runs.")
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

  nb::class_<HostStatus, Block>(m, "HostStatus").def(nb::init<>());

  nb::class_<ResponseWatch, Block>(m, "ResponseWatch")
      .def(
          "__init__",
          [](ResponseWatch* self, std::vector<int> lags, int every, std::int64_t learn, double tolerance, double caution, double nominal,
             int window, double experience, int memory, int oldest, bool together, double dt) {
            new (self) ResponseWatch({std::move(lags), every, learn, tolerance, caution, nominal, window, experience, memory, oldest, together}, dt);
          },
          "lags"_a, "every"_a, "learn"_a, "tolerance"_a, "caution"_a, "nominal"_a, "window"_a, "experience"_a, "memory"_a, "oldest"_a, "together"_a, "dt"_a);
  nb::class_<EnergyWatch, Block>(m, "EnergyWatch").def(nb::init<double, double>(), "fade"_a, "dt"_a);

  nb::class_<StabilityWarning, Block>(m, "StabilityWarning")
      .def(
          "__init__",
          [](StabilityWarning* self, const Array2& damping, const Array2& interface, double margin) {
            new (self) StabilityWarning(to_matrix(damping), to_matrix(interface), margin);
          },
          "damping"_a, "interface"_a, "margin"_a);
  nb::class_<EnergyErrorIndicator, Block>(m, "EnergyErrorIndicator")
      .def(
          "__init__",
          [](EnergyErrorIndicator* self, const Array2& mass, const Array2& damping, const Array2& stiffness, int n_interface,
             double e_most, double dt) {
            new (self)
                EnergyErrorIndicator(to_matrix(mass), to_matrix(damping), to_matrix(stiffness), n_interface, e_most, dt);
          },
          "mass"_a, "damping"_a, "stiffness"_a, "n_interface"_a, "e_most"_a, "dt"_a);
}

}  // namespace hmor
