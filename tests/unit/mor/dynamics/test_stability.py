"""Critical delay of hybrid loops and step limits of RK4."""

from __future__ import annotations

import numpy as np
import pytest

from mor.dynamics.stability import critical_delay, largest_ab2_step, largest_rk4_step
from mor.dynamics.structure import LinearStructure
from mor.models.benchmark_frame import benchmark_frame
from mor.models.frame import shear_frame
from rt_runtime.errors import ConfigError


@pytest.mark.parametrize(("case", "milliseconds"), [(1, 14.6), (2, 12.2), (3, 9.9), (4, 8.7)])
def test_critical_delay_of_the_benchmark(case: int, milliseconds: float) -> None:
    frame = benchmark_frame(case)
    part = frame.specimen
    arguments = dict(dof=0, mass=part.mass, damping=part.damping, stiffness=part.stiffness)
    assert 1e3 * critical_delay(frame.numerical, **arguments) == pytest.approx(milliseconds, abs=0.05)
    modal = critical_delay(frame.numerical, method="modal", **arguments)
    assert 1e3 * modal == pytest.approx(milliseconds, abs=0.15)


def test_critical_delay_of_the_stability_study() -> None:
    """Specimen and 3 % damping of Galmez and Fermandois (2020), who publish 8.5 ms."""
    frame = benchmark_frame(4).reference
    part = frame.minus(0, mass=29.1, damping=114.6, stiffness=1.19e6)
    delay = critical_delay(part, dof=0, mass=29.1, damping=114.6, stiffness=1.19e6, method="modal")
    assert 1e3 * delay == pytest.approx(8.7, abs=0.1)


def test_exact_delay_of_one_spring_in_closed_form() -> None:
    """m x'' + c x' + k x(t - tau) = 0 loses stability at w = sqrt((-c^2 + sqrt(c^4 + 4 m^2 k^2)) / 2) / m."""
    m, c, k = 3.0, 2.0, 50.0
    w = np.sqrt((-(c**2) + np.sqrt(c**4 + 4 * m**2 * k**2)) / 2) / m
    expected = np.arctan2(c * w, m * w * w) / w
    rest = LinearStructure([[m]], [[c]], [[1e-9]])
    assert critical_delay(rest, dof=0, mass=0.0, damping=0.0, stiffness=k) == pytest.approx(expected, rel=1e-6)


def test_a_crossing_between_the_grid_points_is_found() -> None:
    """Undamped, with a specimen of a millionth of the stiffness: |L| passes 1 only within 1e-6 of the resonance."""
    rest = LinearStructure([[1.0]], [[0.0]], [[100.0]])
    for method in ("exact", "modal"):  # without damping any delay destabilises
        delay = critical_delay(rest, dof=0, mass=0.0, damping=0.0, stiffness=1e-4, method=method)
        assert delay == pytest.approx(0.0, abs=1e-6)
    frame = shear_frame([1.0, 2.0, 1.5], [100.0, 300.0, 200.0])
    assert critical_delay(frame, dof=1, mass=0.1, damping=0.0, stiffness=20.0) == pytest.approx(0.0, abs=1e-6)


def test_a_soft_specimen_bears_any_delay() -> None:
    rest = LinearStructure([[1.0]], [[20.0]], [[100.0]])
    assert critical_delay(rest, dof=0, mass=0.0, damping=0.0, stiffness=1.0) == np.inf


def test_rk4_limits_in_closed_form() -> None:
    assert largest_rk4_step([[0.0, 1.0], [-25.0, 0.0]]) == pytest.approx(2 * np.sqrt(2) / 5, rel=1e-6)
    assert largest_rk4_step([[-10.0]]) == pytest.approx(0.2785293563, rel=1e-6)
    assert largest_rk4_step([[0.0]]) == np.inf
    frame = shear_frame([1.0, 1.0], [100.0, 300.0], damping_ratio=0.02)
    A, h = frame.state_matrix(), largest_rk4_step(frame.state_matrix())
    for factor, bounded in ((0.999, True), (1.001, False)):
        Z = A * h * factor
        step = np.eye(4) + Z @ (np.eye(4) + Z / 2 @ (np.eye(4) + Z / 3 @ (np.eye(4) + Z / 4)))
        assert (np.abs(np.linalg.eigvals(step)).max() <= 1) is np.bool_(bounded)


def test_ab2_limits_in_closed_form_and_by_its_companion_matrix() -> None:
    assert largest_ab2_step([[-10.0]]) == pytest.approx(0.1, rel=1e-9)
    assert largest_ab2_step([[0.0]]) == largest_ab2_step([[3.0]]) == np.inf
    assert largest_ab2_step([[0.0, 1.0], [-25.0, 0.0]]) == pytest.approx((4e-9) ** (1 / 3) / 5, rel=1e-2)
    # where the edge of the region is known: z = (r^2 - r) / (3/2 r - 1/2) for r on the unit circle
    for angle in (0.5, 1.2, 2.5):
        r = np.exp(1j * angle)
        edge = (r * r - r) / (1.5 * r - 0.5)
        A = np.array([[edge.real, edge.imag], [-edge.imag, edge.real]])
        assert largest_ab2_step(A) == pytest.approx(1.0, rel=1e-9)
    frame = shear_frame([1.0, 1.0], [100.0, 300.0], damping_ratio=0.02)
    A, h = frame.state_matrix(), largest_ab2_step(frame.state_matrix())
    assert h < largest_rk4_step(A) / 4
    for factor, bounded in ((0.999, True), (1.001, False)):
        Z = A * h * factor
        step = np.block([[np.eye(4) + 1.5 * Z, -0.5 * Z], [np.eye(4), np.zeros((4, 4))]])
        assert (np.abs(np.linalg.eigvals(step)).max() <= 1) is np.bool_(bounded)


def test_bad_input_is_named() -> None:
    rest = LinearStructure([[1.0]], [[-1.0]], [[100.0]])
    with pytest.raises(ConfigError, match="must be stable without delay"):
        critical_delay(rest, dof=0, mass=0.0, damping=0.0, stiffness=1.0)
    with pytest.raises(ConfigError, match="dof of critical_delay must be 0 to 0, got 1"):
        critical_delay(rest, dof=1, mass=0.0, damping=0.0, stiffness=1.0)
    with pytest.raises(ConfigError, match="method of critical_delay must be one of"):
        critical_delay(rest, dof=0, mass=0.0, damping=0.0, stiffness=1.0, method="guess")
