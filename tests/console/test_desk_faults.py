"""What an operator, a console and a rig may do wrong: lost pages, half messages, files cut short, items of the sheet."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from hmor.console.control import Control
from hmor.console.sheet import BAD, GOOD, TICK, bundle_items, delay_item, rig_item, rule_items, sensor_items
from rt_runtime import Gain, Loop, _core


class FakeDesk:
    """Stands for the running loop: keeps the orders."""

    def __init__(self, state: str) -> None:
        self.state, self.given = state, threading.Event()
        self.orders: list[tuple[str, str, str]] = []

    def order(self, name: str, *, who: str, text: str) -> str:
        self.orders.append((name, who, text))
        self.given.set()
        return ""


@pytest.mark.parametrize(
    ("lost", "state", "expected"),
    [("hold", "running", "hold"), ("ramp", "running", "stop"), ("nothing", "running", "note"), ("hold", "armed", "note"),
     ("ramp", "holding", "stop"), ("ramp", "armed", "stop"), ("hold", "tripped", "note")],
)  # fmt: skip
def test_what_happens_when_the_operators_page_is_gone(tmp_path: Path, lost: str, state: str, expected: str) -> None:
    desk: Any = FakeDesk(state)
    control = Control(desk, tmp_path, {}, lost=lost, lost_after=0.2)
    watching = threading.Thread(target=control._watch)
    watching.start()
    time.sleep(0.3)
    assert desk.orders == []  # nobody has been there yet
    control.answer(b'{"do": "here"}')
    assert desk.given.wait(60)
    control._ending.set()
    watching.join(60)
    assert desk.orders == [(expected, "console", "the operator's page is gone")]  # once


def test_a_loop_that_stood_still_gets_the_order_again(tmp_path: Path) -> None:
    class Stalled(FakeDesk):
        def order(self, name: str, *, who: str, text: str) -> str:
            if len(self.orders) == 2:
                return super().order(name, who=who, text=text)
            self.orders.append((name, who, text))
            return "the loop did not take it in time"

    desk: Any = Stalled("running")
    control = Control(desk, tmp_path, {}, lost="hold", lost_after=0.05)
    watching = threading.Thread(target=control._watch, daemon=True)
    watching.start()
    control.answer(b'{"do": "here"}')
    assert desk.given.wait(20)
    control._ending.set()
    watching.join(60)
    assert [name for name, _, _ in desk.orders] == ["hold"] * 3


def ring(path: Path) -> tuple[_core.LiveRing, _core.Loop]:
    """A live file with one signal, and the loop that fills it."""
    loop = Loop(1000.0)
    loop.constant("one", 1.0)
    loop.signal("twice")
    loop.add("gain", Gain(2.0), inputs=["one"], outputs=["twice"])
    core, names = loop.build()
    live = _core.LiveRing(str(path), [names.index("twice")], 1, 64, 1000.0)
    core.show(live)
    core.reset()
    return live, core


def test_a_live_file_that_is_cut_short_or_foreign_is_refused_and_a_slow_reader_counts_what_it_missed(
    tmp_path: Path,
) -> None:
    live, core = ring(tmp_path / "one.live")
    reader = _core.LiveReader(str(tmp_path / "one.live"))
    core.run_exactly(1000)
    first, buckets = reader.buckets(1, 10_000)
    assert first == 1000 - len(buckets) and len(buckets) == 63 and (buckets == 2.0).all()
    assert reader.dropped == 1000 - 63 and reader.status["frames"] == 1000
    whole = (tmp_path / "one.live").read_bytes()
    for name, content in (("short", whole[:-8]), ("head", whole[:100]), ("none", b""), ("foreign", b"X" + whole[1:])):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(RuntimeError, match="must be one that a running test made, with all its frames"):
            _core.LiveReader(str(tmp_path / name))
    with pytest.raises(RuntimeError, match="cannot be made"):
        _core.LiveRing(str(tmp_path / "one.live"), [0], 1, 64, 1000.0)  # never reused
    live.finish()
    assert reader.status["ended"] == 1


def test_items_of_rig_delay_sensors_rules_and_bundles(tmp_path: Path) -> None:
    assert rig_item({}).result == TICK
    well = {"rig.age": 1.0, "rig.status": 0.0, "rig.state": 1.0, "rig.lost": 3.0}
    assert (rig_item(well).result, rig_item(well).words) == (GOOD, "age 1 ticks, status 0, watchdog state 1, 3 lost")
    assert rig_item(well | {"rig.status": -1.0}).result == rig_item(well | {"rig.age": 500.0}).result == BAD
    assert delay_item({"rig.delay": 0.002}, None).result == TICK
    assert delay_item({"rig.delay": 0.002}, 0.01).words == "measured 2.00 ms, critical 10.00 ms"
    assert (
        delay_item({"rig.delay": 0.002}, 0.01).result == GOOD and delay_item({"rig.delay": 0.006}, 0.01).result == BAD
    )
    rules = [{"name": "a"}, {"name": "b", "reason": "slow"}, {"name": "c", "reason": "slow"}]
    items = rule_items(rules, ["nobody watches x"])
    assert [(i.result, i.words) for i in items] == [
        (TICK, "3 in force; loosened (slow): b, c"), (TICK, "nobody watches x")]  # fmt: skip
    assert rule_items(rules[:1], [])[0].result == GOOD and bundle_items({}, True)[0].words == "the test uses none"
    live, core = ring(tmp_path / "two.live")
    reader, signals = _core.LiveReader(str(tmp_path / "two.live")), [{"name": "twice", "unit": "m"}]
    assert sensor_items(reader, signals, ["twice"]) == []  # nothing has come yet
    core.run_exactly(50)
    (item,) = sensor_items(reader, signals, ["twice", "other"])
    assert item.what == "Sensor twice" and item.words == "offset 2 m, noise 0 m over 50 frames" and item.result == TICK
    del live
