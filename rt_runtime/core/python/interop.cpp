#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <arpa/inet.h>

#include <chrono>

#include "actuators/opensees.hpp"
#include "bindings.hpp"
#include "fmu/fmu.hpp"
#include "blocks/mail.hpp"
#include "blocks/target_path.hpp"
#include "net/mailbox.hpp"
#include "net/site_channel.hpp"

namespace hmor {

void bind_interop(nb::module_& m) {
  nb::enum_<FmuTiming>(m, "FmuTiming", "How the steps of an FMU lie in the ticks.")
      .value("before", FmuTiming::before)
      .value("after", FmuTiming::after)
      .value("start", FmuTiming::start);
  nb::class_<Fmu, Block>(m, "Fmu")
      .def(
          "__init__",
          [](Fmu* self, std::string library, std::string token, std::string resources, int version, bool exchange,
             bool once, bool real_time, std::vector<unsigned> inputs, std::vector<unsigned> outputs,
             std::vector<unsigned> parameters, const Array1& values, int n_states, FmuTiming timing, int substeps,
             double period) {
            new (self) Fmu({std::move(library), std::move(token), std::move(resources), version, exchange, once,
                            real_time, std::move(inputs), std::move(outputs), std::move(parameters), to_vector(values),
                            n_states},
                           timing, substeps, period);
          },
          "library"_a, "token"_a, "resources"_a, "version"_a, "exchange"_a, "once"_a, "real_time"_a, "inputs"_a,
          "outputs"_a, "parameters"_a, "values"_a, "n_states"_a, "timing"_a, "substeps"_a, "period"_a)
      .def_prop_ro("message", &Fmu::message, "What the FMU said of its last fault.")
      .def(
          "step_times",
          [](Fmu& fmu, std::size_t steps) {
            std::vector<double> u(static_cast<std::size_t>(fmu.n_in()) + 1), y(static_cast<std::size_t>(fmu.n_out()) + 1);
            std::vector<double> seconds(steps);
            for (double& one : seconds) {
              const auto start = std::chrono::steady_clock::now();
              fmu.step(0.0, u.data(), y.data());
              one = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            }
            return to_numpy(seconds.data(), {steps});
          },
          "steps"_a, nb::sig("def step_times(self, steps: int) -> NDArray[numpy.float64]"),
          "Make steps with inputs zero from where it stands; return how long each took in s.");

  nb::class_<Mailbox>(m, "Mailbox", "The newest message of n numbers from one writer to one reader; nobody waits.")
      .def(nb::init<int>(), "n"_a)
      .def_prop_ro("size", &Mailbox::size)
      .def(
          "post",
          [](Mailbox& box, const Array1& numbers) {
            if (static_cast<int>(numbers.size()) != box.size()) throw nb::value_error("numbers of post must fit the mailbox.");
            box.post(numbers.data());
          },
          "numbers"_a, "Put a message in the place of the last one.")
      .def(
          "read",
          [](const Mailbox& box) {
            std::vector<double> out(static_cast<std::size_t>(box.size()));
            const std::uint64_t number = box.read(out.data());
            return nb::make_tuple(number, to_numpy(out.data(), {out.size()}));
          },
          nb::sig("def read(self) -> tuple[int, NDArray[numpy.float64]]"),
          "Return how many messages were posted and the last one; 0 when none could be read.");

  nb::class_<Received, Block>(m, "Received")
      .def(nb::init<Mailbox&, double>(), nb::keep_alive<1, 2>(), "box"_a, "period"_a);
  nb::class_<Posted, Block>(m, "Posted").def(nb::init<Mailbox&>(), nb::keep_alive<1, 2>(), "box"_a);

  nb::class_<TargetPath, Block>(m, "TargetPath")
      .def(nb::init<Mailbox&, Mailbox&, int, double, double, int, double>(), nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>(), "targets"_a, "answers"_a, "ticks"_a, "predicted"_a, "tolerance"_a, "settle"_a,
           "period"_a);

  nb::class_<SiteChannel>(m, "SiteChannel", "Messages between a site and a client of OpenSees' genericClient kind.")
      .def(
          "__init__",
          [](SiteChannel* self, int handle, bool datagrams, const std::string& host, int port, double idle, bool quick) {
            sockaddr_in client{};
            client.sin_family = AF_INET;
            client.sin_port = htons(static_cast<std::uint16_t>(port));
            if (inet_pton(AF_INET, host.c_str(), &client.sin_addr) != 1) throw nb::value_error("host must be an address.");
            new (self) SiteChannel(handle, datagrams, client, idle, quick);
          },
          "handle"_a, "datagrams"_a, "host"_a, "port"_a, "idle"_a, "quick"_a)
      .def(
          "receive",
          [](SiteChannel& channel, std::size_t size) {
            std::vector<char> bytes(size);
            {
              const nb::gil_scoped_release release;
              channel.receive(bytes.data(), size);
            }
            return nb::bytes(bytes.data(), size);
          },
          "size"_a)
      .def("set_length", &SiteChannel::set_length, "length"_a, "trial"_a)
      .def("set_answer", [](SiteChannel& c, int action, const Array1& numbers) { c.set_answer(action, to_vector(numbers)); },
           "action"_a, "numbers"_a, "Answer to an action from now on.")
      .def("next", &SiteChannel::next, nb::call_guard<nb::gil_scoped_release>(),
           "Wait for an action that has no fixed answer and return it.")
      .def(
          "reply",
          [](SiteChannel& c, const Array1& numbers) {
            const nb::gil_scoped_release release;
            c.reply(numbers.data(), numbers.size());
          },
          "numbers"_a)
      .def_prop_ro("trial", [](const SiteChannel& c) { return to_numpy(c.trial().data(), {c.trial().size()}); },
                   nb::rv_policy::move)
      .def_prop_ro("messages", &SiteChannel::messages)
      .def_prop_ro(
          "waiting",
          [](const SiteChannel& c) {
            char host[INET_ADDRSTRLEN] = "";
            inet_ntop(AF_INET, &c.waiting().sin_addr, host, sizeof host);
            return std::pair<std::string, int>(host, ntohs(c.waiting().sin_port));
          },
          "Address and port of the last other client that knocked meanwhile; port 0 when there was none.");

  nb::class_<OpenSeesActuator, Actuator>(m, "OpenSeesActuator")
      .def(nb::init<std::string, int, double, int>(), "host"_a, "port"_a, "timeout"_a, "steps"_a);
}

}  // namespace hmor
