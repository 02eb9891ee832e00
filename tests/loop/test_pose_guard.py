"""Faults in a multi-axial test: whatever is broken, the pose as a whole goes to rest and the feedback fades."""

from __future__ import annotations

import numpy as np
import pytest

from hmor.studies.base import Options, ground_motion
from hmor.studies.moment_frame import CASES, build
from rt_runtime import PythonBlock, Table, Tripped, pose_rules

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


def test_rules_of_two_devices_have_names_of_their_own() -> None:
    rules = [*pose_rules("a[6]", "r[6]"), *pose_rules("b[6]", "s[6]", prefix="box2.")]
    assert len({rule.name for rule in rules}) == len(rules) == 30
    assert all(rule.action == "trip" for rule in rules)
