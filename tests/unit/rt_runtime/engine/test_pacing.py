"""Against the clock: wake-up times, histograms, what the host gave, signals, overruns."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import rt_runtime.engine.pacing as pacing_module
from rt_runtime import ConfigError, Gain, Loop, Ode, Pacing, PythonBlock, Record, Table, Tripped, _core
from rt_runtime.engine.pacing import Durations, Status, host_words
from rt_runtime.engine.stop_signals import StopSignals

QUIET = Pacing(priority=0, lock_memory=False)


def sine_loop(rate: float = 1000.0) -> Loop:
    loop = Loop(rate)
    loop.signal("target", unit="m")
    loop.signal("force", unit="N")
    t = np.linspace(0.0, 1.0, 201)
    loop.add("excitation", Table(t, 0.01 * np.sin(12.0 * t)), outputs=["target"])
    loop.add("spring", Gain(2e5), inputs=["target"], outputs=["force"])
    return loop


def slow_loop(rate: float = 1000.0, substeps: int = 250_000) -> Loop:
    """A tick of ten milliseconds at a period of one: late on much faster machines too."""
    from mor import ode

    @ode(states={"x": "m", "v": "m/s"}, outputs={"x": "m"}, initial={"x": 1.0})
    def oscillator(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
        dx[0] = x[1]
        dx[1] = -x[0]
        y[0] = x[0]

    loop = Loop(rate)
    loop.signal("x", unit="m")
    block = oscillator.block(dt=1.0 / rate, substeps=substeps)
    assert isinstance(block, Ode)
    loop.add("slow", block, outputs=["x"])
    return loop


def test_paced_gives_the_same_bits_as_unpaced() -> None:
    paced = sine_loop().run(0.2, paced=True, pacing=QUIET)
    free = sine_loop().run(0.2)
    assert paced.ended == "finished"
    assert paced.values.tobytes() == free.values.tobytes()


def test_a_paced_run_takes_its_time_and_counts_every_tick() -> None:
    start = time.monotonic()
    timing = sine_loop().run(0.3, paced=True, pacing=QUIET).timing
    assert time.monotonic() - start >= 0.299
    assert timing is not None and timing.ticks == 300
    assert sum(timing.wake.counts) == sum(timing.own.counts) == 300
    assert timing.wake.least_ns >= 0  # never before its time
    assert timing.own.percentile_ns(50) > 0
    assert {"p50", "p99", "p99.9", "mean", "max"} == set(timing.own.summary_us())


def test_wake_up_times_do_not_drift_at_a_rate_whose_period_is_no_whole_ns() -> None:
    start = time.monotonic()
    sine_loop(3000.0).run(0.5, paced=True, pacing=QUIET)
    assert time.monotonic() - start >= 1499 / 3000.0


def test_histogram_bins_are_three_percent_wide_and_percentiles_right() -> None:
    histogram = _core.Histogram()
    values = np.unique(np.geomspace(1, 1e9, 5000).astype(int))
    for value in values:
        histogram.add(int(value))
    durations = Durations.of(histogram.describe())
    assert durations.least_ns == 1 and durations.most_ns == values[-1]
    assert durations.mean_ns == pytest.approx(values.mean())
    for percent in (1, 50, 99, 99.9, 100):
        exact = np.percentile(values, percent, method="inverted_cdf")
        assert exact <= durations.percentile_ns(percent) <= exact * 1.033 + 1
    edges = np.array(durations.edges_ns)
    big = edges >= 64
    assert (np.diff(edges[big]) / edges[big][:-1] <= 1 / 31).all()
    histogram.add(-5)
    histogram.add(1 << 50)
    assert Durations.of(histogram.describe()).least_ns == -5
    assert sum(Durations.of(histogram.describe()).counts) == len(values) + 2


def test_the_host_report_says_what_was_obtained_and_why_not() -> None:
    pacing = Pacing(priority=80, cpu=0)
    words = host_words({"scheduler": 1, "memory": 0, "cpu": -1, "timer_slack": 0}, pacing)
    assert words["scheduler"] == (
        "not obtained: SCHED_FIFO with priority 80 was refused (Operation not permitted); "
        "allow real-time priorities (ulimit -r, CAP_SYS_NICE)"
    )
    assert words["memory"] == "obtained: memory locked"
    assert words["cpu"] == "not asked for"


def test_sleep_states_are_refused_while_the_run_lasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = tmp_path / "cpu_dma_latency"
    device.touch()
    monkeypatch.setattr(pacing_module, "SLEEP_STATES", str(device))
    record = sine_loop().run(0.02, paced=True, pacing=QUIET)
    assert device.read_bytes() == bytes(4)  # int32: a largest latency of 0 us
    assert record.timing is not None
    assert record.timing.host["awake"] == "obtained: CPUs kept out of sleep states"
    assert not [file for file in Path("/proc/self/fd").iterdir() if file.exists() and file.resolve() == device]


def test_a_host_that_does_not_allow_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing_module, "SLEEP_STATES", str(tmp_path / "absent"))
    record = sine_loop().run(0.02, paced=True, pacing=QUIET)
    assert record.timing is not None
    assert record.timing.host["awake"].startswith(
        "not obtained: CPUs kept out of sleep states was refused (No such file"
    )
    plain = sine_loop().run(0.02, paced=True, pacing=Pacing(priority=0, lock_memory=False, awake=False))
    assert plain.timing is not None and plain.timing.host["awake"] == "not asked for"


def test_asking_for_everything_never_fails_the_run() -> None:
    record = sine_loop().run(0.05, paced=True, pacing=Pacing(priority=10, cpu=0, spin=5e-5))
    assert record.timing is not None
    for key in ("scheduler", "memory", "cpu"):
        assert record.timing.host[key].startswith(("obtained", "not obtained"))


def test_status_is_told_while_running() -> None:
    seen: list[Status] = []
    sine_loop().run(0.35, paced=True, pacing=QUIET, status=seen.append)
    assert len(seen) >= 2
    assert [s.tick for s in seen] == sorted(s.tick for s in seen)
    assert seen[-1].ticks == 350


def test_an_error_in_the_status_function_stops_the_run() -> None:
    def broken(_: Status) -> None:
        raise ValueError("the view broke")

    with pytest.raises(ValueError, match="the view broke"):
        sine_loop().run(5.0, paced=True, pacing=QUIET, status=broken)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_asks_for_a_stop(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    timer = threading.Timer(0.15, os.kill, (os.getpid(), number))
    timer.start()
    record: Record = sine_loop().run(10.0, paced=True, pacing=QUIET)
    timer.join()
    assert record.ended.startswith("Stopped on request at tick ")
    assert len(record) == record.ticks < 9000
    assert signal.getsignal(number) is before


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
    try:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGHUP)).start()
        assert sine_loop().run(0.2, paced=True, pacing=QUIET).ended == "finished"
    finally:
        signal.signal(signal.SIGHUP, before)


def test_before_anything_moves_a_signal_ends_the_start() -> None:
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM)).start()
    with StopSignals() as signals, pytest.raises(KeyboardInterrupt, match="SIGTERM"):
        time.sleep(10.0)
    assert signals.ask is None and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize("overrun", ["skip", "catch_up"])
def test_overruns_are_counted_and_the_run_goes_on(overrun: str) -> None:
    record = slow_loop().run(0.03, paced=True, pacing=Pacing(overrun=overrun, priority=0, lock_memory=False))
    timing = record.timing
    assert timing is not None and record.ticks == 30
    assert timing.missed >= 25
    assert (timing.skipped > 0) == (overrun == "skip")


def test_an_overrun_storm_trips_after_the_defined_number_of_ticks() -> None:
    pacing = Pacing(overrun="trip", grace_ticks=5, overruns_to_trip=3, priority=0, lock_memory=False)
    with pytest.raises(Tripped, match=r"Tripped at tick \d .* missed too many wake-up times in a row") as caught:
        slow_loop().run(1.0, paced=True, pacing=pacing)
    assert 5 <= caught.value.tick <= 7  # five ticks of grace, then three periods lost in one to three ticks
    assert len(caught.value.record) == caught.value.tick + 1


def test_a_block_that_enters_the_interpreter_is_refused_unless_insisted() -> None:
    loop = Loop(100.0)
    loop.signal("y")
    loop.add("python", PythonBlock(lambda t, u: [t], n_in=0, n_out=1), outputs=["y"])
    with pytest.raises(ConfigError, match=r"Block 'python' is not made for a clock .* Pacing\(not_real_time=True\)"):
        loop.run(0.1, paced=True)
    record = loop.run(0.1, paced=True, pacing=Pacing(not_real_time=True, priority=0, lock_memory=False))
    assert record["y"][-1] == pytest.approx(0.09)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"overrun": "panic"}, "overrun of Pacing must be one of 'skip', 'catch_up', 'trip', got 'panic'"),
        ({"priority": 100}, "priority of Pacing must lie between 0 and 99, got 100"),
        ({"cpu": 10_000}, r"cpu of Pacing must lie between 0 and \d+ on this host, got 10000"),
        ({"spin": 1.0}, "spin of Pacing must lie between 0 and 0.01 s, got 1"),
        ({"grace_ticks": -1}, "grace_ticks of Pacing must be a whole number of at least 0, got -1"),
        ({"overruns_to_trip": 0}, "overruns_to_trip of Pacing must be a whole number of at least 1, got 0"),
    ],
)
def test_pacing_checks_its_arguments(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Pacing(**arguments)  # type: ignore[arg-type]
