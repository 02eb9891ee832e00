"""The test clock, and what an operator may ask for in which state."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rt_runtime import Command, Gain, Loop, Rule, StartStop, Table, _core, protect, replay
from rt_runtime.engine.records.record import Record
from rt_runtime.safety.monitor import HOST, STATES, Monitor

RATE = 1000.0
ARM, START, HOLD, RESUME, STOP, TRIP, LIMIT, NOTE = range(1, 9)
OPERATOR = StartStop(arm=0.01, soft_start=0.0, soft_stop=0.02, trip=0.02, hold_limit=0.2)


def ramp(manners: StartStop, rules: tuple[Rule, ...] = (), every: int = 1) -> Loop:
    """A loop that wants its own time as the command, in m, and doubles it every n-th tick."""
    loop = Loop(RATE)
    for name in ("wanted", "twice"):
        loop.signal(name, unit="m")
    loop.add("table", Table([0.0, 10.0], [[0.0], [10.0]]), outputs=["wanted"])
    loop.add("gain", Gain(2.0), inputs=["wanted"], outputs=["twice"], every=every)
    protect(loop, [Command("wanted", "command", -5.0, 5.0, rate=1000.0)], rules, manners=manners,
            start="operator" if manners is OPERATOR else "at_once")  # fmt: skip
    return loop


def ordered(loop: Loop, ticks: int, orders: dict[int, tuple[float, ...]]) -> Record:
    """Run with the operator's orders at given ticks: (code, arguments ...)."""
    host = np.zeros((ticks, len(HOST)))
    host[:, 3] = 1.0 / RATE
    for n, (tick, (code, *arguments)) in enumerate(orders.items()):
        host[tick:, 4] = (n + 1) * 256 + code
        host[tick:, 5 : 5 + len(arguments)] = arguments
    return loop.rerun(ticks, {"host": _core.Playback(host)})


def states(record: Record) -> list[tuple[str, int]]:
    codes = record["monitor.state"].astype(int)
    return [(STATES[codes[i]], int(i)) for i in np.flatnonzero(np.diff(codes, prepend=-1))]


def monitor(loop: Loop) -> Monitor:
    found = loop.blocks["monitor"]
    assert isinstance(found, Monitor)
    return found


