"""An order that the loop does not take in time: withdrawn or, if it only stops, still posted; the list of orders is true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rt_runtime import StartStop, _core
from rt_runtime.engine import desk as desk_module
from rt_runtime.engine.desk import Desk
from rt_runtime.safety.monitor import HOST, STATES, Command, Monitor

DT = 1e-3


class Stalled:
    """A loop that ticks only when it is told to, with a desk that waits 20 ms for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(desk_module, "TAKEN_WITHIN", 0.02)
        manners = StartStop(soft_start=0.0, hold_limit=9.0)
        self.monitor = Monitor([Command("w", "c", -5.0, 5.0, rate=1000.0)], [], [], manners, dt=DT, start="operator")
        self.core = _core.Loop(DT, np.eye(1, 1 + len(HOST) + 5)[0])  # wants 1 m
        self.core.add(_core.HostStatus(), [], 1, 1, False)
        self.core.add(self.monitor, [0, 1, 4, 5, 6, 7, 8], 9, 1, False)
        self.core.reset()
        self.core.run_exactly(1)
        self.desk = Desk(live=False)
        self.desk.open(self.core, [], 1.0 / DT, 1, self.monitor)
        run: Any = self
        self.desk.begin(run)

    @property
    def tick(self) -> int:
        return self.core.tick

    @property
    def state(self) -> int:
        return int(self.core.bus[10])

    def ticks(self, n: int = 1) -> str:
        self.core.run_exactly(n)
        return STATES[self.state]

    def reach(self, *names: str) -> str:
        """Let the loop follow these orders."""
        for n, name in enumerate(names):
            self.core.order(1000 + n, desk_module.ORDERS.index(name))
            self.ticks(2)
        return self.ticks()


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Stalled:
    return Stalled(monkeypatch)


@pytest.mark.parametrize(
    ("before", "name", "state"),
    [((), "arm", "checked"), (("arm",), "start", "armed"), (("arm", "start", "hold"), "resume", "holding")],
)
def test_what_sets_things_in_motion_never_acts_late(
    loop: Stalled, before: tuple[str, ...], name: str, state: str
) -> None:
    assert loop.reach(*before) == state
    assert loop.desk.order(name, who="anna") == "the loop did not take it in time, and it was withdrawn"
    assert loop.ticks(50) == state
    kept = loop.desk.orders[-1]
    assert (kept["do"], kept["who"]) == (name, "anna") and "withdrawn" in kept["refused"] and "late" not in kept


@pytest.mark.parametrize(("name", "state"), [("hold", "holding"), ("stop", "ramping"), ("trip", "tripped")])
def test_what_stops_stays_posted_and_is_kept_as_late(loop: Stalled, name: str, state: str) -> None:
    assert loop.reach("arm", "start") == "running"
    assert "it stays posted" in loop.desk.order(name)
    assert "it stays posted" in loop.desk.orders[-1]["refused"]
    assert loop.ticks() == state
    loop.desk.close()
    assert loop.desk.orders[-1]["late"] and "refused" not in loop.desk.orders[-1]


def test_a_limit_that_was_withdrawn_leaves_the_limit_and_its_numbers_alone(loop: Stalled) -> None:
    assert "withdrawn" in loop.desk.order("limit", 0.0, -0.1, 0.1)
    loop.ticks(5)
    assert loop.core.bus[5:9].tolist() == [0.0] * 4


def test_only_a_worse_order_takes_the_place_of_a_posted_one(loop: Stalled) -> None:
    assert loop.reach("arm", "start") == "running"
    assert "stays posted" in loop.desk.order("stop")
    for name in ("hold", "stop", "resume", "note"):
        assert loop.desk.order(name) == "the loop has not taken 'stop' yet"
    assert "stays posted" in loop.desk.order("trip")
    assert loop.ticks() == "tripped"
    assert loop.desk.order("resume") == "the loop did not take it in time, and it was withdrawn"
    stop, trip, resume = loop.desk.orders
    assert stop["refused"] == "the loop did not take it in time, and 'trip' took its place"
    assert trip["late"] and "refused" not in trip and resume["do"] == "resume"


def test_a_test_that_ends_first_says_so(loop: Stalled) -> None:
    assert loop.reach("arm", "start") == "running"
    assert "stays posted" in loop.desk.order("stop")
    loop.desk.close()
    assert loop.desk.orders[-1]["refused"] == "the test ended before the loop took it"
    assert loop.desk.order("trip") == "the test is not running"


def test_an_order_that_the_loop_has_cannot_be_withdrawn(loop: Stalled) -> None:
    loop.core.order(7, 1)
    assert loop.core.withdraw() and not loop.core.withdraw()
    loop.core.order(8, 1)
    loop.ticks()
    assert not loop.core.withdraw() and loop.core.taken >> 8 == 8 and loop.ticks() == "armed"
