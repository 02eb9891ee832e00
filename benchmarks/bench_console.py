"""What the operator's desk costs and how quick it is: live ring, server, press to state, view lag, missed ticks.

A real `hmor run` at 10 kHz with 20 recorded signals against `hmor rig` in another process, its console as `hmor run
--console` starts it (low priority, not on the loop's CPU), and headless Chromium on the same machine. Missed ticks are
counted in one and the same run, in many short turns in random order: without console and browser, with them (the
browser placed as the console is: an operator's browser is on another machine, or can be put there), and with a browser
that runs anywhere at full priority. Nothing is tuned here.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hmor.console.aside import NICE, stand_aside
from rt_runtime import Gain, Loop, Pacing, _core
from rt_runtime.files import read_json

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.fixtures.desk import Page, RunningTest, chromium, patient_rules, running_test

if TYPE_CHECKING:
    from collections.abc import Iterator

RATE, LOOP_CPU = 10_000.0, (os.cpu_count() or 1) - 1
SPIN = 8e-5  # s of each 1e-4: the wake-up of a sleeping virtual CPU, which differs from minute to minute, stays out
SHOWN = (
    "position", "force", "wanted", "command", "rig.age", "rig.status", "rig.lost", "rig.delay", "rig.lost_recently",
    "host.late", "host.lost", "host.elapsed", "host.order", "position.doubt", "position.lag", "force.doubt",
    "force.lag", "force.energy", "monitor.state", "monitor.test_tick",
)  # fmt: skip
STUDY = f"""
[study]
name = "bench_console"

[run]
loop = "hmor.rigs:sine_target"
settings = {{ amplitude = 0.01, frequency = 2.0 }}
rate = {RATE}
duration = 3000.0
record = {list(SHOWN)}

[run.pacing]
cpu = {LOOP_CPU}
spin = {SPIN}

[run.actuator]
kind = "udp"
rig = "spring"
measured = {{ position = "m", force = "N" }}

[[run.commands]]
wanted = "wanted"
name = "command"
lower = -0.02
upper = 0.02
rate = 0.5
measured = "position"
stiffness = 1e5

[run.manners]
release = 0.05
hold_limit = 600.0
""" + patient_rules("a shared machine")
PRESS = """async ([button, state]) => {
  const page = document.documentElement, begun = performance.now();
  const seen = new Promise(done => {
    const watch = new MutationObserver(() => { if (page.dataset.state === state) { watch.disconnect(); done(performance.now()); } });
    watch.observe(page, {attributes: true});
  });
  document.getElementById(button).click();
  return await seen - begun;
}"""  # noqa: E501
DRAWN = """seconds => new Promise(done => {
  const seen = [], begun = performance.now();
  let last = null;
  const look = () => {
    const newest = hmor.panes.newest;
    if (newest !== last) { last = newest; seen.push([(performance.timeOrigin + performance.now()) / 1000, newest]); }
    if (performance.now() - begun < 1000 * seconds) requestAnimationFrame(look); else done(seen);
  };
  requestAnimationFrame(look);
})"""


def live_ring(quick: bool) -> dict[str, float]:
    """Time per tick of a loop with 20 signals, with the ring and without, in turns."""
    loop = Loop(RATE)
    names = [f"x{i}" for i in range(20)]
    loop.signal("u")
    loop.constant("one", 1.0)
    for name in names:
        loop.signal(name)
    loop.add("own", Gain(2.0), inputs=["one"], outputs=["u"])
    loop.add("gain", Gain(np.ones((20, 1))), inputs=["u"], outputs=names)
    place = Path("/dev/shm") / f"hmor-bench-{os.getpid()}.live"
    (alone, order), (shown, _) = loop.build(), loop.build()
    ring = _core.LiveRing(str(place), [order.index(name) for name in names], 1, 20_000, RATE)
    reader = _core.LiveReader(str(place))
    shown.show(ring)
    ticks, repeats = (100_000, 11) if quick else (1_000_000, 25)
    found: list[list[float]] = [[], []]
    for core in (alone, shown):
        core.reset()
    for _ in range(repeats):
        for core, times in zip((alone, shown), found, strict=True):
            begin = time.perf_counter_ns()
            core.run_exactly(ticks)
            times.append((time.perf_counter_ns() - begin) / ticks)
    assert reader.status["frames"] == ticks * repeats  # every frame was written
    ring.finish()
    ring_ns = np.array(found[1]) - np.array(found[0])
    return {"ring_ns_per_tick": float(np.median(ring_ns)), "ring_ns_worst_of_turns": float(ring_ns.max())}


def cpu_seconds(process: int) -> float:
    """User and system time of a process so far, in s."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def desk(test: RunningTest) -> Iterator[tuple[Page, int]]:
    """Open console and browser beside a test; yields the page and the process of the console."""
    console = test.console(functools.partial(stand_aside, LOOP_CPU))
    try:
        with chromium() as browser:
            page = Page.open(browser, test.operator)
            page.page.wait_for_selector("html[data-state=running], html[data-state=holding]", state="attached")
            page.until("hmor.panes.newest > 0")
            yield page, console.pid
    finally:
        console.terminate()
        console.wait(30)


