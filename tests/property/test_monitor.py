"""Whatever comes in, the monitor's command stays in its limits at every tick and every stop ends at rest."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_runtime.safety import STATES, Command, Manners, Monitor, Rule

DT = 1e-3
ACTIONS = st.sampled_from(["warn", "hold", "ramp", "trip"])
ANY = st.one_of(
    st.floats(-1.0, 1.0), st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([0.0, 1e9, -1e9, math.nan])
)
SECONDS = st.floats(0.0, 0.05)


@st.composite
def monitors(draw: st.DrawFn) -> Monitor:
    lower, upper = draw(st.floats(-1.0, 0.0)), draw(st.floats(0.0, 1.0))
    rest = draw(st.floats(lower, upper))
    command = Command(
        "w", "c", lower, upper, draw(st.floats(0.1, 100.0)), rest, draw(ACTIONS), draw(st.one_of(st.none(), ACTIONS))
    )
    rules = [
        Rule("value", "a", -0.5, 0.5, draw(ACTIONS), ticks=draw(st.integers(1, 3))),
        Rule("rate", "a", -500.0, 500.0, draw(ACTIONS), quantity="rate", grace=draw(st.integers(0, 5))),
        Rule("track", "a", -0.7, 0.7, draw(ACTIONS), quantity="difference", other="w"),
        Rule("stuck", "a", upper=3.0, action=draw(ACTIONS), quantity="unchanged", other="w"),
    ]
    manners = Manners(
        arm=draw(SECONDS),
        soft_start=draw(SECONDS),
        soft_stop=draw(SECONDS),
        trip=draw(SECONDS),
        on_trip=draw(st.sampled_from(["ramp", "hold"])),
        hold_limit=draw(SECONDS),
        release=draw(SECONDS),
        settle=draw(SECONDS),
    )
    return Monitor([command], ["a"], rules, manners, dt=DT)


@settings(max_examples=150, deadline=None)
@given(monitors(), st.lists(st.tuples(ANY, st.sampled_from([0.0] * 8 + [1.0, 2.0]), ANY), min_size=1, max_size=120))
def test_the_command_stays_in_its_limits_at_every_tick(
    monitor: Monitor, rows: list[tuple[float, float, float]]
) -> None:
    limit = monitor.commands[0]
    last, worst = limit.rest, 0
    for row in rows:
        c, state, _, _ = monitor.step(0.0, np.array(row))
        assert limit.lower <= c <= limit.upper
        assert abs(c - last) <= limit.rate * DT * (1 + 1e-9) + 1e-15
        if worst == STATES.index("tripped"):
            assert state == worst  # never left
        last, worst = c, state


@settings(max_examples=150, deadline=None)
@given(monitors(), st.lists(st.tuples(ANY, ANY), min_size=1, max_size=60), st.sampled_from([1.0, 2.0]))
def test_a_stop_and_a_trip_end_at_rest_in_bounded_time_whatever_the_inputs_do(
    monitor: Monitor, rows: list[tuple[float, float]], asked: float
) -> None:
    limit, manners = monitor.commands[0], monitor.manners
    for wanted, a in rows:
        monitor.step(0.0, np.array([wanted, 0.0, a]))
    way = 1.5 * max(limit.upper - limit.rest, limit.rest - limit.lower) / limit.rate
    most = round((max(way, manners.soft_stop) + max(way, manners.trip) + 2 * manners.settle) / DT) + 8
    before = monitor.step(0.0, np.array([0.3, asked, 0.0]))[0]
    for k in range(most):
        last = monitor.step(0.0, np.array([math.sin(k), asked, math.nan if k % 7 == 3 else float(k)]))
    state = STATES[int(last[1])]
    assert state in ("idle", "tripped")
    if state == "idle" or manners.on_trip == "ramp":
        assert last[0] == limit.rest
    else:
        assert limit.lower <= before <= limit.upper and last[0] == monitor.step(0.0, np.array([0.5, asked, 0.0]))[0]
