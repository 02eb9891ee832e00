"""Kinematics of platforms with six limbs: twins, virtual work, whole envelope, and everything that must be refused."""

from __future__ import annotations

import numpy as np
import pytest

from mor.models.multi_axial.loading_box import LIMBS, STROKE, platform
from rt_runtime import ConfigError, ForceTransform, ForwardKinematics, InverseKinematics, Platform
from tests.reference.platform import pose_of, strokes

BOXES = [(box, what) for box in (1, 2) for what in ("actuators", "pots")]
POSE = np.array([0.012, -0.004, 0.006, 0.03, -0.05, 0.04])


def envelope(given: Platform, n: int, seed: int) -> np.ndarray:
    """Poses whose strokes fill the limits of the actuators."""
    rng = np.random.default_rng(seed)
    limits = np.array(list(STROKE.values()))
    found = []
    while len(found) < n:
        pose = rng.uniform(-1, 1, 6) * np.r_[np.full(3, 0.06), np.full(3, 1.15)] * rng.uniform()
        s = strokes(given.fixed, given.moving, pose)
        if ((s > limits[:, 0]) & (s < limits[:, 1])).all():
            found.append(pose)
    return np.array(found)


@pytest.mark.parametrize(("box", "what"), BOXES)
def test_maps_agree_with_their_twins(box: int, what: str) -> None:
    given = platform(box, what)
    wanted = strokes(given.fixed, given.moving, POSE)
    got = InverseKinematics(given).step(0.0, POSE)
    assert np.allclose(got[:6], wanted, atol=1e-15)
    back = ForwardKinematics(given, steps=6).step(0.0, wanted)
    assert np.allclose(back[:6], POSE, atol=1e-13)
    assert np.allclose(back[:6], pose_of(given.fixed, given.moving, wanted), atol=1e-9)
    assert back[6] < 1e-14
    assert 0.05 < back[7] < 1.0


@pytest.mark.parametrize(("box", "what"), BOXES)
def test_jacobian_is_the_derivative_and_the_printed_one_at_rest(box: int, what: str) -> None:
    given = platform(box, what)
    h = 1e-6
    slopes = [
        (strokes(given.fixed, given.moving, POSE + d) - strokes(given.fixed, given.moving, POSE - d)) / (2 * h)
        for d in h * np.eye(6)
    ]
    assert np.allclose(given.jacobian(POSE), np.transpose(slopes), atol=1e-8)
    assert given.condition() < 5.5


def test_geometry_meets_the_published_rows() -> None:
    from mor.models.multi_axial.loading_box import _ROWS

    for (what, box), rows in _ROWS.items():
        found = platform(box, what).jacobian() / np.r_[np.ones(3), np.full(3, 0.0254)]
        assert np.abs(found - rows)[:, :3].max() < 0.0083
        assert np.abs(found - rows)[:, 3:].max() < 0.03


def test_forces_do_the_same_work_on_both_sides() -> None:
    given = platform(1)
    force = np.array([1.0, -2.0, 3.0, 4.0, -5.0, 6.0])
    total = ForceTransform(given).step(0.0, np.r_[force, POSE])
    dw = 1e-7 * np.array([1.0, 2.0, -1.0, 3.0, -2.0, 1.0])
    ds = strokes(given.fixed, given.moving, POSE + dw / 2) - strokes(given.fixed, given.moving, POSE - dw / 2)
    assert total @ dw == pytest.approx(force @ ds, rel=1e-7)
    back = ForceTransform(given, inverse=True).step(0.0, np.r_[total, POSE])
    assert np.allclose(back, force, atol=1e-12)


def test_five_newton_steps_from_rest_find_every_pose_of_the_envelope() -> None:
    for box in (1, 2):
        given = platform(box)
        forward = ForwardKinematics(given, steps=5)
        for pose in envelope(given, 200, seed=box):
            forward.reset()
            found = forward.step(0.0, strokes(given.fixed, given.moving, pose))
            assert found[6] < 1e-9


def test_two_warm_steps_follow_a_path_to_1e_12() -> None:
    given = platform(1)
    forward, inverse = ForwardKinematics(given, steps=2), InverseKinematics(given)
    t = np.arange(2000) * 1e-3
    wave = np.sin(2 * np.pi * 3 * t)[:, None] * np.array([7e-3, 1e-4, 2e-3, 0.003, 0.002, 0.012])
    errors = [forward.step(0.0, inverse.step(0.0, w)[:6])[:6] - w for w in wave]
    assert np.abs(errors).max() < 1e-12


def test_margin_tells_how_near_a_stroke_is_to_its_end() -> None:
    inverse = InverseKinematics(platform(1))
    assert inverse.step(0.0, np.zeros(6))[6] == 1.0
    pushed = inverse.step(0.0, np.array([0.0, 0.0254, 0, 0, 0, 0]))
    assert pushed[6] == pytest.approx(1 - np.abs(pushed[3:6]).max() / 0.0254)
    assert inverse.step(0.0, np.array([0.0, 0.05, 0, 0, 0, 0]))[6] < 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.4])
