"""A target that a device cannot follow, and limits that allow what it cannot reach, are refused before the test."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mor.dynamics.preflight import preflight
from mor.models.multi_axial.loading_box import FLOW, LOAD_CELL, PISTON, platform
from mor.models.multi_axial.moment_frame import Column
from rt_runtime import ConfigError, Gain, GuardedPose, InverseKinematics, Loop, Platform, guard_pose
from rt_runtime.safety.pose import pose_problems
from tests.unit.rt_runtime.kinematics.test_platform import twisting_platform


def motion(size: float) -> np.ndarray:
    t = np.arange(1000) * 1e-3
    return np.outer(size * np.sin(2 * np.pi * 1.6 * t), [1.0, 0, 0, 0, 0, -1.7])


def stiffness() -> np.ndarray:
    k = np.zeros((6, 6))
    k[np.ix_([0, 5], [0, 5])] = Column().stiffness
    return k


def test_a_small_motion_passes_with_its_numbers() -> None:
    box = platform(1)
    found = preflight(
        box, motion(7e-3), 1000.0, stiffness=stiffness(), force_limit=LOAD_CELL, piston_area=PISTON, flow_limit=FLOW
    ).check()
    J = box.jacobian()
    w = motion(7e-3)[156]
    assert found.strokes[156] == pytest.approx(J @ w, rel=0.2, abs=2e-4)
    assert 0.1 < found.stroke_share < 0.9
    assert 0 < found.force < LOAD_CELL
    assert 0 < found.flow < FLOW


def test_every_limit_has_its_sentence() -> None:
    found = preflight(
        platform(1), motion(60e-3), 1000.0, stiffness=stiffness(), force_limit=1e3, piston_area=PISTON, flow_limit=FLOW
    )
    with pytest.raises(ConfigError) as refusal:
        found.check()
    words = str(refusal.value)
    assert "Stroke of limb 'X1' must stay within 90 % of its limit" in words
    assert "Force of limb" in words
    assert "Flow of the target must be at most 0.00063 m3/s" in words
    with pytest.raises(ConfigError, match=r"target of preflight must have shape \(any, 6\)"):
        preflight(platform(1), np.zeros((3, 5)), 1000.0)


def test_a_reaction_may_be_given_instead_of_a_stiffness() -> None:
    w = motion(7e-3)
    by_stiffness = preflight(platform(1), w, 1000.0, stiffness=stiffness())
    assert preflight(platform(1), w, 1000.0, reaction=w @ stiffness()).force == pytest.approx(by_stiffness.force)


def test_a_target_through_a_singular_pose_is_refused() -> None:
    given, twist = twisting_platform()
    target = np.outer(np.linspace(0, 1, 50), [0, 0, 0, 0, -twist, 0])
    found = preflight(given, target, 1000.0)
    assert found.condition > 100
    assert any("must not be singular: the condition number" in words for words in found.problems)


def guarded(device: Platform, limits: list[float]) -> Loop:
    loop = Loop(1000.0)
    loop.signal("target[6]")
    loop.add("target", Gain(np.zeros((6, 0))), outputs=["target[6]"])
    guard_pose(loop, GuardedPose("target[6]", "guarded[6]", device, limits, [1.0] * 6), [])
    return loop


def test_limits_are_looked_at_between_the_corners_too() -> None:
    """A motion to the side lengthens a limb: it is shortest without one, which no corner of the limits has."""
    limits = [0.05, 0.05, 0.05, 1e-3, 1e-3, 1e-3]
    box = platform(1)
    strokes = [
        min(InverseKinematics(box).step(0.0, np.multiply(limits, signs))[2] for signs in product(levels, repeat=6))
        for levels in ((-1.0, 1.0), (-1.0, 0.0, 1.0))
    ]
    assert strokes[1] < strokes[0] - 1e-4
    stroke = {name: (-0.2, 0.2) for name in box.limbs} | {box.limbs[2]: (float(np.mean(strokes)), 0.2)}
    (problem,) = pose_problems(Platform(box.fixed, box.moving, stroke), limits)
    assert problem.startswith(f"Limb '{box.limbs[2]}' must reach every pose within the limits")


def test_no_tick_begins_with_limits_beyond_a_stroke_or_a_singular_pose_within_them() -> None:
    guarded(platform(1), [0.03, 0.005, 0.005, 0.02, 0.02, 0.1]).run(0.01)
    with pytest.raises(ConfigError, match=r"Limits of guarded.6.: Limb 'X1' must reach every pose within the limits"):
        guarded(platform(1), [0.08, 0.005, 0.005, 0.02, 0.02, 0.1]).run(0.01)
    device, twist = twisting_platform()
    with pytest.raises(ConfigError, match=r"Poses within the limits must not be singular, but the condition number"):
        guarded(device, [0.0, 0.0, 0.0, 0.0, twist, 0.0]).run(0.01)
