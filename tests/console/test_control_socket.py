"""The control socket of a paced run in this process: orders, refusals, garbage; and the same bits with a console."""

from __future__ import annotations

import contextlib
import io
import json
import socket
import stat
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmor.console.control import LIVE, SOCKET, Control, Telling, short_name
from hmor.console.find import newest, running
from hmor.console.screen import Screen
from hmor.console.sheet import BAD, GOOD, TICK, Item, Sheet, disk_item, share, virtual_item
from hmor.console.text import layout
from rt_runtime import (
    Command,
    ConfigError,
    Desk,
    Drive,
    Loop,
    Pacing,
    Record,
    Rule,
    RunFolder,
    Sensor,
    SimulatedActuator,
    StartStop,
    Status,
    Table,
    Tripped,
    Tunable,
    Tunables,
    _core,
    protect,
    replay,
)

RATE = 500.0


@dataclass
class Test:
    __test__ = False
    control: Control
    loop: Loop
    path: Path
    thread: threading.Thread
    results: list[Record]

    def state(self, name: str) -> None:
        until = time.monotonic() + 60.0
        while self.control.desk.state != name:
            assert time.monotonic() < until
            time.sleep(0.002)


def build() -> Loop:
    loop = Loop(RATE)
    for name in ("position", "rig.age", "rig.status", "wanted", "rig.sent", "gain"):
        loop.signal(name, unit="m")
    actuator = SimulatedActuator([1.0], [0.01, 1.0], dt=1 / RATE)
    loop.add("read", Sensor(actuator), outputs=["position", "rig.age", "rig.status"])
    loop.add(
        "tunables", Tunables([Tunable("gain", 1.0, 0.0, 2.0, rate=100.0)], dt=1 / RATE), outputs=["gain"], timed=False
    )
    loop.add("table", Table(np.linspace(0.0, 600.0, 2), [[0.0], [0.6]]), outputs=["wanted"])
    rules = [Rule.within("stroke", "position", 0.5), Rule("stall", "host.elapsed", upper=60.0)]
    manners = StartStop(soft_start=0.02, soft_stop=0.02, trip=0.02, hold_limit=600.0)
    protect(
        loop,
        [Command("wanted", "command", -1.0, 1.0, rate=5.0, measured="position")],
        rules,
        manners=manners,
        start="operator",
    )
    loop.add("write", Drive(actuator), inputs=["command"], outputs=["rig.sent"])
    return loop


@pytest.fixture
def test(tmp_path: Path) -> Iterator[Test]:
    loop, desk, path, results = build(), Desk(), tmp_path / ("long" * 30) / "run", []
    about = {"rate": RATE, "every": 1, "duration": 600.0, "rules": [r.as_dict() for r in loop.blocks["monitor"].rules],  # type: ignore[attr-defined]
             "signals": [{"name": s.name, "unit": s.unit} for s in loop.signals], "actuator": "the actuator"}  # fmt: skip
    sheet = Sheet([Item("Oil", TICK), Item("Disk", GOOD)])

    def body() -> None:
        try:
            results.append(
                loop.run(
                    600.0, paced=True, pacing=Pacing(priority=0, lock_memory=False), folder=RunFolder(path), desk=desk
                )
            )
        except Tripped as trip:
            results.append(trip.record)

    thread = threading.Thread(target=body)
    with Control(desk, path, about, sheet=sheet, tunables=[Tunable("gain", 1.0, 0.0, 2.0, rate=100.0)]) as control:
        thread.start()
        made = Test(control, loop, path, thread, results)
        try:
            made.state("checked")
            until = time.monotonic() + 60.0
            while not (path / LIVE).is_file():
                assert time.monotonic() < until
                time.sleep(0.01)
            yield made
        finally:
            desk.order("trip")
            thread.join(60)
    assert not (path / SOCKET).exists() and not (path / LIVE).exists()
    assert desk.path is not None and not desk.path.exists()