def server(page: Page, process: int, seconds: float) -> dict[str, float]:
    """Part of a core that the server takes for one page at 30 pictures a second."""
    begin, before = time.monotonic(), cpu_seconds(process)
    drawn = page.evaluate("hmor.store.version")
    page.page.wait_for_timeout(1000 * seconds)
    passed = time.monotonic() - begin
    pictures = (page.evaluate("hmor.store.version") - drawn) / passed
    return {"server_percent": 100 * (cpu_seconds(process) - before) / passed, "pictures_per_s": pictures}


def press(page: Page, repeats: int) -> dict[str, float]:
    """Milliseconds from a press of Hold to the new state on the page."""
    found = []
    for _ in range(repeats):
        found.append(page.page.evaluate(PRESS, ["hold", "holding"]))
        page.page.evaluate(PRESS, ["resume", "running"])
        page.page.wait_for_timeout(150)  # a console takes 20 orders a second
    return {"press_ms": float(np.median(found)), "press_ms_worst": max(found), "presses": repeats}


def lag(page: Page, reader: _core.LiveReader, seconds: float) -> dict[str, float]:
    """Age in ms of the newest value in the picture when it is drawn."""
    origin = []  # wall time at tick 0: the reader is never early
    for _ in range(200):
        origin.append(time.time() - reader.status["tick"] / RATE)
        time.sleep(0.002)
    seen = np.array(page.page.evaluate(DRAWN, seconds))
    length = page.evaluate("hmor.store.t.at(-1) - hmor.store.t.at(-2)")
    age = 1e3 * (seen[:, 0] - min(origin) - seen[:, 1] - length)
    return {
        "view_lag_ms": float(np.median(age)), "view_lag_ms_p95": float(np.quantile(age, 0.95)),
        "view_lag_ms_worst": float(age.max()), "drawn_per_s": len(age) / seconds,
    }  # fmt: skip


def children(process: int) -> list[int]:
    """Return a process and all that it has started."""
    found = [process]
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        found += [one for child in task.read_text().split() for one in children(int(child))]
    return found


def place(processes: list[int], cpus: set[int], nice: int) -> None:
    """Put every thread of the processes on some CPUs with a priority."""
    for process in processes:
        for task in Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                os.sched_setaffinity(int(task.name), cpus)
                os.setpriority(os.PRIO_PROCESS, int(task.name), nice)


def stolen() -> dict[str, float]:
    """Seconds so far in which the hypervisor ran somebody else, on the loop's CPU and on the others."""
    rows = [row.split() for row in Path("/proc/stat").read_text().splitlines() if row.startswith("cpu")][1:]
    steal = {row[0]: int(row[8]) / os.sysconf("SC_CLK_TCK") for row in rows}
    own = steal.pop(f"cpu{LOOP_CPU}")
    return {"loop": own, "others": sum(steal.values())}


def empty_loop(seconds: float) -> float:
    """Per cent of ticks that a paced loop with one multiplication misses: what the machine takes from any program."""
    loop = Loop(RATE)
    loop.constant("one", 1.0)
    loop.signal("u")
    loop.add("own", Gain(2.0), inputs=["one"], outputs=["u"])
    timing = loop.run(seconds, paced=True, pacing=Pacing(cpu=LOOP_CPU, spin=SPIN)).timing
    assert timing is not None
    return 100 * timing.missed / (timing.ticks + timing.missed)


ALONE, BESIDE, ANYWHERE = "without", "with", "anywhere"


