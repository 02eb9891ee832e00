"""Stalls of the loop: every lost period counted, the real time as a signal, a trip, and limits that hold on the wall."""

from __future__ import annotations

import time

import numpy as np
import pytest
from numpy.typing import NDArray

from rt_runtime import Command, Loop, Pacing, PythonBlock, Record, Rule, StartStop, Table, Tripped, protect, replay
from rt_runtime.safety.defaults import default_rules

pytestmark = pytest.mark.paced

RATE, STALL, AT = 1000.0, 0.3, 0.2
SLOW = Command("wanted", "command", -0.05, 0.05, rate=0.1)
"""Slower than its target, so that it is at its rate limit all the time."""
MANNERS = StartStop(soft_start=0.02, soft_stop=0.2, trip=0.2)
TRIPPED = 6


def pacing(overrun: str, overruns_to_trip: int = 100) -> Pacing:
    return Pacing(
        overrun=overrun, overruns_to_trip=overruns_to_trip, grace_ticks=0, priority=0, lock_memory=False,
        not_real_time=True,
    )  # fmt: skip


def stalling_loop(rules: list[Rule] | None = None, *, guarded: bool = True) -> Loop:
    """A target at twice the command's rate limit, and a block that stops the whole loop once, for `STALL` s."""
    loop = Loop(RATE)
    loop.signal("wanted", unit="m")
    loop.signal("stamp", unit="s")
    t = np.linspace(0.0, 2.0, 2001)
    loop.add("target", Table(t, 0.04 * np.sin(2.0 * np.pi * t)), outputs=["wanted"])

    def stall(t: float, u: NDArray[np.float64]) -> list[float]:
        if abs(t - AT) < 0.5 / RATE:
            time.sleep(STALL)
        return [time.monotonic()]

    loop.add("stall", PythonBlock(stall, n_in=0, n_out=1), outputs=["stamp"])
    if guarded:
        protect(loop, [SLOW], rules or [], manners=MANNERS)
    return loop


def patient(limit: float) -> list[Rule]:
    return [Rule("stall", "host.elapsed", upper=limit)]


def assert_limits_on_the_wall(record: Record) -> None:
    """Between any two ticks the command moved at most rate (T + 2 dt) in the time T that passed on the wall."""
    wall, command = np.cumsum(record["host.elapsed"]), record["command"]
    allowed = SLOW.rate * (np.abs(np.subtract.outer(wall, wall)) + 2.0 / RATE) * (1 + 1e-9)
    assert (np.abs(np.subtract.outer(command, command)) <= allowed).all()


def test_a_stall_trips_a_guarded_loop_and_every_lost_period_is_counted() -> None:
    assert ("stall", "host.elapsed", 10 / RATE, "trip") in [
        (rule.name, rule.signal, rule.upper, rule.action) for rule in default_rules(RATE)
    ]
    loop = stalling_loop(patient(0.5 * STALL))
    with pytest.raises(Tripped, match=r"host\.elapsed 0\.3\d* s exceeds its limit 0\.15 s \(rule 'stall'\)") as caught:
        loop.run(1.0, paced=True, pacing=pacing("skip"))
    record = caught.value.record
    first = int(np.flatnonzero(record["monitor.state"] == TRIPPED)[0])
    assert first == round(AT * RATE) + 1  # the tick after the one that stalled
    assert record.timing is not None and record.timing.missed >= STALL * RATE - 1
    assert record["host.late"].max() >= STALL * RATE - 1
    assert record["command"][-1] == 0.0
    assert_limits_on_the_wall(record)
    assert replay_is_the_same(loop, record)


def replay_is_the_same(loop: Loop, record: Record) -> bool:
    """What the monitor did depends on the real time only through the recorded signal."""
    again = replay(loop_without_stall(loop), record)
    names = [s.name for s in record.signals if s.name != "stamp"]
    return all(again[name].tobytes() == record[name].tobytes() for name in names)


def loop_without_stall(loop: Loop) -> Loop:
    quick = Loop(RATE)
    monitor = loop.blocks["monitor"]
    quick.signal("wanted", unit="m")
    quick.signal("stamp", unit="s")
    t = np.linspace(0.0, 2.0, 2001)
    quick.add("target", Table(t, 0.04 * np.sin(2.0 * np.pi * t)), outputs=["wanted"])
    quick.add("stall", PythonBlock(lambda t, u: [0.0], n_in=0, n_out=1), outputs=["stamp"])
    protect(quick, [SLOW], [rule for rule in monitor.rules if rule.name == "stall"], manners=MANNERS)  # type: ignore[attr-defined]
    return quick


def test_a_stall_of_an_unguarded_loop_counts_for_the_overrun_policy() -> None:
    with pytest.raises(Tripped, match="missed too many wake-up times in a row"):
        stalling_loop(guarded=False).run(1.0, paced=True, pacing=pacing("trip", round(0.8 * STALL * RATE)))
    record = stalling_loop(guarded=False).run(0.5, paced=True, pacing=pacing("skip"))
    assert record.ended == "finished" and record.timing is not None
    assert record.timing.missed >= STALL * RATE - 1 and record.timing.skipped >= STALL * RATE - 2


@pytest.mark.parametrize("overrun", ["skip", "catch_up"])
def test_after_a_stall_the_limits_hold_on_the_wall(overrun: str) -> None:
    record = stalling_loop(patient(1e3)).run(0.8, paced=True, pacing=pacing(overrun))
    assert record.ended == "finished"
    elapsed = record["host.elapsed"]
    assert elapsed.max() >= STALL and elapsed[0] == 1.0 / RATE
    stamps = record["stamp"]
    assert (
        abs(elapsed[1:].sum() - (stamps[-1] - stamps[0])) < STALL + 0.1
    )  # honest: the stall itself lies inside a tick
    if overrun == "catch_up":
        assert (elapsed[202:300] < 0.5 / RATE).sum() > 50  # it did catch up, ticks in a burst
    assert record.timing is not None and record.timing.missed >= STALL * RATE - 1
    assert_limits_on_the_wall(record)


def test_a_way_to_rest_is_paced_even_while_catching_up() -> None:
    with pytest.raises(Tripped, match="rule 'stall'") as caught:
        stalling_loop(patient(0.5 * STALL)).run(1.0, paced=True, pacing=pacing("catch_up"))
    record = caught.value.record
    ramp = record["monitor.state"] == TRIPPED
    assert record["host.elapsed"][ramp][1:].sum() >= 0.9 * MANNERS.trip
    assert record["command"][-1] == 0.0
    assert_limits_on_the_wall(record)
