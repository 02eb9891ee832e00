"""What the desk says: lamps, sentences, the text view and its keys, and the report of a run."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from hmor.console.lamps import OURS, lamps, watched_signals
from hmor.console.screen import Screen, watch
from hmor.console.text import View, layout, result_view
from hmor.console.words import interval, told
from hmor.report.run import run_report
from mor import ParameterSpace, Uniform, fit_pce
from rt_runtime import (
    Command,
    ConfigError,
    Loop,
    Rule,
    RunFolder,
    Signal,
    StabilityWarning,
    StartStop,
    Status,
    Table,
    Tripped,
    load_bundle,
    protect,
)
from rt_runtime.engine.pacing import STATES
from tests.fixtures.desk import Page, chromium

RUNNING = {"ended": 0, "state": STATES.index("running"), "missed": 0, "lost": 0}
RULES = [
    {"name": "stroke", "signal": "x", "quantity": "value", "lower": -0.5, "upper": 0.5, "action": "hold"},
    {"name": "stall", "signal": "host.elapsed", "quantity": "value", "upper": 0.1, "action": "trip"},
    {"name": "speed", "signal": "x", "quantity": "rate", "lower": -2.0, "action": "warn"},
]


@pytest.mark.parametrize(
    ("status", "seen", "expected"),
    [
        ({}, {}, [["good", "recording"], ["good", "0 missed, wake p99 30 µs"]]),
        ({"missed": 3, "lost": 2}, {}, [["bad", "2 frames not recorded"], ["warn", "3 missed, wake p99 30 µs"]]),
        ({"ended": 1}, {}, [["off", "record closed"], ["good", "0 missed, wake p99 30 µs"]]),
        ({}, {"rig.age": (0, 2), "rig.status": (0, 0)}, [["good", "rig answers"]]),
        ({}, {"rig.age": (0, 2), "rig.status": (0, 0), "rig.lost_recently": (0, 5)}, [["warn", "rig answers"]]),
        ({}, {"rig.age": (0, 70), "rig.status": (0, 0)}, [["bad", "rig silent for 70 ticks"]]),
        ({}, {"rig.age": (0, 2), "rig.status": (-1, 0)}, [["bad", "rig reports an error"]]),
        ({"ended": 1}, {"rig.age": (0, 70), "rig.status": (0, 0)}, [["off", "rig released"]]),
        ({}, {"sw": (0.0, 0.4)}, [["good", "stability"]]),
        ({}, {"sw": (0.0, 0.7)}, [["warn", "stability"]]),
        ({}, {"sw": (0.0, 1.2)}, [["bad", "loop gains energy"]]),
        ({}, {"u": (-1.0, 1.0)}, [["good", "model in its domain"]]),
        ({}, {"u": (-3.0, 1.0)}, [["bad", "model outside its domain: u"]]),
        ({"state": STATES.index("armed")}, {"u": (-3.0, 1.0)}, [["off", "model outside its domain: u"]]),
        ({}, {"u": (np.nan, np.nan)}, [["bad", "u is no number"]]),
    ],
)
def test_lamps(status: dict[str, int], seen: dict[str, Any], expected: list[list[str]]) -> None:
    about = {"stability": ["sw"], "domain": [{"signal": "u", "lower": -2.0, "upper": 2.0}]}
    found = lamps(about, RUNNING | status, seen, 30.0)
    assert all(lamp in found for lamp in expected)


def test_lamps_look_at_stability_warnings_and_inputs_of_reduced_models(tmp_path: Path) -> None:
    from export import write
    from mor import Dataset

    points = np.linspace(-2.0, 2.0, 30)[:, None]
    space = ParameterSpace({"u": Uniform(-2.0, 2.0)})
    write(fit_pce(Dataset(points, points**2, {"u": ""}, {"y": "N"}), space, degree=2), tmp_path / "square")
    bundle = load_bundle(tmp_path / "square")
    loop = Loop(100.0)
    for name in ("u", "v", "y", "sw", "work", "lost"):
        loop.signal(name)
    loop.add("table", Table([0.0, 1.0], [[0.0, 0.0], [1.0, 1.0]]), outputs=["u", "v"])
    loop.add("rom", bundle.block(), inputs=["u"], outputs=["y"])
    energy = StabilityWarning([[1.0]], [[1.0]], margin=1.0)
    loop.add("energy", energy, inputs=["u", "v", "y"], outputs=["sw", "work", "lost"])
    found = watched_signals(loop, ("u", "y", "sw"))
    assert found["stability"] == ["sw"]
    assert [(port["signal"], port["lower"], port["upper"]) for port in found["domain"]] == [("u", -2.0, 2.0)]
    assert watched_signals(loop, ("y",)) == {"stability": [], "domain": []}


def test_signals_of_the_program_are_told_from_those_of_the_test() -> None:
    ours = ["host.late", "monitor.state", "rig.age", "left.lost_recently", "position.doubt", "force.energy"]
    assert all(OURS.search(name) for name in ours)
    assert not any(OURS.search(name) for name in ("position", "frame.x_1", "energy", "state", "hosts.x"))


def test_events_and_orders_in_sentences() -> None:
    assert [interval(*pair) for pair in ((-2.0, 2.0), (None, 3.0), (0.0, None), (1.0, 4.0), (None, None))] == [
        "±2", "at most 3", "at least 0", "1 to 4", "no limit"]  # fmt: skip
    event = {"tick": 30, "time": 0.03, "rule": "stroke", "action": "hold", "state": "holding", "value": 0.6}
    events = [
        event | {"state": "running"},  # in the tick in which it leads to a hold
        event,
        event | {"tick": 10, "time": 0.01, "rule": "speed", "action": "warn", "state": "running", "value": -3.0},
        event | {"tick": 40, "time": 0.04, "rule": "", "action": "none", "state": "running"},
        event | {"tick": 50, "time": 0.05, "rule": "stall", "action": "trip", "state": "tripped", "value": 0.25},
        event | {"tick": 60, "time": 0.06, "rule": "operator", "action": "none", "state": "ramping"},
    ]
    orders = [{"tick": 20, "time": 0.02, "do": "note", "who": "shell", "text": "seen"},
              {"tick": 45, "time": 0.045, "do": "start", "who": "operator", "refused": "no"}]  # fmt: skip
    tighter = {
        "tick": 25,
        "time": 0.025,
        "do": "limit",
        "who": "operator",
        "arguments": [0.0, -0.4, sys.float_info.max],
    }
    assert told([event], [tighter], RULES)[1][2].endswith("x is 0.6, allowed at least -0.4; the command is held.")
    assert told([event], [tighter | {"refused": "no"}], RULES)[1][2].endswith("allowed ±0.5; the command is held.")
    at_once = tighter | {"tick": 32, "time": 0.032, "arguments": [0.0, -0.4, 0.4]}  # is written down two ticks later
    assert told([event | {"value": 0.45}], [at_once], RULES)[0][2].endswith(
        "x is 0.45, allowed ±0.4; the command is held."
    )
    assert told([event], [at_once], RULES)[0][2].endswith("x is 0.6, allowed ±0.5; the command is held.")
    assert told(events, orders, RULES) == [
        [10, "monitor", "0.010 s  Rule 'speed' (warn): rate of x is -3, allowed at least -2; the test runs.", ""],
        [20, "operator", "0.020 s  Shell: note: seen.", ""],
        [30, "monitor", "0.030 s  Rule 'stroke' (hold): x is 0.6, allowed ±0.5; the command is held.", "stroke"],
        [40, "monitor", "0.040 s  The test runs: the rules hold again.", ""],
        [45, "operator", "0.045 s  Operator: start, refused: no.", ""],
        [50, "host", "0.050 s  Rule 'stall' (trip): host.elapsed is 0.25, allowed at most 0.1; the test has tripped.", "stall"],
        [60, "monitor", "0.060 s  The command goes to rest: by the operator.", ""],
    ]  # fmt: skip


ABOUT: dict[str, Any] = {
    "rate": 1000.0, "duration": 20.0, "actuator": "the actuator", "rules": RULES,
    "signals": [{"name": "x", "unit": "m", "ours": False}, {"name": "rig.age", "unit": "", "ours": True}],
    "commands": [{"name": "command", "lower": -1.0, "upper": 1.0, "rate": 1.0}],
}  # fmt: skip
LOOK: dict[str, Any] = {
    "state": "running", "sheet": None, "orders": [], "wake_us": 30.0,
    "events": [{"tick": 30, "time": 0.03, "rule": "stroke", "action": "hold", "state": "holding", "value": 0.6}],
    "rules": [[0.6, -0.1, 0.6, -0.5, 0.5, True], [0.001, 0.0, 0.002, None, 0.1, False], [None, None, None, -2.0, None, False]],
}  # fmt: skip


def printed(view: Any) -> str:
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(view)
    return console.export_text()


def test_the_text_view_has_what_the_page_has() -> None:
    seen = {"x": (-0.1, 0.6), "command": (-0.5, 0.25)}
    view = View([["good", "rig answers"], ["bad", "loop gains energy"]], seen)
    text = printed(layout(ABOUT, LOOK, Status(3000, 20000, 0, "running", 0, False, 1999), view))
    for words in ("RUNNING", "test time 2.00 of 20 s", "● rig answers", "■ loop gains energy", "x       -0.1  0.6  m",
                  "command  0.25", "##########..........", "stroke", "120 %  BROKEN", "no number", "Rule 'stroke' (hold)",
                  "space hold, q stop, T trip, n note, l limit, Ctrl-C soft stop", "no safety function"):  # fmt: skip
        assert words in text, words
    assert text.index("command ") < text.index("stroke") < text.index("stall")  # commands, then what is broken
    assert "note: half a wo_" in printed(layout(ABOUT, LOOK, None, View(line="note: half a wo_")))


def test_the_keys_of_the_terminal_give_the_orders_of_the_page() -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    def ask(do: str, arguments: dict[str, Any]) -> dict[str, Any]:
        asked.append((do, arguments))
        return {"refused": True, "why": "not now"} if do == "start" else {"ok": True}

    screen = Screen(ABOUT, ask)
    for key in (
        "a?aaqs" + "nnot so\x7f\x7fe\x1b" + "na note\n" + "lstroke -0.4 -\n" + "k3 12\n" + "2" + "lstroke\n" + "T"
    ):
        screen.key(key)
    who = {"who": "keyboard"}
    assert asked == [
        ("arm", who), ("stop", who), ("start", who), ("note", who | {"text": "a note"}),
        ("limit", who | {"rule": "stroke", "lower": -0.4, "upper": None}),
        ("tick", {"item": 2}), ("tick", {"item": 11}), ("tick", {"item": 1}), ("trip", who),
    ]  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A test that tripped, with everything that run.json may hold."""
    loop = Loop(1000.0)
    for name, unit in (("position", "m"), ("force", "N"), ("wanted", "m")):
        loop.signal(name, unit=unit)
    t = np.linspace(0.0, 1.0, 101)
    wave = 0.01 * np.sin(6.0 * t)
    loop.add("table", Table(t, np.column_stack([wave, 1e5 * wave, wave])), outputs=["position", "force", "wanted"])
    rules = [Rule.within("<b>stroke</b>", "position", 0.0095)]
    manners = StartStop(soft_start=0.0, soft_stop=0.05, trip=0.05)
    protect(loop, [Command("wanted", "command", -0.1, 0.1, rate=1.0)], rules, manners=manners)
    with pytest.raises(Tripped):
        loop.run(1.0, folder=RunFolder(tmp_path / "run"))
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    about |= {"study": "spring", "who": "an engineer", "started": "2026-01-02T03:04:05+00:00", "duration_s": 1.0,
              "sheet": [{"what": "Oil <i>", "result": "tick", "words": "seen", "done": True},
                        {"what": "Disk", "result": "bad", "words": "full", "done": False}],
              "operator": [{"tick": 10, "time": 0.01, "do": "note", "who": "operator", "text": "<script>"}],
              "bundles": {"damper": "ab" * 32},
              "margins": [[0.0, -0.001, 0.0096, -0.0095, 0.0095], *[[0.0, None, None, None, None]] * (len(about["rules"]) - 1)]}  # fmt: skip
    (tmp_path / "run" / "run.json").write_text(json.dumps(about))
    study = '[run.tracking]\ntarget = "wanted"\nmeasured = "position"\n'
    (tmp_path / "run" / "study.toml").write_text(study)
    return tmp_path / "run"


