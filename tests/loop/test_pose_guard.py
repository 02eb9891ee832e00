"""Faults in a multi-axial test: whatever is broken, the pose as a whole goes to rest and the feedback fades."""

from __future__ import annotations

import numpy as np
import pytest

from hmor.studies.base import Options, ground_motion
from hmor.studies.multi_axial.moment_frame import CASES, build
from mor.models.multi_axial.loading_box import platform
from rt_runtime import (
    ConfigError,
    ForwardKinematics,
    InverseKinematics,
    PythonBlock,
    Table,
    Tripped,
    axial_rule,
    pose_rules,
)

FAULT_AT = 8.0
READINGS = 6


class Wires:
    """Potentiometers of which one begins to lie."""

    def __init__(self, kind: str) -> None:
        self.kind, self.kept = kind, 0.0

    def read(self, t: float, u):
        found = u[:READINGS] + u[READINGS:]
        if t < FAULT_AT:
            self.kept = found[0]
        elif self.kind == "stuck":
            found[0] = self.kept
        elif self.kind == "jump":
            found[0] += 5e-3
        elif self.kind == "broken":
            found[0] = 0.5
        return found


def guarded(kind: str, duration: float = 12.0):
    options = Options(settings={"guarded": True})
    motion = ground_motion(options, scale=0.1)
    wires = PythonBlock(Wires(kind).read, n_in=12, n_out=6)
    loop = build(CASES["mpc"], Table(motion.time, motion.values), {}, options, potentiometers=wires)
    loop.record(["guarded[6]", "target[6]", "pose[6]", "faded[2]", "x[3]", "monitor.state", "residual", "margin"])
    return loop, duration


def test_without_a_fault_the_guard_changes_nothing() -> None:
    loop, duration = guarded("good", 6.0)
    record = loop.run(duration)
    running = record["monitor.state"] == 3
    assert running.sum() > 0.95 * 6000
    assert np.array_equal(record["guarded[6]"][running], record["target[6]"][running])


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("stuck", "time without a change of reading_1 .* exceeds its limit"),
        ("jump", "rate of reading_1 .* exceeds its limit 1 m/s"),
        ("broken", "rate of reading_1 .* exceeds its limit|residual .* exceeds its limit"),
    ],
)
def test_a_lying_sensor_trips_and_the_pose_ramps_as_a_whole(kind: str, sentence: str) -> None:
    loop, duration = guarded(kind)
    with pytest.raises(Tripped, match=sentence) as trip:
        loop.run(duration)
    record = trip.value.record
    assert trip.value.args
    ending = np.flatnonzero(record["monitor.state"] == 6)
    assert FAULT_AT <= record.time[ending[0]] < FAULT_AT + 0.2
    way = record["guarded[6]"][ending]
    start = way[0]
    share = way @ start / (start @ start)
    assert (
        np.abs(way - np.outer(share, start)).max() < 0.02 * np.abs(start).max()
    )  # one straight way of all coordinates
    assert np.abs(way[-1]).max() < 1e-9
    assert np.abs(record["faded[2]"][ending[250] :]).max() == 0.0
    assert np.isfinite(record.values).all()


def test_an_axial_force_beyond_the_device_trips() -> None:
    rule = axial_rule("measured_2", stiffness=346e6, largest=28e3, prefix="box2.")
    assert (rule.name, rule.upper, rule.ticks) == ("box2.axial_force", pytest.approx(28e3 / 346e6), 5)
    lifted = np.array([0, 0, 0, 1e-4, 1e-4, 1e-4])
    shift = PythonBlock(lambda t, u: u[:6] + u[6:] + (t > FAULT_AT) * lifted, n_in=12, n_out=6)
    options = Options(settings={"guarded": True})
    motion = ground_motion(options, scale=0.1)
    loop = build(CASES["mpc"], Table(motion.time, motion.values), {}, options, potentiometers=shift)
    with pytest.raises(Tripped, match=r"measured_2 .* m exceeds its limit 8.08.*e-05 m .rule 'axial_force'"):
        loop.run(12.0)


def test_a_target_beyond_the_load_cells_never_starts() -> None:
    options = Options(settings={"guarded": True})
    motion = ground_motion(options, scale=0.5)
    loop = build(CASES["mpc"], Table(motion.time, motion.values), {}, options)
    with pytest.raises(ConfigError, match=r"Target: Force of limb 'Y1' must be at most 13300 N, got"):
        loop.run(1.0)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"disturbance_gain": 1e-4}, "Controllers: Controller must not run: noise of the sensors is amplified"),
        ({"prediction": 12}, "Controllers: Controller must not run: the loop is unstable"),
        (
            {"lead": 8.0},
            "Stability: The whole test must be stable on the identified actuators, got a largest pole of 1",
        ),
    ],
)
def test_an_unstable_or_loud_test_never_starts(settings: dict[str, float], sentence: str) -> None:
    options = Options(settings=settings)
    motion = ground_motion(options, scale=0.1)
    with pytest.raises(ConfigError, match=sentence):
        build(CASES["mpc"], Table(motion.time, motion.values), {}, options).run(1.0)


def test_every_block_of_the_test_has_its_work_counted() -> None:
    loop, _ = guarded("good")
    counted = {name: block.work for name, block in loop.blocks.items()}
    for name in ("pose", "strokes", "force", "target_strokes", "control_1", "fade", "numerical", "monitor"):
        assert counted[name][0] > 0, name
    forward = ForwardKinematics(platform(1), steps=3).work
    assert forward[1] == 3
    assert forward[0] > 3 * InverseKinematics(platform(1)).work[0]


def test_rules_of_two_devices_have_names_of_their_own() -> None:
    rules = [*pose_rules("a[6]", "r[6]"), *pose_rules("b[6]", "s[6]", prefix="box2.")]
    assert len({rule.name for rule in rules}) == len(rules) == 30
    assert all(rule.action == "trip" for rule in rules)
