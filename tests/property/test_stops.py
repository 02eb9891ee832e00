"""Whatever the motion and the orders: commands follow the written law, and holds and soft stops have no kink in speed."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rt_runtime.safety.monitor import STATES, Command, Monitor, StartStop
from tests.reference.stopping import HOLDING, RAMPING, RUNNING, TRIPPED, Commands, paces

DT = 1e-3
TICKS = 200
HOLD, RESUME, STOP, TRIP = range(3, 7)
Array = NDArray[np.float64]
ORDERS = st.dictionaries(st.integers(5, 140), st.sampled_from([HOLD, RESUME, HOLD, RESUME, STOP, TRIP]), max_size=6)
SECONDS = st.integers(0, 60).map(lambda n: n * DT)
MANNERS = st.builds(
    StartStop,
    soft_start=SECONDS,
    soft_stop=SECONDS,
    trip=SECONDS,
    brake=SECONDS,
    hold_limit=st.integers(1, 100).map(lambda n: n * DT),
    on_trip=st.sampled_from(["ramp", "hold"]),
)
WAVES = st.lists(st.tuples(st.floats(-1.0, 1.0), st.floats(0.5, 20.0), st.floats(0.0, 6.0)), min_size=1, max_size=3)


def ran(monitor: Monitor, wanted: Array, orders: dict[int, int], elapsed: Array) -> tuple[Array, Array]:
    """Commands and states of a monitor that is told these orders."""
    word, rows = 0.0, []
    for k, (w, seconds) in enumerate(zip(wanted, elapsed, strict=True)):
        word = (k + 1) * 256.0 + orders[k] if k in orders else word
        rows.append(monitor.step(k * DT, np.array([*w, 0.0, seconds, word, 0.0, 0.0, 0.0])))
    n = wanted.shape[1]
    return np.array(rows)[:, :n], np.array(rows)[:, n].astype(int)


def wave(waves: list[tuple[float, float, float]], size: float) -> Array:
    t = DT * np.arange(TICKS)
    return size * sum(a * np.sin(2.0 * np.pi * f * t + phase) - a * np.sin(phase) for a, f, phase in waves)


@settings(max_examples=60, deadline=None)
@given(
    MANNERS,
    st.lists(WAVES, min_size=1, max_size=3),
    st.floats(0.01, 3.0),
    st.floats(0.2, 50.0),
    ORDERS,
    st.integers(0, 2**32 - 1),
)
def test_the_commands_are_those_of_the_twin(
    manners: StartStop, waves: list, size: float, rate: float, orders: dict[int, int], seed: int
) -> None:
    elapsed = np.random.default_rng(seed).choice([0.0, 0.3, 0.7, 1.0, 1.0, 1.0, 1.0, 1.6, 30.0], TICKS)
    commands = [Command(f"w{i}", f"c{i}", -1.0 - i, 0.5, rate, rest=-0.3 * i) for i in range(len(waves))]
    wanted = np.stack([wave(w, size) for w in waves], axis=1)
    c, states = ran(Monitor(commands, [], [], manners, dt=DT), wanted, orders, DT * elapsed)
    limits = np.array([(c.lower, c.upper, c.rate * DT, c.rest) for c in commands]).T
    n = [round(x / DT) for x in (manners.soft_start, manners.soft_stop, manners.trip, manners.brake)]
    twin = Commands(limits, *n, trip_holds=manners.on_trip == "hold")
    for k, p in enumerate(paces(elapsed)):
        np.testing.assert_allclose(c[k], twin.step(wanted[k], states[k], p), atol=1e-12)
    assert (c >= limits[0]).all() and (c <= limits[1]).all()
    assert (np.abs(np.diff(c, axis=0)) <= rate * DT * (1 + 1e-9)).all()


@settings(max_examples=60, deadline=None)
@given(WAVES, st.integers(10, 60), st.integers(20, 60), st.integers(20, 60), ORDERS)
def test_a_hold_a_resume_and_a_soft_stop_change_the_speed_little_by_little(
    waves: list, brake: int, soft_start: int, soft_stop: int, orders: dict[int, int]
) -> None:
    wanted = wave(waves, 0.1)
    v, a = np.abs(np.diff(wanted)).max(), np.abs(np.diff(wanted, 2)).max()
    manners = StartStop(
        soft_start=soft_start * DT, soft_stop=soft_stop * DT, brake=brake * DT, trip=0.02, hold_limit=1.0
    )
    c, states = ran(
        Monitor([Command("w", "c", -9.0, 9.0, rate=1e4)], [], [], manners, dt=DT), wanted[:, None], orders,
        np.full(TICKS, DT),
    )  # fmt: skip
    # The command stays within `reach` and `fastest`, and all ways are 3 r^2 - 2 r^3.
    shortest, braking = min(soft_start, soft_stop), min(brake, 0.5 * soft_stop)
    reach = np.abs(wanted).max() + np.abs(c).max()
    fastest = np.abs(np.diff(c[:, 0])).max()
    assert fastest <= v + 1.5 * reach / shortest + 1e-12
    most = 2.0 * fastest / braking + 6.0 * reach / shortest**2 + 3.0 * (v + fastest) / soft_start + 2.0 * a
    kept = np.isin(states, (RUNNING, HOLDING, RAMPING))
    kept[:2] = False
    bend = np.abs(np.diff(c[:, 0], 2, prepend=[0.0, 0.0]))
    assert (bend[kept] <= most + 1e-12).all()
    entered = np.flatnonzero(np.diff(states, prepend=-1) != 0)
    for k in entered[np.isin(states[entered], (HOLDING, RAMPING))]:
        w = max(abs(c[k - 1, 0] - c[k - 2, 0]), abs(c[k - 2, 0] - c[k - 3, 0]))
        change = abs(c[k - 1, 0] - 2.0 * c[k - 2, 0] + c[k - 3, 0])
        assert bend[k] <= w / braking + change + 3.0 * reach / soft_stop**2 + 1e-12  # not the whole speed
    assert TRIPPED not in states or TRIP in orders.values()


@settings(max_examples=30, deadline=None)
@given(MANNERS, WAVES, st.floats(0.01, 3.0), st.floats(0.2, 50.0), ORDERS, st.integers(141, TICKS - 1))
def test_a_stop_ends_at_rest_in_the_time_the_loop_gives_it(
    manners: StartStop, waves: list, size: float, rate: float, orders: dict[int, int], at: int
) -> None:
    limit = Command("w", "c", -1.0, 0.5, rate, rest=0.2)
    monitor = Monitor([limit], [], [], manners, dt=DT)
    ran(monitor, wave(waves, size)[:, None], orders | {at: STOP}, np.full(TICKS, DT))
    way = max(round(max(manners.soft_stop, manners.trip) / DT), int(np.ceil(1.5 * 1.2 / rate / DT)), 1)
    last = [monitor.step(0.0, np.array([9.0, 1.0, DT, 0.0, 0.0, 0.0, 0.0])) for _ in range(way + 2)][-1]
    if STATES[int(last[1])] == "idle":
        assert last[0] == limit.rest
    else:
        assert STATES[int(last[1])] == "tripped" and (manners.on_trip == "hold" or last[0] == limit.rest)
