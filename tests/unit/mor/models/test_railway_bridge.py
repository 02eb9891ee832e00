"""The railway bridge under moving loads: closed forms, resonance, what the damper takes out, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from mor.dynamics.transfer import TransferFunction
from mor.models.railway_bridge import ACTUATOR, HSLM_A4, Brace, Girder, Train, resonance_speed
from rt_runtime import StateSpace
from rt_runtime.errors import ConfigError

ONE = Train([190e3], [0.0])


def cross(girder: Girder, train: Train, speed: float, *, after: float = 0.0, dt: float = 5e-4) -> np.ndarray:
    """Deflection at midspan, (n), under the modal loads, linear between steps."""
    t = np.arange(int((train.duration(girder, speed) + after) / dt)) * dt
    part = girder.state_space(np.zeros(girder.modes), [girder.span / 2])
    block = StateSpace(part.A, part.B[:, :-1], part.C[2:3], dt=dt, method="foh")
    return np.array([block.step(0.0, row)[0] for row in train.modal_loads(girder, speed, t)])


def test_a_moving_load_bends_the_bridge_as_fryba_says() -> None:
    """Undamped: q_i = 2 P / (mu L) (sin W t - W / w sin w t) / (w^2 - W^2) with W = i pi V / L, P on the bridge."""
    girder, speed, dt = Girder(ratio=0.0), 45.0, 5e-4
    found = cross(girder, ONE, speed, dt=dt)
    t = np.arange(len(found)) * dt
    W, w = speed * girder.waves, girder.waves**2 * np.sqrt(girder.flexural / girder.line_mass)
    q = (np.sin(np.outer(t, W)) - W / w * np.sin(np.outer(t, w))) / (w**2 - W**2)
    exact = 2 * 190e3 / (girder.line_mass * girder.span) * q @ girder.shapes(girder.span / 2)
    assert np.abs(found - exact).max() < 1e-5 * np.abs(exact).max()


def test_a_slow_load_bends_it_as_a_standing_one() -> None:
    girder = Girder(modes=15)
    part = girder.state_space(np.zeros(15), [21.0])
    static = -190e3 * part.C[2] @ np.linalg.solve(part.A, part.B[:, :15] @ girder.shapes(21.0))
    assert static == pytest.approx(190e3 * 42.0**3 / (48 * girder.flexural), rel=1e-3)  # P L^3 / 48 EI
    assert np.abs(cross(Girder(ratio=0.02), ONE, 2.0, dt=5e-3)).max() == pytest.approx(static, rel=0.02)


def test_a_load_that_left_leaves_the_free_vibration_of_the_closed_form() -> None:
    """First mode: P L^3 2 / (pi^4 EI) times 2 b / (1 - b^2) |cos(pi / 2 b)| with b = V / (2 L f)."""
    girder = Girder(ratio=0.0, modes=1)
    f = float(girder.structure.modes().frequencies[0])
    static = 2 * 190e3 * girder.span**3 / (np.pi**4 * girder.flexural)
    for b in (0.25, 0.22, 1 / 3):  # the last one: cancellation
        speed = 2 * b * girder.span * f
        left = cross(girder, ONE, speed, after=2.0)[int(girder.span / speed / 5e-4) + 2 :]
        exact = static * 2 * b / (1 - b**2) * abs(np.cos(np.pi / (2 * b)))
        assert np.abs(left).max() == pytest.approx(exact, abs=2e-3 * static)


def test_the_bridge_resonates_where_it_was_made_to() -> None:
    girder = Girder()
    assert girder.structure.modes().frequencies[:2] == pytest.approx([2.2358, 8.9434], rel=1e-4)
    assert girder.structure.modes().ratios == pytest.approx(np.full(5, 0.005))
    assert 3.6 * resonance_speed(girder, 21.0) == pytest.approx(169.0, abs=0.1)
    assert ACTUATOR.dc_gain == pytest.approx(0.954, abs=5e-4)
    assert 1e3 * ACTUATOR.phase_delay(1.0) == pytest.approx(20.0, abs=0.05)
    peaks = {v: 1e3 * np.abs(cross(girder, HSLM_A4, v / 3.6, dt=2e-3)).max() for v in (150, 169, 190)}
    assert peaks[169] == pytest.approx(44.0, rel=0.01)
    assert peaks[169] > 2.5 * max(peaks[150], peaks[190])


def test_the_train_has_its_axles() -> None:
    assert HSLM_A4.loads.size == 44 and np.all(HSLM_A4.loads == 190e3)
    gaps = np.diff(HSLM_A4.behind)
    assert gaps[:5] == pytest.approx([3.0, 11.0, 3.0, 3.525, 3.0])
    assert gaps[5] == pytest.approx(18.0)
    assert gaps[::-1] == pytest.approx(gaps)  # the same from behind
    with pytest.raises(ConfigError, match="behind of Train must name at least one axle, none of them before the first"):
        Train([1.0], [-1.0])


def test_the_stretch_of_the_damper_is_that_of_its_joint() -> None:
    """A joint at x, e below the axis, moves by (e v', -v) along and down; its way along the damper is the stretch."""
    girder, brace = Girder(), Brace(at=5.0, depth=1.0, angle=0.4)
    q, h = np.array([0.03, -0.01, 0.004, 0.002, -0.001]), 1e-6
    v = girder.shapes(np.array([5.0 - h, 5.0, 5.0 + h])) @ q
    along, across = brace.depth * (v[2] - v[0]) / (2 * h), v[1]
    assert brace.lever(girder) @ q == pytest.approx(np.cos(0.4) * along + np.sin(0.4) * across, rel=1e-6)
    with pytest.raises(ConfigError, match="at of Brace must lie on the span of 42 m, got 50"):
        Brace(at=50.0).lever(girder)


def test_another_gain_and_speed_of_an_actuator() -> None:
    plant = TransferFunction([3.0, 2.0], [1.0, 4.0, 5.0])
    f = np.array([0.1, 1.0, 10.0])
    assert plant.varied(gain=1.1, speed=1.3).response(f) == pytest.approx(1.1 * plant.response(f / 1.3))
    with pytest.raises(ConfigError, match=r"speed of TransferFunction.varied"):
        plant.varied(speed=0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"span": 0.0}, "span of Girder"),
        ({"modes": 0}, "modes of Girder"),
        ({"ratio": 1.0}, "ratio of Girder must be from 0 to below 1, got 1.0"),
    ],
)
def test_girders_that_cannot_be_are_refused(change: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Girder(**change)