@pytest.mark.parametrize("every", [1, 3])
def test_the_excitation_begins_with_the_test_and_not_while_armed(every: int) -> None:
    loop = ramp(StartStop(arm=0.05, soft_start=0.0, soft_stop=0.02), every=every)
    record = loop.run(0.1)
    begin = 50
    assert states(record)[:2] == [("armed", 0), ("running", begin)]
    assert record["wanted"][begin : begin + 100] == pytest.approx(np.arange(100) / RATE)
    assert record["twice"][begin : begin + 100] == pytest.approx(2 * every * (np.arange(100) // every) / RATE)
    assert (record["monitor.test_tick"][:begin] == -1).all()
    assert (record["monitor.test_tick"][begin : begin + 100] == np.arange(100)).all()
    assert record.ended == "finished" and states(record)[-2] == ("ramping", begin + 100)


def test_a_replay_keeps_the_bits_of_the_test_clock() -> None:
    loop = ramp(StartStop(arm=0.05, soft_start=0.01, soft_stop=0.02))
    record = loop.run(0.1)
    assert replay(loop, record).values.tobytes() == record.values.tobytes()


def test_a_rule_that_is_broken_keeps_the_test_armed_and_ends_it_after_a_while() -> None:
    rules = (Rule("never", "host.late", lower=50.0, action="hold"),)
    loop = ramp(StartStop(arm=0.05, hold_limit=0.1, soft_stop=0.02), rules)
    record = loop.run(1.0)
    assert [name for name, _ in states(record)] == ["armed", "idle"]
    assert (record["wanted"] == 0.0).all() and "rule 'never'" in record.ended


@pytest.mark.parametrize(("clock", "expected"), [("run", 0.18), ("stop", 0.08)])
def test_the_clock_in_a_hold(clock: str, expected: float) -> None:
    manners = StartStop(soft_start=0.0, soft_stop=0.02, hold_limit=0.5, hold_clock=clock)
    record = ordered(ramp(manners), 200, {40: (HOLD,), 140: (RESUME,)})
    assert states(record)[:3] == [("running", 0), ("holding", 40), ("running", 140)]
    assert record["wanted"][180] == pytest.approx(expected, abs=1.1 / RATE)
    assert (record["command"][90:140] == record["command"][89]).all()  # after 50 ms of braking


def test_an_operator_arms_starts_holds_resumes_and_stops() -> None:
    loop = ramp(OPERATOR)
    orders = {30: (ARM,), 60: (START,), 100: (HOLD,), 120: (RESUME,), 150: (NOTE,), 160: (STOP,)}
    record = ordered(loop, 250, {k: (float(c[0]),) for k, c in orders.items()})
    expected = [("checked", 0), ("armed", 30), ("running", 61), ("holding", 100), ("running", 120), ("ramping", 160)]
    assert states(record)[:6] == expected and states(record)[6][0] == "idle"
    assert record["wanted"][61] == 0.0 and record["monitor.test_tick"][61] == 0
    assert record.ended == "Stopped by the operator at tick 160 (0.16 s)."
    who = [(e["tick"], e["rule"], e["state"]) for e in monitor(loop).events(RATE)]
    assert (100, "operator", "holding") in who and (160, "operator", "ramping") in who
    again = replay(loop, record)
    assert again.values.tobytes() == record.values.tobytes()


def test_a_trip_by_the_operator_says_so_and_a_long_hold_ramps_down() -> None:
    loop = ramp(StartStop(soft_start=0.0, trip=0.02))
    assert ordered(loop, 100, {40: (TRIP,)}).ended == "Tripped by the operator at tick 40 (0.04 s)."
    loop = ramp(OPERATOR)
    record = ordered(loop, 400, {5: (ARM,), 30: (START,), 40: (HOLD,)})
    assert record.ended == "Ramped down after a long hold by the operator at tick 240 (0.24 s)."


LEGAL = {
    "checked": {ARM, TRIP, NOTE},
    "armed": {START, STOP, TRIP, NOTE},
    "running": {HOLD, STOP, TRIP, NOTE},
    "holding": {RESUME, STOP, TRIP, NOTE},
    "ramping": {TRIP, NOTE},
    "tripped": {NOTE},
}
WAY = {
    "checked": [],
    "armed": [ARM],
    "running": [ARM, START],
    "holding": [ARM, START, HOLD],
    "ramping": [ARM, START, STOP],
    "tripped": [TRIP],
}


@pytest.mark.parametrize("state", LEGAL)
@pytest.mark.parametrize("code", [ARM, START, HOLD, RESUME, STOP, TRIP, NOTE, 77])
def test_an_order_is_followed_in_its_states_and_refused_in_the_others(state: str, code: int) -> None:
    block = Monitor(
        [Command("wanted", "command", -5.0, 5.0, rate=1000.0)], [], [], OPERATOR, dt=1 / RATE, start="operator"
    )
    core = _core.Loop(1 / RATE, np.eye(1, 1 + len(HOST) + 5)[0])  # wants 1 m
    core.add(_core.HostStatus(), [], 1, 1, False)
    core.add(block, [0, 1, 4, 5, 6, 7, 8], 9, 1, False)
    core.reset()

    def tell(sequence: int, what: int) -> int:
        core.order(sequence, what)
        core.run_exactly(1)
        assert core.taken >> 8 == sequence
        return core.taken & 255

    core.run_exactly(1)
    for n, what in enumerate(WAY[state]):
        assert tell(n + 1, what) == 0
        core.run_exactly(12 if what == ARM else 1)
    assert STATES[int(core.bus[10])] == state
    refused = tell(100, code)
    assert (refused == 0) == (code in LEGAL[state])
    assert refused in (0, 1, 5) and (refused == 5) == (code == 77)


def test_arm_and_start_are_refused_while_a_rule_is_broken_and_start_while_arming() -> None:
    rules = (Rule("late", "host.late", upper=0.0, action="hold"),)
    loop = ramp(OPERATOR, rules)
    host = np.zeros((60, len(HOST)))
    host[:20, 1] = 1.0  # broken at first
    host[10:, 4] = 256 + ARM
    host[25:, 4] = 512 + ARM
    host[27:, 4] = 768 + START  # too early
    host[45:, 4] = 1024 + START
    record = loop.rerun(60, {"host": _core.Playback(host)})
    assert states(record) == [("checked", 0), ("armed", 25), ("running", 46)]


def test_a_limit_is_tightened_at_any_time_and_widened_only_before_the_start() -> None:
    rules = (Rule.within("stroke", "twice", 4.0),)
    loop = ramp(OPERATOR, rules)
    tell: dict[int, tuple[float, ...]] = {
        5: (LIMIT, 0, -3.0, 3.0), 10: (LIMIT, 0, -4.0, 4.0), 12: (LIMIT, 0, -9.0, 9.0), 14: (ARM,), 30: (START,),
        100: (LIMIT, 0, -0.2, 0.2), 105: (LIMIT, 0, -1.0, 1.0),
    }  # fmt: skip
    record = ordered(loop, 300, tell)
    assert "exceeds its limit 0.2 m (rule 'stroke')" in record.ended
    assert monitor(loop).shown()[0][3:5] == (-0.2, 0.2)
    del tell[100], tell[105]
    assert ordered(loop, 300, tell).ended == "finished"  # and the limits are back
    assert monitor(loop).shown()[0][3:5] == (-4.0, 4.0)


def test_what_a_rule_shows_are_its_value_and_its_extremes() -> None:
    loop = ramp(StartStop(soft_start=0.0, soft_stop=0.02), (Rule.within("stroke", "twice", 4.0),))
    record: NDArray[np.float64] = loop.run(0.1)["twice"]
    value, least, most, _, _, acting = monitor(loop).shown()[0]
    assert (value, least, most, acting) == (record[-1], 0.0, record.max(), False)