def test_the_report_of_a_run_is_complete_and_prints_on_few_pages(run: Path) -> None:
    import hashlib

    page = run_report(run)
    text = page.read_text()
    digest = hashlib.sha256((run / "study.toml").read_bytes()).hexdigest()
    for words in ("by an engineer", "begun 2026-01-02", "exceeds its limit 0.0095 m", "Oil &lt;i&gt;", "ticked", "NOT in order",
                  "Operator: note: &lt;script&gt;", "J1, delay", "J2, root mean square", "J3, peak", "without a clock", "101 %",
                  "force over position", "Work done on the specimen", " J.", digest, "ab" * 32, "numpy", "±0.0095"):  # fmt: skip
        assert words in text, words
    assert "<script" not in text and "<b>stroke" not in text
    with chromium() as browser:
        shown = Page.open(browser, page.as_uri(), width=1000, height=900)
        assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth") and shown.problems == []
        pdf = shown.page.pdf(format="A4")
        assert pdf.startswith(b"%PDF") and 1 <= pdf.count(b"/Type /Page\n") <= 6
    with pytest.raises(ConfigError, match=r"must hold run\.json"):
        run_report(run.parent)


def test_a_run_that_has_ended_as_text(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watch(run)
    text = capsys.readouterr().out
    assert "exceeds its limit" in text and "J2_percent" in text and "Operator: note: <script>." in text
    text = printed(result_view("Finished.", {"ticks": 3}, [["x", -1.0, 2.0, "m"]], []))
    assert "Finished." in text and "-1" in text and "events" not in text


def test_a_signal_says_whether_it_is_ours() -> None:
    from hmor.console.lamps import described

    assert described([Signal("x", "m", 0.0), Signal("rig.age", "", 0.0)]) == [
        {"name": "x", "unit": "m", "ours": False}, {"name": "rig.age", "unit": "", "ours": True}]  # fmt: skip
