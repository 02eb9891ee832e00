"""Whatever comes in, the monitor's command stays in its limits at every tick and every stop ends at rest."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_runtime.safety.monitor import STATES, Command, Monitor, Rule, StartStop

DT = 1e-3
NO_ORDER = [0.0] * 4
ACTIONS = st.sampled_from(["warn", "hold", "ramp", "trip"])
ANY = st.one_of(
    st.floats(-1.0, 1.0), st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([0.0, 1e9, -1e9, math.nan])
)
ASKED = st.sampled_from([0.0] * 8 + [1.0, 2.0])
ELAPSED = st.one_of(st.just(DT), st.sampled_from([0.0, 1e-6, 0.5 * DT, 2.0]), st.floats(0.0, 3.0 * DT))
SECONDS = st.floats(0.0, 0.05)


@st.composite
def monitors(draw: st.DrawFn) -> Monitor:
    lower, upper = draw(st.floats(-1.0, 0.0)), draw(st.floats(0.0, 1.0))
    rest = draw(st.floats(lower, upper))
    command = Command(
        "w", "c", lower, upper, draw(st.floats(0.1, 100.0)), rest, draw(ACTIONS), draw(st.one_of(st.none(), ACTIONS)),
        measured=draw(st.sampled_from([None, "a"])),
    )  # fmt: skip
    rules = [
        Rule("value", "a", -0.5, 0.5, draw(ACTIONS), ticks=draw(st.integers(1, 3))),
        Rule("rate", "a", -500.0, 500.0, draw(ACTIONS), quantity="rate", grace=draw(st.integers(0, 5))),
        Rule("track", "a", -0.7, 0.7, draw(ACTIONS), quantity="difference", other="w"),
        Rule("stuck", "a", upper=3.0, action=draw(ACTIONS), quantity="unchanged", other="w"),
    ]
    manners = StartStop(
        arm=draw(SECONDS),
        soft_start=draw(SECONDS),
        soft_stop=draw(SECONDS),
        trip=draw(SECONDS),
        on_trip=draw(st.sampled_from(["ramp", "hold"])),
        hold_limit=draw(SECONDS),
        release=draw(SECONDS),
        settle=draw(SECONDS),
        brake=draw(SECONDS),
    )
    return Monitor([command], ["a"], rules, manners, dt=DT)


def starts_there(monitor: Monitor, position: float) -> bool:
    return monitor.commands[0].measured is not None and math.isfinite(position)


@settings(max_examples=150, deadline=None)
@given(monitors(), st.lists(st.tuples(ANY, ASKED, ELAPSED, ANY), min_size=1, max_size=120))
def test_the_command_stays_in_its_limits_at_every_tick_and_on_the_wall(
    monitor: Monitor, rows: list[tuple[float, float, float, float]]
) -> None:
    limit = monitor.commands[0]
    wall, sent = np.cumsum([row[2] for row in rows]), []
    last = float(np.clip(rows[0][3], limit.lower, limit.upper)) if starts_there(monitor, rows[0][3]) else limit.rest
    worst = 0
    for row in rows:
        c, state, _, _, _ = monitor.step(0.0, np.array([*row[:3], *NO_ORDER, row[3]]))
        assert limit.lower <= c <= limit.upper
        assert abs(c - last) <= limit.rate * DT * (1 + 1e-9) + 1e-15
        if worst == STATES.index("tripped"):
            assert state == worst  # never left
        last, worst = c, state
        sent.append(c)
    moved = np.abs(np.subtract.outer(sent, sent))
    passed = np.abs(np.subtract.outer(wall, wall))
    assert (moved <= limit.rate * (passed + 2.0 * DT) * (1 + 1e-9) + 1e-15).all()


@settings(max_examples=150, deadline=None)
@given(monitors(), st.lists(st.tuples(ANY, ANY), min_size=1, max_size=60), st.sampled_from([1.0, 2.0]))
def test_a_stop_and_a_trip_end_at_rest_in_bounded_time_whatever_the_inputs_do(
    monitor: Monitor, rows: list[tuple[float, float]], asked: float
) -> None:
    limit, manners = monitor.commands[0], monitor.manners
    for wanted, a in rows:
        monitor.step(0.0, np.array([wanted, 0.0, DT, *NO_ORDER, a]))
    way = 1.5 * max(limit.upper - limit.rest, limit.rest - limit.lower) / limit.rate
    most = round((max(way, manners.soft_stop) + max(way, manners.trip) + 2 * manners.settle) / DT) + 8
    before = monitor.step(0.0, np.array([0.3, asked, DT, *NO_ORDER, 0.0]))[0]
    for k in range(most):
        last = monitor.step(0.0, np.array([math.sin(k), asked, DT, *NO_ORDER, math.nan if k % 7 == 3 else float(k)]))
    state = STATES[int(last[1])]
    assert state in ("idle", "tripped")
    out_of_reach = limit.measured is not None and not limit.lower <= rows[0][1] <= limit.upper
    if state == "idle" or (manners.on_trip == "ramp" and not out_of_reach):
        assert last[0] == limit.rest
    else:
        assert (
            limit.lower <= before <= limit.upper
            and last[0] == monitor.step(0.0, np.array([0.5, asked, DT, *NO_ORDER, 0.0]))[0]
        )
