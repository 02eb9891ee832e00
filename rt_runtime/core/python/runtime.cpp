#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings.hpp"
#include "engine/live_ring.hpp"
#include "engine/paced.hpp"
#include "engine/writer.hpp"

namespace hmor {

namespace {

using Described = nb::typed<nb::dict, nb::str, nb::object>;

Described describe(const Histogram& h) {
  std::vector<std::uint64_t> edges, counts;
  for (int i = 0; i < Histogram::bins; ++i)
    if (h.counts()[i] > 0) {
      edges.push_back(Histogram::edge(i));
      counts.push_back(h.counts()[i]);
    }
  nb::dict result;
  result["edges_ns"] = edges;
  result["counts"] = counts;
  result["count"] = h.count();
  result["sum_ns"] = h.sum();
  result["least_ns"] = h.least();
  result["most_ns"] = h.most();
  return nb::cast<Described>(result);
}

}  // namespace

void bind_runtime(nb::module_& m) {
  nb::class_<Histogram>(m, "Histogram", "Durations counted in fixed bins, 3 % wide.")
      .def(nb::init<>())
      .def("add", &Histogram::add, "ns"_a)
      .def("describe", &describe, "The bins that are not empty (smallest duration, count), count, sum, least, most.");

  nb::enum_<Overrun>(m, "Overrun", "What happens after a tick that ended too late.")
      .value("skip", Overrun::skip)
      .value("catch_up", Overrun::catch_up)
      .value("trip", Overrun::trip);

  nb::class_<PacedRun>(m, "PacedRun", "A loop against the clock in a thread of its own.")
      .def(
          "__init__",
          [](PacedRun* self, Loop& loop, std::int64_t ticks, Overrun overrun, std::int64_t grace_ticks,
             std::int64_t overruns_to_trip, std::int64_t spin_ns, int priority, int cpu, bool lock_memory) {
            new (self) PacedRun(loop, ticks,
                                {overrun, grace_ticks, overruns_to_trip, spin_ns, priority, cpu, lock_memory});
          },
          nb::keep_alive<1, 2>(), "loop"_a, "ticks"_a, "overrun"_a, "grace_ticks"_a, "overruns_to_trip"_a, "spin_ns"_a,
          "priority"_a, "cpu"_a, "lock_memory"_a)
      .def("start", &PacedRun::start)
      .def("wait", &PacedRun::wait, nb::call_guard<nb::gil_scoped_release>(), "seconds"_a, "True when it has ended.")
      .def_prop_ro("tick", &PacedRun::tick)
      .def_prop_ro("test_tick", &PacedRun::test_tick)
      .def_prop_ro("missed", &PacedRun::missed)
      .def("wake_ns", [](const PacedRun& r, double part) { return r.wake().quantile(part); }, "part"_a,
           "The wake-up latency in ns that a part of the ticks so far did not exceed; while running.")
      .def_prop_ro("state", &PacedRun::state)
      .def_prop_ro("stop", &PacedRun::stop)
      .def_prop_ro("skipped", &PacedRun::skipped)
      .def_prop_ro("wake", [](const PacedRun& r) { return describe(r.wake()); })
      .def_prop_ro("own", [](const PacedRun& r) { return describe(r.own()); })
      .def_prop_ro("obtained", [](const PacedRun& r) {
        nb::dict result;
        result["scheduler"] = r.obtained().scheduler;
        result["memory"] = r.obtained().memory;
        result["cpu"] = r.obtained().cpu;
        result["timer_slack"] = r.obtained().timer_slack;
        return nb::cast<nb::typed<nb::dict, nb::str, nb::int_>>(result);
      }, "0 obtained, -1 not asked for, otherwise the errno of the refusal.");

  nb::class_<Ring>(m, "Ring", "Ring of frames from the loop to its writer; full, it drops the frame or lets the loop wait.")
      .def(nb::init<std::vector<int>, int, std::int64_t, bool>(), "signals"_a, "every"_a, "frames"_a, "waits"_a = false)
      .def_prop_ro("lost", &Ring::lost, "Frames that did not reach the disk: dropped and refused.")
      .def_prop_ro("dropped", &Ring::dropped, "The ring was full.")
      .def_prop_ro("refused", &Ring::refused, "The disk was.")
      .def_prop_ro("capacity", &Ring::capacity);

  nb::class_<Writer>(m, "Writer", "Empties a ring into a file in a thread of its own.")
      .def(nb::init<Ring&, const std::string&>(), nb::keep_alive<1, 2>(), "ring"_a, "path"_a)
      .def("finish", &Writer::finish, nb::call_guard<nb::gil_scoped_release>())
      .def("slow_down", &Writer::slow_down, "seconds"_a)
      .def_prop_ro("written", &Writer::written)
      .def_prop_ro("error", &Writer::error)
      .def_prop_ro("fullest", &Writer::fullest)
      .def_prop_ro("latest", &Writer::latest);

  nb::class_<LiveRing>(m, "LiveRing", "A file in shared memory with the newest frames, for live views in other processes.")
      .def(nb::init<const std::string&, std::vector<int>, int, std::int64_t, double>(), "path"_a, "signals"_a, "every"_a,
           "frames"_a, "rate"_a)
      .def("finish", &LiveRing::finish, "No frame will follow.")
      .def_prop_ro("locked", &LiveRing::locked);

  nb::class_<LiveReader>(m, "LiveReader", "Reads a live file of another process; the loop never notices.")
      .def(nb::init<const std::string&>(), "path"_a)
      .def(
          "buckets",
          [](LiveReader& r, std::int64_t size, std::int64_t most) {
            std::int64_t first = -1;
            const std::vector<float> found = r.buckets(size, most, first);
            auto* copy = new float[found.size() + 1];
            std::copy(found.begin(), found.end(), copy);
            nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<float*>(p); });
            const std::size_t n = r.signals() > 0 ? found.size() / (2 * r.signals()) : 0;
            const std::size_t shape[3] = {n, r.signals(), 2};
            return std::pair(first, nb::ndarray<nb::numpy, float>(copy, 3, shape, owner));
          },
          "size"_a, "most"_a, "(tick of the first, float32 (n, signals, 2)): extremes of each complete bucket.")
      .def_prop_ro("latest", &LiveReader::latest)
      .def_prop_ro("dropped", &LiveReader::dropped, "Frames that were overwritten before they were read.")
      .def_prop_ro("status", [](const LiveReader& r) {
        const LiveHeader now = r.status();
        nb::dict result;
        result["tick"] = now.tick;
        result["test_tick"] = now.test_tick;
        result["missed"] = now.missed;
        result["lost"] = now.lost;
        result["state"] = now.state;
        result["taken"] = now.taken;
        result["frames"] = now.head;
        result["ended"] = now.ended;
        return nb::cast<nb::typed<nb::dict, nb::str, nb::int_>>(result);
      });

  m.def("now_ns", &now_ns, "The monotonic clock of the loop, in ns.");
}

}  // namespace hmor
