"""[run.actuators] of a study: several rigs by name, their commands, blocks behind the monitor; the bridge on two boxes."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hmor.console.sheet import rig_item
from hmor.console.station import describe, virtual_run
from hmor.console.summary import measured_signals
from hmor.studies.base import Options, ground_motion
from hmor.studies.multi_axial.curved_bridge import BOXES, CASES, POSE_LIMITS, POSE_SPEEDS, build
from hmor.study.file import Study, load_study
from hmor.study.stages.execute import prepare_study
from rt_runtime import ConfigError, Loop, Rule, Tripped
from rt_runtime.safety.watches import unwatched

TWO_SPRINGS = """
[study]
name = "two_springs"

[run]
loop = "springs:wanted"
rate = 1000.0
duration = 0.3
paced = false

commands = [
  { wanted = "wanted_1", name = "c1", lower = -0.02, upper = 0.02, rate = 1.0, measured = "x1" },
  { wanted = "wanted_2", name = "c2", lower = -0.02, upper = 0.02, rate = 1.0, measured = "x2" },
]

[run.actuators.north]
kind = "udp"
rig = "spring"
measured = { x1 = "m", f1 = "N" }
commands = ["c1"]

[run.actuators.south]
kind = "udp"
rig = "spring"
measured = { x2 = "m", f2 = "N" }
commands = ["c2"]
"""
SPRINGS = """
from rt_runtime import Fade, Gain, Rule, Table

def wanted(loop, bundles, settings):
    loop.signal("wanted[2]", unit="m")
    loop.add("target", Table([0.0, 0.3], [[0.0, 0.0], [0.003, -0.006]]), outputs=["wanted[2]"])
    return [Rule.within("f2_limit", "f2", settings.get("most", 1e3))]

def early(loop, bundles, settings):
    wanted(loop, bundles, settings)
    loop.signal("e", unit="m")
    loop.add("early", Gain(1.0), inputs=["wanted_1"], outputs=["e"])

def late(loop, settings):
    loop.signal("e", unit="m")
    loop.add("late", Gain(1.0), inputs=["c1"], outputs=["e"])

def mixed(loop, settings):
    loop.signal("e", unit="m")
    loop.signal("half", unit="m")
    loop.add("half", Gain(0.5), inputs=["wanted_2"], outputs=["half"])
    loop.add("mixed", Gain([[1.0, 1.0]]), inputs=["c1", "half"], outputs=["e"])

def passed_on(loop, bundles, settings):
    loop.signal("copy", unit="m")
    rules = wanted(loop, bundles, settings)
    loop.add("copy", Gain(1.0), inputs=["wanted_2"], outputs=["copy"], timed=False)
    return rules

def copied(loop, settings):
    loop.signal("e", unit="m")
    loop.add("mixed", Gain([[1.0, 1.0]]), inputs=["c1", "copy"], outputs=["e"])

def played(loop, settings):
    loop.signal("e", unit="m")
    loop.signal("dance", unit="m")
    loop.add("dance", Table([0.0, 0.3], [0.0, 0.003]), outputs=["dance"])
    loop.add("mixed", Gain([[1.0, 1.0]]), inputs=["c1", "dance"], outputs=["e"])

def faded(loop, settings, state="monitor.state"):
    loop.signal("e", unit="m")
    loop.signal("half", unit="m")
    loop.add("half", Fade(1, duration=0.05, dt=1e-3), inputs=["wanted_2", state], outputs=["half"])
    loop.add("mixed", Gain([[1.0, 1.0]]), inputs=["c1", "half"], outputs=["e"])

def never_faded(loop, settings):
    loop.constant("one", 3.0)
    faded(loop, settings, "one")

def fed_back(loop, settings):
    loop.signal("e", unit="m")
    loop.signal("beside", unit="m")
    loop.add("beside", Gain(1.0), inputs=["wanted_2"], outputs=["beside"])
    loop.add("mixed", Gain([[1.0, -0.1]]), inputs=["c1", "x1"], outputs=["e"])

def past(loop, settings):
    loop.signal("e", unit="m")
    loop.add("past", Gain(1.0), inputs=["wanted_1"], outputs=["e"])

def fixed(loop, settings):
    loop.constant("e", 0.01, unit="m")
