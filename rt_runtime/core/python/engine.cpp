#include <algorithm>
#include <ctime>
#include <limits>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bindings.hpp"
#include "engine/loop.hpp"
#include "engine/paced.hpp"

namespace hmor {

namespace {

/// A block whose step is a Python function, for experiments; it enters the interpreter, so a paced loop refuses it.
class PythonBlock final : public Block {
 public:
  PythonBlock(nb::callable function, int n_in, int n_out) : Block(n_in, n_out), function_(std::move(function)) {}

  void step(double t, const double* in, double* out) noexcept override {
    nb::gil_scoped_acquire gil;
    try {
      auto result = nb::cast<std::vector<double>>(function_(t, to_numpy(in, {static_cast<std::size_t>(n_in())})));
      if (static_cast<int>(result.size()) == n_out()) {
        for (int i = 0; i < n_out(); ++i) out[i] = result[i];
        return;
      }
      message_ = "must return " + std::to_string(n_out()) + " numbers, got " + std::to_string(result.size());
    } catch (nb::python_error& error) {
      message_ = std::string(nb::str(error.type().attr("__name__")).c_str()) + ": " + nb::str(error.value()).c_str();
    } catch (const std::exception& error) {
      message_ = error.what();
    } catch (...) {
      message_ = "unknown exception";
    }
    fault_ = 1;
    for (int i = 0; i < n_out(); ++i) out[i] = 0.0;
  }
  void reset() noexcept override {
    fault_ = 0;
    message_.clear();
  }
  bool real_time() const noexcept override { return false; }
  const std::string& message() const noexcept { return message_; }

  /// Outside the loop. For the garbage collector: a function often holds the object that holds its block.
  static int visit(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<PythonBlock>(self)->function_.ptr());
    return 0;
  }
  static int let_go(PyObject* self) {
    if (nb::inst_ready(self)) nb::inst_ptr<PythonBlock>(self)->function_ = nb::callable();
    return 0;
  }

