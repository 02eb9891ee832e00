#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>

#include "actuators/in_process.hpp"
#include "actuators/plugin.hpp"
#include "actuators/simulated.hpp"
#include "actuators/udp.hpp"
#include "bindings.hpp"
#include "blocks/playback.hpp"
#include "rig/rig.hpp"

namespace hmor {

namespace {

std::map<std::string, std::int64_t> counts(const Traffic& t) {
  return {{"sent", t.sent},           {"unsent", t.unsent},       {"received", t.received}, {"lost", t.lost},
          {"late", t.late},           {"reordered", t.reordered}, {"repeated", t.repeated}, {"conflicting", t.conflicting},
          {"damaged", t.damaged},     {"forged", t.forged},       {"foreign", t.foreign},   {"refused", t.refused}};
}

Bytes bytes_of(const nb::bytes& b) { return {reinterpret_cast<const std::uint8_t*>(b.c_str()), b.size()}; }
nb::bytes to_bytes(const Digest& d) { return nb::bytes(d.data(), d.size()); }
std::string text_of(const nb::bytes& b) { return {b.c_str(), b.size()}; }

/// While a start waits without the interpreter: Ctrl-C ends it.
void look_for_signals() {
  const nb::gil_scoped_acquire interpreter;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

void bind_actuators(nb::module_& m) {
  between_waits = look_for_signals;
  nb::class_<Actuator>(m, "Actuator", "What moves the specimen and measures it.")
      .def_prop_ro("n_command", &Actuator::n_command)
      .def_prop_ro("n_measured", &Actuator::n_measured)
      .def_prop_ro("real_time", &Actuator::real_time)
      .def_prop_ro("external", &Actuator::external)
      .def("start", &Actuator::start, nb::call_guard<nb::gil_scoped_release>())
      .def("stop", &Actuator::stop, nb::call_guard<nb::gil_scoped_release>())
      .def("reset", &Actuator::reset)
      .def("link",
           [](const Actuator& a) {
             double report[Actuator::n_link];
             a.link(report);
             return to_numpy(report, {Actuator::n_link});
           },
           nb::sig("def link(self) -> NDArray[numpy.float64]"), "Return how the connection is; see rt_runtime.Link.")
      .def("read",
           [](Actuator& a, double t) {
             std::vector<double> measured(a.n_measured());
             double age = 0.0;
             const int status = a.read(t, measured.data(), &age);
             return nb::make_tuple(to_numpy(measured.data(), {measured.size()}), age, status);
           },
           "t"_a, nb::sig("def read(self, t: float) -> tuple[NDArray[numpy.float64], float, int]"),
           "Return (measured, age in ticks, status).")
      .def("write",
           [](Actuator& a, double t, const Array1& command) {
             if (static_cast<int>(command.size()) != a.n_command())
               throw nb::value_error("command of write has the wrong length.");
             return a.write(t, command.data());
           },
           "t"_a, "command"_a, "Return the status.");

  nb::class_<SimulatedActuator, Actuator>(m, "SimulatedActuator")
      .def(
          "__init__",
          [](SimulatedActuator* self, const nb::list& plants, const Array2& per_channel, const Array2& coupling,
             double delay_ticks, std::uint64_t seed, double period) {
            if (per_channel.shape(0) != 5 || per_channel.shape(1) != plants.size())
              throw std::invalid_argument("per_channel must have 5 rows and a column per plant.");
            std::vector<SimulatedChannel> channels;
            for (std::size_t i = 0; i < plants.size(); ++i) {
              const auto plant = nb::cast<nb::tuple>(plants[i]);
              const auto part = [&](std::size_t k) { return to_matrix(nb::cast<Array2>(plant[k])); };
              channels.push_back({part(0), part(1), part(2), per_channel(0, i), per_channel(1, i), per_channel(2, i),
                                  per_channel(3, i), per_channel(4, i)});
            }
            new (self) SimulatedActuator(channels, to_matrix(coupling), delay_ticks, seed, period);
          },
          "plants"_a, "per_channel"_a, "coupling"_a, "delay_ticks"_a, "seed"_a, "period"_a,
          nb::sig("def __init__(self, plants: list[tuple[NDArray[numpy.float64], ...]], "
                  "per_channel: NDArray[numpy.float64], coupling: NDArray[numpy.float64], delay_ticks: float, seed: int, "
                  "period: float) -> None"),
          "plants: (a, b, c) per channel; rows of per_channel: lower, upper, rate, noise, quantum.");

  nb::class_<InProcessRig, Actuator>(m, "InProcessRig")
      .def(nb::init<Loop&, std::vector<int>, std::vector<int>>(), nb::keep_alive<1, 2>(), "loop"_a, "commands"_a,
           "measured"_a);

  nb::class_<UdpRig, Actuator>(m, "UdpRig")
      .def(
          "__init__",
          [](UdpRig* self, int n_command, int n_measured, const std::string& host, int port, const nb::bytes& key,
             double timeout, const std::string& goodbye, int version) {
            new (self) UdpRig(n_command, n_measured, host, port, text_of(key), timeout, goodbye, version);
          },
          "n_command"_a, "n_measured"_a, "host"_a, "port"_a, "key"_a, "timeout"_a, "goodbye"_a, "version"_a)
      .def_prop_ro("protocol", &UdpRig::version)
      .def_prop_ro("state", [](const UdpRig& rig) { return static_cast<int>(rig.state()); })
      .def_prop_ro("goodbye_process", [](const UdpRig& rig) { return static_cast<int>(rig.goodbye()); })
      .def_prop_ro("traffic", [](const UdpRig& rig) { return counts(rig.traffic()); })
      .def_prop_ro("round_trip", &UdpRig::round_trip, nb::rv_policy::copy);

  nb::class_<PluginActuator, Actuator>(m, "PluginActuator")
      .def(nb::init<const std::string&, std::string, int, int, double, int, double, double>(), "path"_a, "config"_a,
           "n_command"_a, "n_measured"_a, "period"_a, "hold_after"_a, "lease"_a, "ramp"_a)
      .def_prop_ro("watchdog", &PluginActuator::watchdog);

  nb::class_<Sensor, Block>(m, "Sensor").def(nb::init<Actuator&>(), nb::keep_alive<1, 2>(), "actuator"_a);
  nb::class_<Link, Block>(m, "Link").def(nb::init<const Actuator&>(), nb::keep_alive<1, 2>(), "actuator"_a);
  nb::class_<Drive, Block>(m, "Drive").def(nb::init<Actuator&>(), nb::keep_alive<1, 2>(), "actuator"_a);
  nb::class_<Playback, Block>(m, "Playback")
      .def(
          "__init__",
          [](Playback* self, const Array2& values) {
            new (self) Playback({values.data(), values.data() + values.size()}, static_cast<int>(values.shape(1)));
          },
          "values"_a);

  nb::class_<RigFaults>(m, "RigFaults", "What a rig simulator does wrong on purpose.")
      .def(nb::init<>())
      .def_rw("loss", &RigFaults::loss)
      .def_rw("late", &RigFaults::late)
      .def_rw("late_ns", &RigFaults::late_ns)
      .def_rw("repeat", &RigFaults::repeat)
      .def_rw("reorder", &RigFaults::reorder)
      .def_rw("forge", &RigFaults::forge)
      .def_rw("replay", &RigFaults::replay)
      .def_rw("twin", &RigFaults::twin)
      .def_rw("creep_ns", &RigFaults::creep_ns)
      .def_rw("nan_at", &RigFaults::nan_at)
      .def_rw("stuck_at", &RigFaults::stuck_at)
      .def_rw("seed", &RigFaults::seed);
  nb::class_<Rig>(m, "Rig", "The physical side of a test: a loop stepped by commands that come over UDP.")
      .def(
          "__init__",
          [](Rig* self, Loop& loop, std::vector<int> commands, std::vector<int> measured, const std::string& host,
             int port, const nb::bytes& key, double hold, double lease, double ramp, bool reset,
             const RigFaults& faults, int version) {
            Patience patience;
            patience.hold = static_cast<std::int64_t>(1e9 * hold);
            patience.lease = static_cast<std::int64_t>(1e9 * lease);
            patience.ramp = static_cast<std::int64_t>(1e9 * ramp);
            new (self) Rig(loop, std::move(commands), std::move(measured), host, port, text_of(key), patience, reset,
                           faults, version);
          },
          nb::keep_alive<1, 2>(), "loop"_a, "commands"_a, "measured"_a, "host"_a, "port"_a, "key"_a, "hold"_a, "lease"_a,
          "ramp"_a, "reset"_a, "faults"_a, "version"_a)
      .def("serve", &Rig::serve, nb::call_guard<nb::gil_scoped_release>(), "seconds"_a)
      .def("ask_to_stop", &Rig::ask_to_stop)
      .def_prop_ro("port", &Rig::port)
      .def_prop_ro("traffic", [](const Rig& rig) { return counts(rig.traffic()); })
      .def_prop_ro("sessions", &Rig::sessions)
      .def_prop_ro("byes", &Rig::byes)
      .def_prop_ro("asked_to_stop", &Rig::asked_to_stop)
      .def_prop_ro("state", [](const Rig& rig) { return static_cast<int>(rig.state()); });

  m.def("crc32", [](const nb::bytes& data) { return crc32(bytes_of(data)); }, "data"_a);
  m.def("sha256", [](const nb::bytes& data) {
    Sha256 hash;
    hash.add(bytes_of(data));
    return to_bytes(hash.finish());
  }, "data"_a);
  nb::class_<Hmac>(m, "HmacSha256", "Authenticator of version 1 of the rig protocol.")
      .def("__init__", [](Hmac* self, const nb::bytes& key) { new (self) Hmac(bytes_of(key)); }, "key"_a)
      .def("of", [](const Hmac& mac, const nb::bytes& data) { return to_bytes(mac.of(bytes_of(data))); }, "data"_a);
  nb::class_<Blake2s>(m, "Blake2s", "Authenticator of the rig protocol.")
      .def("__init__", [](Blake2s* self, const nb::bytes& key, std::size_t size) {
        if (key.size() > 32 || size < 1 || size > 32)
          throw nb::value_error("Blake2s takes a key of at most 32 bytes and a digest of 1 to 32 bytes.");
        new (self) Blake2s(bytes_of(key), size);
      }, "key"_a, "size"_a)
      .def("of", [](const Blake2s& mac, const nb::bytes& data) { return to_bytes(mac.of(bytes_of(data))); }, "data"_a);
}

}  // namespace hmor