"""


def study(tmp_path: Path, **changes: str) -> Study:
    text = TWO_SPRINGS
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "springs.py").write_text(SPRINGS)
    (tmp_path / "study.toml").write_text(text)
    return load_study(tmp_path / "study.toml")


def test_each_rig_has_its_signals_its_rules_and_its_commands(tmp_path: Path) -> None:
    prepared = prepare_study(study(tmp_path))
    names = {rule["name"] for rule in prepared.rules()}
    assert {"north_stale", "south_stale", "north_two_rigs", "south_status", "f2_limit"} <= names
    record = prepared.loop.run(0.3)
    assert record.ended == "finished"
    assert record["f1"].max() > 100.0 and record["f2"].min() < -200.0
    about = describe(study(tmp_path), prepared)
    assert about["rigs"] == ["north", "south"] and about["measured"] == ["x1", "f1", "x2", "f2"]
    assert rig_item({"south.age": 0.0, "south.status": -4.0}, "south").what == "Rig answers: south"
    record, peaks = virtual_run(study(tmp_path))
    assert record.ended == "finished" and "f2_limit" in [peak[0] for peak in peaks]


def test_a_rule_of_the_loop_function_on_one_rig_takes_both_to_rest(tmp_path: Path) -> None:
    changed = study(tmp_path, most=("rate = 1000.0", "rate = 1000.0\nsettings = { most = 100.0 }"))
    with pytest.raises(Tripped, match="rule 'f2_limit'") as trip:
        prepare_study(changed).loop.run(0.3)
    record = trip.value.record
    assert record["c1"][-1] == record["c2"][-1] == 0.0 and record["c1"].max() > 1e-4


BOTH = (
    "[run.actuators.north]",
    '[run.actuator]\nkind = "udp"\nrig = "spring"\nmeasured = { a = "m" }\n\n[run.actuators.north]',
)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (*BOTH, "must have either actuator or actuators"),
        ('commands = ["c2"]', "", "actuators.south must have commands, the signals that are sent to it"),
        ('commands = ["c2"]', 'commands = ["c1"]', "'c1' must go to one actuator, got north and south"),
        ('commands = ["c2"]', 'commands = ["e"]', "command 'c2' must go to an actuator or to a block behind the monitor"),
        ("actuators.south", "actuators.host", "an actuator must have a name like box1, and not host or monitor"),
        ('rig = "spring"', 'rig = "spring"\nprotocol = 3', "protocol"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused_in_words(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        study(tmp_path, change=(old, new))


def test_nothing_is_sent_that_comes_from_before_the_monitor(tmp_path: Path) -> None:
    sent = ('commands = ["c1"]', 'commands = ["e"]')
    behind = ('loop = "springs:wanted"', 'loop = "springs:early"\nbehind = "springs:late"')
    with pytest.raises(
        ConfigError, match="Signal 'e' of actuator 'north' must come from the monitor or from a block behind"
    ):
        prepare_study(study(tmp_path, sent=sent, behind=behind))
    right = ('loop = "springs:wanted"', 'loop = "springs:wanted"\nbehind = "springs:late"')
    prepared = prepare_study(study(tmp_path, sent=sent, behind=right))
    assert np.array_equal((record := prepared.loop.run(0.3))["e"], record["c1"])
    for name in ("past", "fixed"):  # no trip would reach the actuator
        around = ('loop = "springs:wanted"', f'loop = "springs:wanted"\nbehind = "springs:{name}"')
        with pytest.raises(
            ConfigError, match="Signal 'e' of actuator 'north' must be made of a command of the monitor"
        ):
            prepare_study(study(tmp_path, sent=sent, behind=around))
    refused = {
        "mixed": ("wanted", "half", "wanted_2"),
        "never_faded": ("wanted", "half", "wanted_2"),
        "copied": ("passed_on", "mixed", "copy"),  # timed=False makes it no measured signal
        "played": ("wanted", "mixed", "dance"),  # a table plays on, on whichever side of the monitor
    }
    for name, (before, block, signal) in refused.items():
        around = ('loop = "springs:wanted"', f'loop = "springs:{before}"\nbehind = "springs:{name}"')
        words = f"Block '{block}' behind the monitor must not make a command of '{signal}', which a block of the test"
        with pytest.raises(ConfigError, match=words):
            prepare_study(study(tmp_path, sent=sent, behind=around))
    for name in (
        "faded",
        "fed_back",
    ):  # a trip ends the first, the second is measured; what is not sent may be anything
        around = ('loop = "springs:wanted"', f'loop = "springs:wanted"\nbehind = "springs:{name}"')
        trips = ("rate = 1000.0", "rate = 1000.0\nsettings = { most = 100.0 }")
        with pytest.raises(Tripped, match="rule 'f2_limit'") as trip:
            prepare_study(study(tmp_path, sent=sent, behind=around, most=trips)).loop.run(0.3)
        assert abs(trip.value.record["e"][-1]) < 1e-5 < np.abs(trip.value.record["e"]).max()
    unknown = (', measured = "x1"', "")
    with pytest.raises(ConfigError, match="Command 'c1' must name the signal that says where its actuator stands"):
        prepare_study(study(tmp_path, sent=sent, behind=right, unknown=unknown))


def test_a_rig_of_protocol_1_is_named_among_what_is_not_watched(tmp_path: Path) -> None:
    changed = study(tmp_path, old=('rig = "spring"\nmeasured = { x1', 'rig = "spring"\nprotocol = 1\nmeasured = { x1'),
                    clock=("paced = false", "paced = true"))  # fmt: skip
    words = unwatched(prepare_study(changed).loop)
    assert any("rig 'north'" in line and "protocol 1" in line for line in words)
    assert not any("rig 'south'" in line for line in words)


# The curved bridge on two rigs


def bridge(**run: Any) -> Study:
    return load_study("curved_bridge_test", changes={"run": run})


def test_the_bridge_on_two_rigs_is_the_virtual_test_bit_for_bit() -> None:
    quiet = {f"box{i}": {"rig": f"hmor.studies.multi_axial.bridge_rigs:quiet_box{i}"} for i in BOXES}
    record = prepare_study(bridge(paced=False, actuators=quiet)).loop.run(5.0)
    options = Options(settings={"noise": 0.0, "guarded": True})
    virtual = build(CASES["state"], ground_motion(Options(), scale=0.5), {}, options).run(5.0)
    for prefix in BOXES.values():
        for name in ("target[6]", "guarded[6]", "measured[6]", "command[6]", "cell[6]"):
            assert np.array_equal(record[prefix + name][:5000], virtual[prefix + name][:5000]), prefix + name


def test_the_poses_of_the_study_have_the_limits_of_the_virtual_test() -> None:
    section = bridge(paced=False).run
    assert section is not None
    limits = [(c.upper, c.rate) for c in section.commands]
    assert limits == list(zip(POSE_LIMITS, POSE_SPEEDS, strict=True)) * 2
    assert measured_signals({"actuators": {"box1": {"measured": {"box1.cell[6]": "N"}}}})[-1] == "box1.cell_6"


PATIENT = [
    {"name": "stall", "signal": "host.elapsed", "upper": 5.0, "reason": "a busy machine"},
    *({"name": f"box{i}_{what}", "signal": f"box{i}.{of}", "upper": upper, "reason": "a busy machine"}
      for i in BOXES for what, of, upper in (("stale", "age", 400.0), ("lost_answers", "lost_recently", 1e3))),
]  # fmt: skip


def paced_bridge(tmp_path: Path, stack: ExitStack, *rules: Rule) -> Loop:
    """The bridge with its two rigs in processes of their own, patient with a busy machine."""
    given = bridge(settings={"scale": 0.5, "fastest": 1e3}, rules=[*PATIENT])
    return prepare_study(given, stack).loop


@pytest.mark.paced
def test_the_bridge_runs_against_two_processes_and_a_box_that_dies_stops_both(tmp_path: Path) -> None:
    import os
    import signal
    import threading

    with ExitStack() as stack:
        before = children()
        loop = paced_bridge(tmp_path, stack)
        box1, _ = sorted(children() - before)
        timer = threading.Timer(4.5, os.kill, (box1, signal.SIGKILL))
        timer.start()
        with pytest.raises(Tripped, match=r"rule 'box1.*'") as trip:
            loop.run(20.0, paced=True)
        timer.join()
    record = trip.value.record
    assert record.time[-1] > 4.0 and (record["box2.status"] == 0.0).all()
    ending = record["monitor.state"] == 6
    for prefix in BOXES.values():
        way = record[f"{prefix}guarded[6]"]
        assert np.abs(way[ending][0]).max() > 1e-5 and np.abs(way[ending][-1]).max() < 1e-9
    left = np.abs(record["box2.measured[6]"][-1])  # the box that lives has followed
    assert left[:3].max() < 2e-4 and left[3:].max() < 3e-3


def children() -> set[int]:
    """Processes that this one has started and that live."""
    from pathlib import Path

    return {int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}
