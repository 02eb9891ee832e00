"""A hold and a soft stop take the speed out of the command within `brake`; a trip stops it at once."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rt_runtime.safety.monitor import STATES, Command, Monitor, StartStop

DT = 1e-3
HOLD, RESUME, STOP, TRIP = range(3, 7)
WIDE = Command("w", "c", -5.0, 5.0, rate=2.0)
MANNERS = StartStop(soft_start=0.1, soft_stop=0.4, trip=0.2, hold_limit=9.0, brake=0.05)
V = 0.8 * DT  # way of a tick at the speed of the viaduct
Array = NDArray[np.float64]


def ran(
    orders: dict[int, int],
    wanted: Array | None = None,
    commands: tuple[Command, ...] = (WIDE,),
    manners: StartStop = MANNERS,
    elapsed: dict[int, float] | None = None,
) -> tuple[Array, Array]:
    """Commands and states; wanted is a straight motion of 0.8 m/s without one."""
    wanted = V * np.arange(1000.0)[:, None] if wanted is None else wanted
    monitor = Monitor(commands, [], [], manners, dt=DT)
    word, rows = 0.0, []
    for k, w in enumerate(wanted):
        word = (k + 1) * 256.0 + orders[k] if k in orders else word
        rows.append(monitor.step(k * DT, np.array([*w, 0.0, (elapsed or {}).get(k, DT), word, 0.0, 0.0, 0.0])))
    return np.array(rows)[:, : len(commands)], np.array(rows)[:, len(commands)].astype(int)


def bend(c: Array) -> Array:
    """Change of the speed in each tick, as a part of V."""
    return np.abs(np.diff(c[:, 0], 2, prepend=[0.0, 0.0])) / V


def test_a_hold_goes_on_by_a_third_of_the_braking_time_and_stands() -> None:
    c, _ = ran({300: HOLD})
    r = np.arange(1, 51) / 50.0
    assert c[300:350, 0] == pytest.approx(c[299, 0] + V * 50 / 3 * (1 - (1 - r) ** 3), abs=1e-15)
    assert (c[350:, 0] == c[349, 0]).all()
    assert bend(c)[300:].max() <= 2 / 50  # at once it would be 1


def test_a_soft_stop_has_no_kink_and_ends_at_rest_in_its_time() -> None:
    c, states = ran({300: STOP})
    way = int(np.ceil(1.5 * (c[299, 0] + V * 50 / 3) / (WIDE.rate * DT)))
    way = max(way, 400)
    assert states[300 + way - 2] == STATES.index("ramping") and states[300 + way - 1] == STATES.index("idle")
    assert c[300 + way - 1, 0] == 0.0 and (c[300 + way - 2] != 0.0).all()
    assert bend(c)[300 : 300 + way].max() < 0.06


def test_a_short_soft_stop_brakes_for_half_of_it() -> None:
    c, states = ran({20: STOP}, manners=StartStop(soft_start=0.0, soft_stop=0.04, brake=1.0))
    assert states[59] == STATES.index("idle") and c[59, 0] == 0.0
    assert c[20:60, 0].max() <= c[19, 0] + V * 20 / 3


def test_a_trip_stops_at_once_also_where_it_worsens_a_braking_stop() -> None:
    c, _ = ran({300: TRIP})
    assert (c[300:, 0] <= c[299, 0]).all() and bend(c)[300] > 0.99
    for first in (HOLD, STOP):
        c, states = ran({300: first, 310: TRIP})
        assert states[310] == STATES.index("tripped")
        assert 0.5 < (c[309, 0] - c[308, 0]) / V < 0.7  # it was braking
        assert abs(c[310, 0] - c[309, 0]) < 0.03 * V and (np.diff(c[310:, 0]) <= 0.0).all() and c[-1, 0] == 0.0


def test_a_trip_that_holds_stands_at_once() -> None:
    c, _ = ran({300: HOLD, 310: TRIP}, manners=StartStop(soft_start=0.1, on_trip="hold"))
    assert (c[310:, 0] == c[309, 0]).all()


@pytest.mark.parametrize("at", [301, 310, 349, 420])
def test_a_resume_has_no_kink_even_while_braking(at: int) -> None:
    c, states = ran({300: HOLD, at: RESUME}, commands=(Command("w", "c", -5.0, 5.0, rate=9.0),))
    assert states[at] == STATES.index("running")
    assert bend(c)[300:].max() < 0.12  # and at once 1
    assert c[-1, 0] == V * 999  # the wanted one itself


def test_without_a_time_to_brake_the_command_stops_at_once() -> None:
    c, _ = ran({300: HOLD}, manners=StartStop(soft_start=0.1, brake=0.0))
    assert (c[300:, 0] == c[299, 0]).all()


def test_the_limits_shorten_the_braking_of_a_command_and_of_no_other() -> None:
    near = Command("w", "c", -5.0, V * 299 + 5 * V, rate=2.0)
    both = Command("w2", "c2", -5.0, 5.0, rate=2.0)
    wanted = V * np.arange(400.0)[:, None] * [1.0, 1.0]
    c, _ = ran({300: HOLD}, wanted, (near, both))
    r = np.arange(1, 16) / 15.0  # 3 x 5 ticks
    assert c[300:315, 0] == pytest.approx(c[299, 0] + 5 * V * (1 - (1 - r) ** 3), abs=1e-14)
    assert c[-1, 0] == near.upper and c[-1, 1] == pytest.approx(c[299, 1] + V * 50 / 3)


@pytest.mark.parametrize("order", [HOLD, STOP])
def test_a_pose_brakes_along_its_path(order: int) -> None:
    path = np.array([1.0, -0.5, 0.25])
    commands = tuple(Command(f"w{i}", f"c{i}", -5.0, 5.0, rate=2.0) for i in range(3))
    c, _ = ran({300: order}, V * np.arange(900.0)[:, None] * path, commands)
    assert c == pytest.approx(c[:, :1] * path, abs=1e-15)


def test_a_spike_of_one_tick_is_no_motion() -> None:
    wanted = np.full((400, 1), 0.1)
    wanted[299] = 0.11
    c, _ = ran({300: HOLD}, wanted)
    assert c[299, 0] > 0.1 and (c[300:, 0] == c[299, 0]).all()


def test_braking_takes_its_time_on_the_wall() -> None:
    early = dict.fromkeys(range(301, 331), 0.2 * DT)  # catching up
    c, _ = ran({300: HOLD}, elapsed=early)
    assert c[-1, 0] == pytest.approx(c[299, 0] + V * 50 / 3)
    assert np.abs(np.diff(c[303:331, 0])).max() <= 0.2 * V
    assert (c[340, 0] != c[-1, 0]).all()
