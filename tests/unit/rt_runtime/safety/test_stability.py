"""Stability warning and energy error against numpy on whole records, and what they say of good and bad loops."""

from __future__ import annotations

import numpy as np
import pytest

from rt_runtime import ConfigError, EnergyErrorIndicator, StabilityWarning
from tests.reference.stability import energy_error, stability_warning

DT = 1 / 4096


def histories(n: int = 3, m: int = 1, steps: int = 400) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    t = np.arange(steps) * DT
    waves = rng.uniform(5.0, 60.0, (n, 1))
    x = (0.01 * np.sin(waves * t)).T
    v = (0.01 * waves * np.cos(waves * t)).T
    f, x_m = 1e4 * rng.standard_normal((steps, m)), x[:, :m] * 0.98 + 1e-5 * rng.standard_normal((steps, m))
    return {"x": x, "v": v, "f": f, "x_m": x_m, "p": 1e3 * rng.standard_normal((steps, n))}


def spd(n: int, seed: int) -> np.ndarray:
    a = np.random.default_rng(seed).standard_normal((n, n))
    return a @ a.T + n * np.eye(n)


def test_stability_warning_agrees_with_numpy() -> None:
    h = histories()
    damping, interface = 100.0 * spd(3, 1), np.array([[1.0, 0.0, 0.0]])
    block = StabilityWarning(damping, interface, margin=1.0)
    got = [block.step(0.0, np.concatenate([h["x"][k], h["v"][k], h["f"][k]]))[0] for k in range(len(h["x"]))]
    wanted = stability_warning(h["x"], h["v"], h["f"], damping, interface, 1.0)
    assert wanted.max() > 0.0
    assert np.allclose(got, wanted, rtol=1e-10, atol=1e-13)
    block.reset()
    assert block.step(0.0, np.concatenate([h["x"][0], h["v"][0], h["f"][0]])).tolist() == [0.0, 0.0, 0.0]


def test_energy_error_agrees_with_numpy() -> None:
    h = histories()
    m, c, k = 10.0 * spd(3, 1), 50.0 * spd(3, 2), 1e4 * spd(3, 3)
    block = EnergyErrorIndicator(m, c, k, n_interface=1, e_most=1.0, dt=DT)
    rows = np.hstack([h["x"], h["p"], h["f"], h["x_m"]])
    got = [block.step(0.0, row)[0] for row in rows]
    assert np.allclose(got, energy_error(h["x"], h["p"], h["f"], h["x_m"], (m, c, k), 1.0, DT), rtol=1e-9, atol=1e-12)


def test_the_warning_is_zero_with_a_dashpot_and_the_ratio_of_works_when_pushed() -> None:
    t = np.linspace(0, 1, 2001)
    x, v = np.sin(6 * t), 6 * np.cos(6 * t)
    dissipated = 2.0 * np.trapezoid(v**2, t)
    for force, wanted in ((3.0 * v, 0.0), (-3.0 * v, 1.5 * dissipated / (dissipated + 1.0))):
        block = StabilityWarning([[2.0]], [[1.0]], margin=1.0)
        sw = [block.step(0.0, np.array(row))[0] for row in zip(x, v, force, strict=True)]
        assert sw[-1] == pytest.approx(wanted, rel=1e-3) and (wanted or max(sw) == 0.0)


def test_a_delayed_spring_feeds_energy_and_a_damper_takes_it() -> None:
    t = np.arange(8192) * DT
    x, v = np.sin(20.0 * t), 20.0 * np.cos(20.0 * t)
    delayed = np.sin(20.0 * (t - 0.02))
    for force, passes in ((100.0 * delayed, True), (5.0 * v, False)):
        block = StabilityWarning([[0.1]], [[1.0]], margin=1.0)
        last = 0.0
        for k in range(len(t)):
            last = max(last, float(block.step(0.0, np.array([x[k], v[k], force[k]]))[0]))
        assert (last >= 1.0) is passes


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StabilityWarning(np.eye(2), np.eye(3), margin=1.0), r"interface .* must have shape \(any, 2\)"),
        (lambda: StabilityWarning(np.ones((2, 3)), np.eye(2), margin=1.0), r"damping .* must have shape \(2, 2\)"),
        (lambda: StabilityWarning(np.eye(2), np.eye(2), margin=0.0), "margin of StabilityWarning must be a positive"),
        (
            lambda: EnergyErrorIndicator(np.eye(2), np.eye(3), np.eye(2), n_interface=1, e_most=1.0, dt=DT),
            r"damping of EnergyErrorIndicator must have shape \(2, 2\), got \(3, 3\)",
        ),
    ],
)
def test_arguments_are_checked(make: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()  # type: ignore[operator]