def test_orders_are_followed_refused_kept_and_replayed_bit_for_bit(test: Test) -> None:
    assert running(test.path.parent) == test.path == newest(test.path)
    mode = stat.S_IMODE((test.path / SOCKET).stat().st_mode)
    assert mode == 0o600 and stat.S_IMODE((test.path / LIVE).stat().st_mode) == 0o600
    live = Path(json.loads((test.path / LIVE).read_text())["live"])
    assert stat.S_IMODE(live.stat().st_mode) == 0o600 and stat.S_IMODE(live.parent.stat().st_mode) == 0o700
    reader = _core.LiveReader(str(live))
    with Telling(test.path) as tell:
        assert tell.ask("arm")["why"] == "the pre-test sheet is not complete: Oil"
        assert tell.ask("tick", {"item": 1})["why"] == "'Disk' is not for ticking: it is good"
        assert tell.ask("tick", {"item": 0})["ok"] and tell.ask("arm")["ok"]
        assert "armed" in tell.ask("arm")["why"]
        assert tell.ask("start")["ok"]
        test.state("running")
        assert tell.ask("tune", {"name": "gain", "value": 1.5})["ok"]
        assert "between 0 and 2" in tell.ask("tune", {"name": "gain", "value": 7})["why"]
        assert "no tunable" in tell.ask("tune", {"name": "x", "value": 7})["why"]
        assert tell.ask("limit", {"rule": "stroke", "upper": 0.4})["ok"]
        assert "widened only before" in tell.ask("limit", {"rule": "stroke", "upper": 0.45})["why"]
        assert "no rule" in tell.ask("limit", {"rule": "x"})["why"]
        assert tell.ask("hold")["ok"] and tell.ask("look")["state"] == "holding"
        assert tell.ask("resume")["ok"] and tell.ask("note", {"text": "seen"})["ok"]
        assert tell.ask("note")["why"] == "'text' of 'note' is missing"
        look = tell.ask("look")
        assert look["rules"][0][3:5] == [-0.5, 0.4] and look["wake_us"] > 0
        shown = Screen({"rate": RATE, "duration": 600.0, **test.control.about}, tell.ask)
        assert shown.key("?") is None and (shown.key(" ") or {})["ok"]
        test.state("holding")
        first, buckets = reader.buckets(5, 10_000)
        assert first >= 0 and buckets.shape[1:] == (len(test.loop.signals), 2) and np.isfinite(buckets).all()
        assert tell.ask("stop")["ok"]
    test.thread.join(60)
    record = test.results[0]
    assert "Stopped by the operator" in record.ended and reader.status["ended"] == 1
    assert record["gain"][0] == 1.0 and record["gain"][-1] == 1.5
    assert replay(build(), record).values.tobytes() == record.values.tobytes()
    kept = json.loads((test.path / "run.json").read_text())["operator"]
    assert [k["do"] for k in kept if "refused" not in k] == [
        "arm", "start", "tune", "limit", "hold", "resume", "note", "hold", "stop"]  # fmt: skip
    codes = record["host.order"].astype(int)
    assert len(set(codes.tolist())) - 1 == len(kept)  # each order is on the bus


@pytest.mark.parametrize("line", [b"\n", b"[]\n", b"{}\n", b'{"do": 3}\n', b'{"do": "fly"}\n', b"\xff\xfe\n", b"[" * 3000 + b"\n",
                                  b'{"do": "limit", "rule": "stroke", "upper": "x"}\n', b'{"do": "tick", "item": null}\n'])  # fmt: skip
def test_garbage_is_answered_with_a_refusal(test: Test, line: bytes) -> None:
    answer = test.control.answer(line)
    assert answer["refused"] and answer["why"]


def test_a_line_that_never_ends_and_many_connections_do_no_harm(test: Test) -> None:
    def connect() -> socket.socket:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with short_name(test.path / SOCKET) as name:
            client.connect(name)
        return client

    flood = connect()
    flood.sendall(b"x" * 5000)
    flood.settimeout(30.0)
    with contextlib.suppress(ConnectionResetError):
        assert flood.recv(10) == b""  # hung up
    flood.close()
    half = connect()
    half.sendall(b'{"do": "tri')
    half.close()
    crowd = [connect() for _ in range(40)]
    for client in crowd:
        client.close()
    assert test.control.desk.state == "checked"
    until = time.monotonic() + 30
    while True:
        try:
            with Telling(test.path) as tell:
                assert tell.ask("look")["state"] == "checked"
                break
        except ConfigError:
            assert time.monotonic() < until
            time.sleep(0.05)


def test_the_text_view_shows_state_rules_events_and_the_keys_that_are_legal(test: Test) -> None:
    from rich.console import Console

    console = Console(width=160, record=True, file=io.StringIO())
    look: dict[str, Any] = test.control.ask("look")
    console.print(layout(test.control.about, look, Status(10, 100, 3, "checked", 0, False)))
    text = console.export_text()
    for words in (
        "CHECKED",
        "missed 3",
        "pre-test sheet",
        "[1]",
        "stroke",
        "±0.5",
        "a arm",
        "T trip",
        "no safety function",
    ):
        assert words in text
    assert "r resume" not in text


def test_nobody_there() -> None:
    with pytest.raises(ConfigError, match="No test is running in"):
        Telling(Path("/tmp"))
    with pytest.raises(ConfigError, match="No test runs in /proc/self or below it; start one with"):
        running(Path("/proc/self"))


def test_items_of_the_sheet(tmp_path: Path) -> None:
    assert disk_item(tmp_path, 10, 1000.0, 1.0).result == GOOD and disk_item(tmp_path, 10**9, 1e6, 1e6).result == BAD
    assert (
        share(-1.0, 2.0, -4.0, 4.0) == 0.5
        and share(0.0, 3.0, -np.inf, 4.0) == 0.75
        and share(0.0, 0.0, 0.0, np.inf) == 0.0
    )
    record = Record(np.zeros(0), np.zeros((0, 0)), (), 1000.0, 0)
    words = virtual_item(lambda: (record, [("a", -1.0, 1.0, -2.0, 2.0), ("b", 0.0, 3.0, -np.inf, 4.0)])).words
    assert words == "finished; nearest to their limits: b 3 of at most 4 (75 %), a 1 of ±2 (50 %)"
    assert virtual_item(lambda: (record, [("a", -1.9, 1.0, -2.0, 2.0)])).result == TICK
    assert virtual_item(lambda: (Record(np.zeros(0), np.zeros((0, 0)), (), 1000.0, 0, "Tripped."), [])).result == BAD
