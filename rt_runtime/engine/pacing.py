"""Running against the clock: what is asked of the host, what it gave, and how well the wake-up times were kept."""

from __future__ import annotations

import errno
import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rt_runtime import _core
from rt_runtime.checks import one_of, whole
from rt_runtime.engine.stop_signals import StopSignals
from rt_runtime.errors import ConfigError

if TYPE_CHECKING:
    from rt_runtime.engine.desk import Desk

OVERRUN = {"skip": _core.Overrun.skip, "catch_up": _core.Overrun.catch_up, "trip": _core.Overrun.trip}
STATES = ("idle", "checked", "armed", "running", "holding", "ramping", "tripped")


SLEEP_STATES = "/dev/cpu_dma_latency"


@dataclass(frozen=True)
class Pacing:
    """What a paced run asks of the host; what it could not get is said in `Timing.host`.

    overrun: "skip" drops missed wake-up times, "catch_up" runs ticks without a pause until they are met again (but not
    on a way to rest), "trip" ends the test after `overruns_to_trip` missed ones in a row, not counting the first
    `grace_ticks` ticks. `spin` (s) busy-waits before
    each wake-up time instead of sleeping to the end. `priority` of SCHED_FIFO (1 to 99, 0: leave the scheduler). `cpu`:
    the loop's own CPU. `not_real_time`: allow blocks that are not made for a clock, such as onnxruntime.

    Parameters
    ----------
    lock_memory
        Keep all memory of the process in place, so that no tick waits for a page.
    awake
        Keep the CPUs out of sleep states, which take time to leave, while the run lasts (/dev/cpu_dma_latency).
    """

    overrun: str = "skip"
    grace_ticks: int = 100
    overruns_to_trip: int = 10
    spin: float = 0.0
    priority: int = 80
    cpu: int | None = None
    lock_memory: bool = True
    awake: bool = True
    not_real_time: bool = False

    def __post_init__(self) -> None:
        of = "Pacing"
        one_of(self.overrun, "overrun", of, tuple(OVERRUN))
        whole(self.grace_ticks, "grace_ticks", of, 0)
        whole(self.overruns_to_trip, "overruns_to_trip", of, 1)
        if not 0.0 <= self.spin <= 0.01:
            raise ConfigError(f"spin of {of} must lie between 0 and 0.01 s, got {self.spin:g}.")
        if not 0 <= self.priority <= 99:
            raise ConfigError(f"priority of {of} must lie between 0 and 99, got {self.priority}.")
        present = os.cpu_count() or 1
        if self.cpu is not None and not 0 <= self.cpu < present:
            raise ConfigError(f"cpu of {of} must lie between 0 and {present - 1} on this host, got {self.cpu}.")


@dataclass(frozen=True)
class Durations:
    """Durations of one kind over a run: `counts` per bin from `edges_ns` on (3 % wide), exact least and most."""

    edges_ns: tuple[int, ...]
    counts: tuple[int, ...]
    mean_ns: float
    least_ns: int
    most_ns: int

    @classmethod
    def of(cls, described: dict[str, Any]) -> Durations:
        """Take over a histogram of the core."""
        mean = described["sum_ns"] / max(described["count"], 1)
        edges, counts = tuple(described["edges_ns"]), tuple(described["counts"])
        return cls(edges, counts, mean, described["least_ns"], described["most_ns"])

    def percentile_ns(self, percent: float) -> int:
        """Return the duration that `percent` of the ticks did not exceed (upper edge of its bin)."""
        wanted, seen = math.ceil(percent / 100.0 * sum(self.counts)), 0
        for edge, count in zip(self.edges_ns, self.counts, strict=True):
            seen += count
            if seen >= wanted:
                width = 1 if edge < 64 else 1 << (edge.bit_length() - 6)
                return max(min(edge + width - 1, self.most_ns), self.least_ns)
        return self.most_ns

    def summary_us(self) -> dict[str, float]:
        """Return p50, p99, p99.9, mean and max in microseconds."""
        points = {f"p{p:g}": self.percentile_ns(p) / 1e3 for p in (50, 99, 99.9)}
        return points | {"mean": round(self.mean_ns / 1e3, 3), "max": self.most_ns / 1e3}