 private:
  nb::callable function_;
  std::string message_;
};

PyType_Slot collected[] = {{Py_tp_traverse, reinterpret_cast<void*>(PythonBlock::visit)},
                           {Py_tp_clear, reinterpret_cast<void*>(PythonBlock::let_go)},
                           {0, nullptr}};

/// Runs in slices so that Ctrl-C is seen; the interpreter is free meanwhile.
Stop run(Loop& loop, std::int64_t ticks) {
  constexpr std::int64_t slice = 1 << 15;
  loop.aim(ticks);
  Stop stop = Stop::running;
  while (stop == Stop::running) {
    {
      nb::gil_scoped_release release;
      stop = loop.advance(slice);
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
  return stop;
}

/// CPU time of this thread in ns; what other processes and threads take is not in it.
std::int64_t cpu_ns() noexcept {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::int64_t{1'000'000'000} * t.tv_sec + t.tv_nsec;
}

/// The least time that two calls of a clock one after the other are apart, in ns.
template <typename Clock>
double cost_of(Clock clock) noexcept {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t begin = clock();
    least = std::min(least, static_cast<double>(clock() - begin));
  }
  return least;
}

/// Steps a block over rows of inputs, `repeats` times from the start. In ns, without the clocks themselves, for each row:
/// the least time of all repeats, so that what others do to this host is left out; the time and the CPU time of the last
/// repeat, with all that happened to it; and what the block put out.
nb::tuple time_steps(Block& block, const Array2& inputs, int repeats) {
  const std::size_t rows = inputs.shape(0), width = inputs.shape(1), n_out = static_cast<std::size_t>(block.n_out());
  if (static_cast<int>(width) != block.n_in() || rows < 1 || repeats < 1)
    throw std::invalid_argument("inputs must have a row per step, as wide as the block, and repeats must be positive.");
  std::vector<double> y(rows * n_out + 1), least(rows, std::numeric_limits<double>::infinity()), last(rows), cpu(rows);
  {
    nb::gil_scoped_release release;
    const double clock = cost_of(now_ns), cpu_clock = cost_of(cpu_ns);
    for (int r = 0; r < repeats; ++r) {
      block.reset();
      const bool ends = r + 1 == repeats;
      for (std::size_t i = 0; i < rows; ++i) {
        const double t = block.period() * static_cast<double>(i);
        const std::int64_t cpu_begin = ends ? cpu_ns() : 0;
        const std::int64_t begin = now_ns();
        block.step(t, inputs.data() + i * width, y.data() + i * n_out);
        last[i] = std::max(0.0, static_cast<double>(now_ns() - begin) - clock);
        if (ends) cpu[i] = std::max(0.0, static_cast<double>(cpu_ns() - cpu_begin) - cpu_clock - clock);
        least[i] = std::min(least[i], last[i]);
      }
    }
    block.reset();
  }
  return nb::make_tuple(to_numpy(least.data(), {rows}), to_numpy(last.data(), {rows}), to_numpy(cpu.data(), {rows}),
                        to_numpy(y.data(), {rows, n_out}));
}

}  // namespace

void bind_engine(nb::module_& m) {
  nb::class_<Block>(m, "Block", "The unit a loop steps.")
      .def_prop_ro("n_in", &Block::n_in)
      .def_prop_ro("n_out", &Block::n_out)
      .def_prop_ro("n_state", &Block::n_state)
      .def_prop_ro("period", &Block::period, "Time between two steps the block was built for, in s; 0 means any.")
      .def_prop_ro("real_time", &Block::real_time, "Whether a paced loop may hold it.")
      .def_prop_ro("external", &Block::external, "Whether its outputs come from outside; a replay puts the record there.")
      .def_prop_ro("fault", &Block::fault)
      .def_prop_ro(
          "work", [](const Block& block) { return nb::make_tuple(block.work().flops, block.work().iterations); },
          nb::sig("def work(self) -> tuple[float, int]"),
          "The most that a step can cost: floating-point operations (nan: not counted) and iterations (0: none).")
      .def_prop_ro("iterations_at", [](const Block& block) { return block.work().iterations_at; },
                   "The output that says how many iterations a step took, -1 without one.")
      .def("time_steps", &time_steps, "inputs"_a, "repeats"_a,
           nb::sig("def time_steps(self, inputs: NDArray[numpy.float64], repeats: int) -> tuple[NDArray[numpy.float64], "
                   "NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]"),
           "Step over rows of inputs, `repeats` times: for each row the least time in ns, time and CPU time of the last "
           "repeat, and the outputs.")
      .def("reset", &Block::reset, "Back to the state right after construction.")
      .def(
          "step",
          [](Block& block, double t, const Array1& u) {
            if (static_cast<int>(u.size()) != block.n_in())
              throw nb::value_error(("u of step must have " + std::to_string(block.n_in()) + " numbers, got " +
                                     std::to_string(u.size()) + ".").c_str());
            std::vector<double> y(block.n_out() + 1);
            block.step(t, u.data(), y.data());
            return to_numpy(y.data(), {static_cast<std::size_t>(block.n_out())});
          },
          "t"_a, "u"_a, "One step outside a loop: the outputs for the inputs u at time t.");

  nb::class_<PythonBlock, Block>(m, "PythonBlock", nb::type_slots(collected))
      .def(nb::init<nb::callable, int, int>(), "function"_a, "n_in"_a, "n_out"_a,
           nb::sig("def __init__(self, function: object, n_in: int, n_out: int) -> None"))
      .def_prop_ro("message", &PythonBlock::message);

  nb::enum_<Stop>(m, "Stop", "Why a run ended; a later one is worse.")
      .value("finished", Stop::finished)
      .value("asked", Stop::asked)
      .value("not_finite", Stop::not_finite)
      .value("fault", Stop::fault)
      .value("overrun", Stop::overrun)
      .value("tripped", Stop::tripped)
      .value("running", Stop::running);

  nb::class_<Loop>(m, "Loop", "A bus and an ordered list of blocks; built by rt_runtime.Loop.")
      .def(
          "__init__", [](Loop* self, double dt, const Array1& initial) { new (self) Loop(dt, to_vector(initial)); },
          "dt"_a, "initial"_a)
      .def("add", &Loop::add, nb::keep_alive<1, 2>(), "block"_a, "inputs"_a, "first_output"_a, "every"_a,
           "timed"_a = true)
      .def("record", &Loop::record, "signals"_a, "every"_a, "frames"_a)
      .def("reset", &Loop::reset)
      .def("run", &run, "ticks"_a)
      .def("run_exactly",
           [](Loop& loop, std::int64_t ticks) {
             nb::gil_scoped_release release;
             loop.aim_exactly(ticks);
             const Stop stop = loop.advance(ticks);
             return loop.health().guarded && loop.health().tripped ? Stop::tripped : stop;
           },
           "ticks"_a)
      .def("stream", &Loop::stream, nb::keep_alive<1, 2>(), "ring"_a.none())
      .def("show", &Loop::show, nb::keep_alive<1, 2>(), "ring"_a.none())
      .def("order",
           [](Loop& loop, std::uint64_t sequence, int code, double a, double b, double c) {
             const double arguments[3] = {a, b, c};
             loop.health().post(sequence << 8 | static_cast<std::uint64_t>(code), arguments);
           },
           "sequence"_a, "code"_a, "a"_a = 0.0, "b"_a = 0.0, "c"_a = 0.0,
           "An order of the operator with its arguments; the next one only after this one is `taken` or withdrawn.")
      .def("withdraw", [](Loop& loop) { return loop.health().withdraw(); },
           "Take the posted order back; False when the loop has it already.")
      .def_prop_ro("taken", [](const Loop& loop) { return loop.health().taken.load(std::memory_order_acquire); },
                   "The newest order the monitor has seen: sequence << 8 | refusal.")
      .def("start", &Loop::start, nb::call_guard<nb::gil_scoped_release>())
      .def("stop", &Loop::stop, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("way_to_rest", [](const Loop& loop) { return loop.health().way_to_rest; })
      .def_prop_ro("broken", [](const Loop& loop) { return loop.health().broken; })
      .def_prop_ro("broken_port", [](const Loop& loop) { return loop.health().port; })
      .def_prop_ro("broken_value", [](const Loop& loop) { return loop.health().value; })
      .def_prop_ro("not_finite", [](const Loop& loop) { return loop.health().not_finite; })
      .def("ask_to_stop", &Loop::ask_to_stop)
      .def_prop_ro("tick", &Loop::tick)
      .def_prop_ro("left_out", [](const Loop& loop) { return loop.recorder().left_out(); },
                   "Frames the record in memory had no room for.")
      .def_prop_ro("stopped_by", &Loop::stopped_by)
      .def_prop_ro(
          "bus", [](const Loop& loop) { return to_numpy(loop.bus().data(), {loop.bus().size()}); }, nb::rv_policy::move)
      .def_prop_ro(
          "recorded",
          [](const Loop& loop) {
            const Recorder& r = loop.recorder();
            return to_numpy(r.data(), {static_cast<std::size_t>(r.frames()), static_cast<std::size_t>(r.width())});
          },
          nb::rv_policy::automatic);  // the array owns its numbers: no second copy
}

}  // namespace hmor