def missed(test: RunningTest, reader: _core.LiveReader, rounds: int, seconds: float) -> dict[str, Any]:
    """Missed ticks of one run: each round has a turn of each kind, in random order.

    Console and browser stay; without them means that they are stopped (SIGSTOP) and take no time of any CPU. A missed
    tick is a wake-up time that passed before its tick could begin, every lost period counted, as in `Timing.missed`.
    """
    draw, turns = np.random.default_rng(0), []
    with desk(test) as (page, console):
        both = [*(set(children(os.getpid())) - set(children(test.process.pid))) - {os.getpid()}]
        browser = [process for process in both if process not in children(console)]
        everywhere = set(range(os.cpu_count() or 1))
        for _ in range(rounds):
            for kind in draw.permutation([ALONE, BESIDE, ANYWHERE]):
                free = kind == ANYWHERE
                place(browser, everywhere if free else everywhere - {LOOP_CPU} or everywhere, 0 if free else NICE)
                for process in both:
                    os.kill(process, signal.SIGSTOP if kind == ALONE else signal.SIGCONT)
                time.sleep(1.0)  # what waited meanwhile is done
                before, steal = reader.status, stolen()
                time.sleep(seconds)
                after, lost = reader.status, stolen()
                turns.append({
                    "kind": str(kind), "seconds": seconds, "ticks": after["tick"] - before["tick"],
                    "missed": after["missed"] - before["missed"], **{f"steal_{k}": lost[k] - steal[k] for k in lost},
                })  # fmt: skip
        for process in both:
            os.kill(process, signal.SIGCONT)
        page.until("hmor.panes.newest > 0")
    return judged(turns, rounds) | {"turns": turns}


def judged(turns: list[dict[str, Any]], rounds: int) -> dict[str, Any]:
    """Per cent of ticks missed by kind, and the differences within a round with 95 % intervals of their mean.

    Misses come in bursts (the hypervisor takes the CPU away for milliseconds), so the intervals are bootstrapped over
    rounds, and the rounds with more and with fewer misses are counted beside.
    """
    per_cent = {
        kind: np.array([100 * t["missed"] / (t["ticks"] + t["missed"]) for t in turns if t["kind"] == kind])
        for kind in (ALONE, BESIDE, ANYWHERE)
    }
    result: dict[str, Any] = {f"missed_percent_{kind}": float(values.mean()) for kind, values in per_cent.items()}
    for which in ("loop", "others"):
        for kind in per_cent:
            result[f"steal_percent_{which}_{kind}"] = float(
                np.mean([100 * t[f"steal_{which}"] / t["seconds"] for t in turns if t["kind"] == kind])
            )
    for kind in (BESIDE, ANYWHERE):
        difference = per_cent[kind] - per_cent[ALONE]
        if rounds > 1:
            means = np.random.default_rng(0).choice(difference, (20_000, rounds)).mean(axis=1)
            result[f"difference_{kind}"] = {
                "mean": float(difference.mean()), "interval_95": np.quantile(means, [0.025, 0.975]).tolist(),
                "rounds_with_more": int((difference > 0).sum()), "rounds_with_fewer": int((difference < 0).sum()),
            }  # fmt: skip
    return result | {"rounds": rounds}


def run(quick: bool) -> dict[str, Any]:
    """Measure all of it; the budgets stand beside."""
    result: dict[str, Any] = {**live_ring(quick), "ring_ns_budget": 50.0}
    seconds = 5.0 if quick else 20.0
    empty = [empty_loop(seconds)]
    with tempfile.TemporaryDirectory() as place, running_test(Path(place), STUDY, console=False) as test:
        reader = _core.LiveReader(read_json(test.run_folder / "live.json", "live.json")["live"])
        with desk(test) as (page, process):
            time.sleep(2.0)
            result |= {**server(page, process, seconds), "server_percent_budget": 5.0}
            result |= {**lag(page, reader, seconds / 2), "view_lag_ms_budget": 100.0}
            result |= {**press(page, 5 if quick else 30), "press_ms_budget": 50.0}
        result |= missed(test, reader, 2 if quick else 30, 3.0 if quick else 6.0)
        test.tell("stop")
        test.end()
    empty.append(empty_loop(seconds))
    return result | {"missed_percent_empty_loop": empty}