@dataclass(frozen=True)
class Timing:
    """How a paced run kept its wake-up times.

    `missed`: wake-up times that passed before their tick could begin, every lost period counted (a stall of 2 s at
    1 kHz misses 2000); `skipped`: those of them that were dropped; `wake`: time
    from the wake-up time to the first instruction; `own`: time the tick itself took; `host`: what was obtained, in
    words.

    Parameters
    ----------
    ticks
        Ticks that were run.
    """

    ticks: int
    missed: int
    skipped: int
    wake: Durations
    own: Durations
    host: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return plain numbers and words for a JSON file, histograms included."""
        return asdict(self) | {"wake_us": self.wake.summary_us(), "own_us": self.own.summary_us()}


@dataclass(frozen=True)
class Status:
    """What a live view needs: the tick, of how many, missed wake-up times, the state and frames the record dropped.

    Parameters
    ----------
    ticks
        Ticks that are planned.
    lost, stopping
        Frames lost so far; whether the test is on its way to rest.
    values
        Signals that were asked for.
    test_tick
        Tick of the test clock, -1 before the start.
    """

    tick: int
    ticks: int
    missed: int
    state: str
    lost: int
    stopping: bool
    test_tick: int = -1
    values: tuple[float, ...] = ()


def host_words(obtained: dict[str, int], pacing: Pacing) -> dict[str, str]:
    """Say of everything a paced run asks for whether the host gave it, and if not why."""
    wanted = {
        "scheduler": f"SCHED_FIFO with priority {pacing.priority}",
        "memory": "memory locked",
        "cpu": f"CPU {pacing.cpu} of its own",
        "timer_slack": "timer slack of 1 ns",
        "awake": "CPUs kept out of sleep states",
    }
    cure = {
        "scheduler": "allow real-time priorities (ulimit -r, CAP_SYS_NICE)",
        "memory": "raise the limit of locked memory (ulimit -l)",
        "cpu": "choose a CPU the process may use (taskset)",
        "timer_slack": "nothing else is lost",
        "awake": f"let the user write {SLEEP_STATES}",
    }
    words = {}
    for key, code in obtained.items():
        if code == 0:
            words[key] = f"obtained: {wanted[key]}"
        elif code < 0:
            words[key] = "not asked for"
        else:
            words[key] = f"not obtained: {wanted[key]} was refused ({os.strerror(code)}); {cure[key]}"
    return words


@contextmanager
def cpus_awake(asked: bool) -> Iterator[int]:
    """Keep the CPUs out of sleep states inside the context; yields 0, -1 (not asked for) or the errno of the refusal.

    A CPU that sleeps between ticks wakes late, above all a virtual one, which its host must schedule again. The kernel
    holds the request (a largest latency of 0 us, int32) for as long as the file is open.
    """
    if not asked:
        yield -1
        return
    try:
        file = os.open(SLEEP_STATES, os.O_WRONLY | os.O_CLOEXEC)
    except OSError as error:
        yield error.errno or errno.EIO
        return
    try:
        code = 0
        try:
            os.write(file, bytes(4))
        except OSError as error:
            code = error.errno or errno.EIO
        yield code
    finally:
        os.close(file)


def run_paced(
    core: _core.Loop,
    ticks: int,
    pacing: Pacing,
    signals: StopSignals,
    *,
    status: Callable[[Status], None] | None = None,
    latest: Callable[[], tuple[int, tuple[float, ...]]] = lambda: (0, ()),
    desk: Desk | None = None,
) -> tuple[_core.Stop, Timing]:
    """Run a built loop for `ticks` ticks against the clock, until it ends or `signals` ask for a stop.

    `status` is told about ten times a second how it goes.
    """
    run = _core.PacedRun(
        core,
        ticks,
        OVERRUN[pacing.overrun],
        pacing.grace_ticks,
        pacing.overruns_to_trip,
        round(pacing.spin * 1e9),
        pacing.priority,
        -1 if pacing.cpu is None else pacing.cpu,
        pacing.lock_memory,
    )
    stopping = threading.Event()

    def ask() -> None:
        stopping.set()
        core.ask_to_stop()

    def tell() -> None:
        if status:
            lost, values = latest()
            state = STATES[run.state]
            status(Status(run.tick, ticks, run.missed, state, lost, stopping.is_set(), run.test_tick, values))

    signals.ask = ask  # from here on a signal is a soft stop
    if desk:
        desk.begin(run)
    with cpus_awake(pacing.awake) as awake:
        run.start()
        try:
            while not run.wait(0.1 if status else 0.02):
                tell()
        except BaseException:  # whatever the caller's status function raises, the command comes to rest first
            ask()
            while not run.wait(1.0):
                pass
            raise
    wake, own = Durations.of(run.wake), Durations.of(run.own)
    timing = Timing(core.tick, run.missed, run.skipped, wake, own, host_words(run.obtained | {"awake": awake}, pacing))
    return run.stop, timing
