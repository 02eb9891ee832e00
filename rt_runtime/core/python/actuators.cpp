#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>

#include "actuators/plugin.hpp"
#include "actuators/simulated.hpp"
#include "actuators/udp.hpp"
#include "bindings.hpp"
#include "blocks/playback.hpp"
#include "rig.hpp"

namespace hmor {

namespace {

std::map<std::string, std::int64_t> counts(const Traffic& t) {
  return {{"sent", t.sent},           {"unsent", t.unsent},       {"received", t.received}, {"lost", t.lost},
          {"late", t.late},           {"reordered", t.reordered}, {"repeated", t.repeated}, {"damaged", t.damaged},
          {"forged", t.forged},       {"foreign", t.foreign}};
}

Bytes bytes_of(const nb::bytes& b) { return {reinterpret_cast<const std::uint8_t*>(b.c_str()), b.size()}; }
nb::bytes to_bytes(const Digest& d) { return nb::bytes(d.data(), d.size()); }
std::string text_of(const nb::bytes& b) { return {b.c_str(), b.size()}; }

}  // namespace

void bind_actuators(nb::module_& m) {
  nb::class_<Actuator>(m, "Actuator", "What moves the specimen and measures it.")
      .def_prop_ro("n_command", &Actuator::n_command)
      .def_prop_ro("n_measured", &Actuator::n_measured)
      .def_prop_ro("real_time", &Actuator::real_time)
      .def_prop_ro("external", &Actuator::external)
      .def("start", &Actuator::start, nb::call_guard<nb::gil_scoped_release>())
      .def("stop", &Actuator::stop)
      .def("reset", &Actuator::reset)
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
          [](SimulatedActuator* self, int channels, const Array2& a, const Array2& b, const Array2& c,
             double delay_ticks, double lower, double upper, double rate, double noise, double quantum,
             std::uint64_t seed, double period) {
            new (self) SimulatedActuator(channels, to_matrix(a), to_matrix(b), to_matrix(c), delay_ticks,
                                         {lower, upper, rate}, noise, quantum, seed, period);
          },
          "channels"_a, "a"_a, "b"_a, "c"_a, "delay_ticks"_a, "lower"_a, "upper"_a, "rate"_a, "noise"_a, "quantum"_a,
          "seed"_a, "period"_a);

  nb::class_<UdpRig, Actuator>(m, "UdpRig")
      .def(
          "__init__",
          [](UdpRig* self, int n_command, int n_measured, const std::string& host, int port, const nb::bytes& key,
             double timeout) { new (self) UdpRig(n_command, n_measured, host, port, text_of(key), timeout); },
          "n_command"_a, "n_measured"_a, "host"_a, "port"_a, "key"_a, "timeout"_a)
      .def_prop_ro("traffic", [](const UdpRig& rig) { return counts(rig.traffic()); })
      .def_prop_ro("round_trip", &UdpRig::round_trip, nb::rv_policy::copy);

  nb::class_<PluginActuator, Actuator>(m, "PluginActuator")
      .def(nb::init<const std::string&, std::string, int, int, double>(), "path"_a, "config"_a, "n_command"_a,
           "n_measured"_a, "period"_a);

  nb::class_<Sensor, Block>(m, "Sensor").def(nb::init<Actuator&>(), nb::keep_alive<1, 2>(), "actuator"_a);
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
      .def_rw("nan_at", &RigFaults::nan_at)
      .def_rw("stuck_at", &RigFaults::stuck_at)
      .def_rw("seed", &RigFaults::seed);
  nb::class_<Rig>(m, "Rig", "The physical side of a test: a loop stepped by commands that come over UDP.")
      .def(
          "__init__",
          [](Rig* self, Loop& loop, std::vector<int> commands, std::vector<int> measured, const std::string& host,
             int port, const nb::bytes& key, const RigFaults& faults) {
            new (self) Rig(loop, std::move(commands), std::move(measured), host, port, text_of(key), faults);
          },
          nb::keep_alive<1, 2>(), "loop"_a, "commands"_a, "measured"_a, "host"_a, "port"_a, "key"_a, "faults"_a)
      .def("serve", &Rig::serve, nb::call_guard<nb::gil_scoped_release>(), "seconds"_a)
      .def("ask_to_stop", &Rig::ask_to_stop)
      .def_prop_ro("port", &Rig::port)
      .def_prop_ro("traffic", [](const Rig& rig) { return counts(rig.traffic()); })
      .def_prop_ro("sessions", &Rig::sessions)
      .def_prop_ro("byes", &Rig::byes)
      .def_prop_ro("silent_for", &Rig::silent_for);

  m.def("crc32", [](const nb::bytes& data) { return crc32(bytes_of(data)); }, "data"_a);
  m.def("sha256", [](const nb::bytes& data) {
    Sha256 hash;
    hash.add(bytes_of(data));
    return to_bytes(hash.finish());
  }, "data"_a);
  m.def("hmac_sha256", [](const nb::bytes& key, const nb::bytes& data) {
    return to_bytes(Hmac(bytes_of(key)).of(bytes_of(data)));
  }, "key"_a, "data"_a);
}

}  // namespace hmor
