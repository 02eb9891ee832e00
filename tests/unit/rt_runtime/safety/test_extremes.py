"""Numbers at the end of the range: no command that is none, none outside its limits, none that never comes to rest."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rt_runtime import Command, ConfigError, StartStop, _core
from rt_runtime.engine.desk import Desk
from rt_runtime.safety.monitor import STATES, Monitor

DT = 1e-3
NO_ORDER = [0.0] * 4


def test_a_wanted_command_that_overflows_in_a_tick_without_time_holds_the_last_one() -> None:
    far = Command("w", "c", -1e308, 1e307, rate=1e306, measured="x")
    monitor = Monitor([far], ["x"], [], StartStop(soft_start=0.1), dt=DT)
    rows = [[1.7e308, 0.0, elapsed, *NO_ORDER, -9e307] for elapsed in (0.0, 0.0, 0.0, DT, DT)]
    out = np.array([monitor.step(0.0, np.array(row)) for row in rows])
    assert np.isfinite(out).all() and (np.abs(np.diff(out[:, 0])) <= 1e303 * (1 + 1e-9)).all()


def test_the_largest_numbers_neither_jump_nor_last_for_ever() -> None:
    monitor = Monitor([Command("w", "c", -1.0, 1.0, rate=10.0)], [], [], StartStop(soft_start=0.0), dt=DT)
    c = [monitor.step(0.0, np.array([w, 0.0, DT, *NO_ORDER]))[0] for w in (1e300, -1e300, 1.7e308, 0.0, 0.0)]
    assert c == pytest.approx([0.01, 0.0, 0.01, 0.0, 0.0], abs=1e-15)
    hold, resume = [256.0 + 3, 0.0, 0.0, 0.0], [512.0 + 4, 0.0, 0.0, 0.0]
    states = [monitor.step(0.0, np.array([w, 0.0, DT, *word]))[1] for w, word in ((1e300, hold), (1e300, resume))]
    assert [STATES[int(s)] for s in states] == ["holding", "running"]


@pytest.mark.parametrize("rule", [math.nan, -1.0, 1.0, 1e300, math.inf])
def test_an_order_for_a_rule_that_is_none_is_refused(rule: float) -> None:
    loop = _core.Loop(DT, np.zeros(1 + 8 + 5))
    monitor = Monitor([Command("w", "c", -1.0, 1.0, rate=10.0)], [], [], StartStop(), dt=DT)
    loop.add(_core.HostStatus(), [], 1, 1, False)
    loop.add(monitor, [0, 1, 4, 5, 6, 7, 8], 9, 1, False)
    loop.reset()
    loop.order(1, 7, rule, -0.5, 0.5)
    loop.run_exactly(1)
    assert loop.taken & 255 == 5


def test_a_desk_gives_no_order_with_a_number_that_is_none() -> None:
    assert Desk(live=False).order("tune", 0.0, math.nan) == "arguments of 'tune' must be finite"


def test_a_command_too_slow_to_come_to_rest_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"rate of command 'c' must take it through its range within 1e\+06 s"):
        Command("w", "c", -1.0, 1.0, rate=1e-9)


def test_a_tunable_reaches_its_range_exactly() -> None:
    ranges = np.array([[0.1, 0.1, 0.7, 1e9], [0.3, -0.9, 0.3, 0.7]])
    loop = _core.Loop(DT, np.zeros(2))
    block = _core.Tunables(ranges, DT)
    loop.add(block, [], 0, 1, False)
    loop.reset()
    for sequence, (i, value) in enumerate([(0, 9.0), (1, -9.0), (0, -9.0), (1, 9.0)]):
        loop.order(sequence + 1, 9, float(i), value)
        seen = []
        for _ in range(2000):
            loop.run_exactly(1)
            seen.append(loop.bus[i])
        assert min(seen) >= ranges[i, 1] and max(seen) <= ranges[i, 2]
        assert seen[-1] == ranges[i, 2 if value > 0 else 1]