def test_a_pose_that_cannot_be_found_is_held_and_told(bad: float) -> None:
    given = platform(1)
    forward = ForwardKinematics(given)
    good = forward.step(0.0, strokes(given.fixed, given.moving, POSE / 20))
    jumped = strokes(given.fixed, given.moving, POSE / 20)
    jumped[3] = bad
    held = forward.step(0.0, jumped)
    assert np.isfinite(held).all()
    assert np.array_equal(held[:6], good[:6])
    assert held[6] > 1e-3  # the residual tells it
    again = forward.step(0.0, strokes(given.fixed, given.moving, POSE / 20))
    assert np.allclose(again[:6], good[:6], atol=1e-9)


def twisting_platform() -> tuple[Platform, float]:
    """Three vertical limbs, and three horizontal ones that meet in one point when the platform turns by that angle."""
    angle = np.deg2rad([0, 120, 240])
    ring = np.column_stack([np.cos(angle), np.zeros(3), np.sin(angle)]) * 0.1
    across = np.column_stack([-np.sin(angle), np.zeros(3), np.cos(angle)]) * 0.2
    moving = np.vstack([ring, ring])
    fixed = np.vstack([ring - [0, 0.3, 0], ring - across])
    stroke = dict.fromkeys(LIMBS, (-0.15, 0.15))
    given = Platform(fixed, moving, stroke)
    return given, next(a for a in np.linspace(0.1, 2.5, 2401) if given.condition([0, 0, 0, 0, -a, 0]) > 2000)


def test_a_singular_pose_is_held_and_the_pivot_tells_it() -> None:
    given, twist = twisting_platform()
    forward = ForwardKinematics(given, steps=1, turn=3.0)
    for a in np.linspace(0.0, twist, 200):
        out = forward.step(0.0, strokes(given.fixed, given.moving, np.array([0, 0, 0, 0, -a, 0])))
    last = forward.step(0.0, strokes(given.fixed, given.moving, np.array([0, 0, 0, 0, -twist, 0])))
    assert np.isfinite(last).all()
    assert min(out[7], last[7]) < 2e-3


ROWS = dict(zip(LIMBS, platform(1).jacobian() / np.r_[np.ones(3), np.full(3, 0.0254)], strict=True))


def refused(**changes):
    arguments = {"rows": ROWS, "stroke": STROKE, "lever_unit": "inch"} | changes
    rows, stroke = arguments.pop("rows"), arguments.pop("stroke")
    return lambda: Platform.from_jacobian(rows, stroke, **arguments)


IN_MM = {name: row * np.r_[np.ones(3), np.full(3, 25.4)] for name, row in ROWS.items()}
OTHER_ORDER = {name: ROWS[name] for name in ("X1", "X2", "Y1", "Z", "Y2", "Y3")}
VERTICAL = {name: np.array([0, -1.0, 0, 0, 0, x]) for name, x in zip(LIMBS, (1.0, 2, 3, 4, -5, 6), strict=True)}


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (refused(rows=IN_MM), "Lever arm of limb 'X1' must be at most 1 m, got 1.5. m with lever_unit 'inch'"),
        (refused(rows=OTHER_ORDER), "must name the same limbs in the same order, got X1, X2, Y1, Z, Y2, Y3 and X1"),
        (refused(rows=list(ROWS.values())), "must name the same limbs in the same order"),
        (refused(rows=VERTICAL), "must hold all six directions at rest: the condition number"),
        (refused(limb=0.04), "Limb 'X1' must be longer than its stroke, got 0.04 m for a stroke of -0.053 m"),
        (refused(lever_unit="foot"), "lever_unit of Platform.from_jacobian must be one of 'm', 'mm', 'inch'"),
        (refused(stroke={**STROKE, "Z": (0.01, 0.02)}), "stroke of limb 'Z' must go to both sides of 0"),
        (refused(rows={**ROWS, "Z": [0, 0, 2, 1, 0, 0]}), "Direction of limb 'Z' must be a unit vector"),
        (refused(rows={**ROWS, "Z": [0, 0, np.nan, 1, 0, 0]}), "rows of Platform.from_jacobian must be finite"),
        (lambda: ForwardKinematics(platform(1), steps=0), "steps of ForwardKinematics must be a whole number"),
        (lambda: ForwardKinematics(platform(1), steps=50), "steps of ForwardKinematics must be at most 20"),
        (lambda: InverseKinematics("box"), "platform of InverseKinematics must be a Platform, got 'box'"),
        (lambda: platform(3), "box of a loading box must be 1 or 2, got 3"),
    ],
)
def test_refusals(make, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        make()
