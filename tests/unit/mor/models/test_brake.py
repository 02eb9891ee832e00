"""The full-order hydraulic brake: settled torque, lag, fade, signs, stiffness."""

from __future__ import annotations

import numpy as np
import pytest

from mor import lhs
from mor.models.motorcycle import brake, brake_space, sample_static, static_torque, touching_force
from mor.models.motorcycle.hydraulic_brake import SUBSTEPS
from rt_runtime.errors import ConfigError

DT = 1e-4
SIDES = ("front", "rear")


def run(side: str, force: object, speed: object, seconds: float, **parameters: float) -> np.ndarray:
    n = round(seconds / DT)
    wheel = brake(side).inputs[1].name
    u = {"F_br": np.broadcast_to(np.asarray(force, float), n), wheel: np.broadcast_to(np.asarray(speed, float), n)}
    result: np.ndarray = brake(side).simulate(u, dt=DT, parameters=parameters)[brake(side).outputs[0].name]
    return result


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("force", "speed"), [(3.0, 300.0), (20.0, 15.0), (50.0, 450.0), (50.0, -100.0)])
def test_it_settles_on_its_static_map(side: str, force: float, speed: float) -> None:
    settled = run(side, force, speed, 5.0, fade=0.0)[-1]
    assert settled == pytest.approx(float(static_torque(side, force, speed)), rel=1e-6)


def test_torque_at_full_force_is_of_the_order_of_100_Nm() -> None:
    assert 80 < static_torque("front", 50.0, 250.0) < 150
    assert 40 < static_torque("rear", 50.0, 250.0) < 100


@pytest.mark.parametrize("side", SIDES)
def test_torque_opposes_the_rotation_and_vanishes_at_standstill_and_without_force(side: str) -> None:
    speed = np.linspace(-490, 490, 99)
    torque = static_torque(side, 50.0, speed)
    assert (np.sign(torque) == np.sign(speed)).all()
    np.testing.assert_allclose(torque, -torque[::-1], atol=1e-9)
    assert np.abs(np.diff(torque)).max() < 30.0  # no jump through zero
    assert not static_torque(side, 0.0, speed).any()
    assert not run(side, 0.0, 300.0, 0.1).any()


@pytest.mark.parametrize(("side", "force"), [("front", 0.687), ("rear", 0.943)])
def test_there_is_no_torque_until_the_pads_touch(side: str, force: float) -> None:
    touch = touching_force(side)
    assert touch == pytest.approx(force, abs=1e-3)
    assert touching_force(side, {"gap": 3e-5}) == pytest.approx(0.5 * touch)  # springs and volumes are linear
    lever, speed = np.linspace(0.0, touch, 200)[:, None], np.linspace(-490.0, 490.0, 21)
    assert np.abs(static_torque(side, lever, speed)).max() < 1e-12
    assert (static_torque(side, touch + 1e-3, speed[11:]) > 1e-4).all()
    assert not run(side, 0.999 * touch, 300.0, 2.0).any()


@pytest.mark.parametrize("side", SIDES)
def test_torque_grows_with_the_force(side: str) -> None:
    assert (np.diff(static_torque(side, np.linspace(1.5, 50, 100), 200.0)) > 0).all()


def test_the_torque_lags_behind_the_lever() -> None:
    t = np.arange(40_000) * DT
    ramp = np.clip(10.0 * (t - 0.5), 0.0, 50.0)
    torque, static = run("front", ramp, 200.0, 4.0, fade=0.0), static_torque("front", ramp, 200.0)
    at = np.searchsorted(torque, 40.0), np.searchsorted(static, 40.0)
    assert 0.02 < (at[0] - at[1]) * DT < 0.03


def test_a_hot_disc_fades() -> None:
    torque = run("front", 50.0, 300.0, 12.0)
    assert torque[-1] < 0.99 * torque[10_000]
    hot = static_torque("front", 50.0, 300.0, temperature=120.0)
    assert hot == pytest.approx(float(static_torque("front", 50.0, 300.0)) / 1.03, rel=0.003)


@pytest.mark.parametrize("side", SIDES)
def test_heat_balance(side: str) -> None:
    """Without cooling the disc holds all the work of the friction: temperature from two torques at another fade."""
    torque = run(side, 50.0, 300.0, 6.0, cooling=0.0)
    work = np.sum(torque) * DT * 300.0 * 2 * np.pi / 60
    capacity = brake(side).parameter_values()["C_d"]
    expected = static_torque(side, 50.0, 300.0, temperature=20.0 + work / capacity)
    assert torque[-1] == pytest.approx(float(expected), rel=2e-5)


@pytest.mark.parametrize("side", SIDES)
def test_the_stiff_mode_is_about_10_kHz_and_needs_three_sub_steps(side: str) -> None:
    part = brake(side)
    eigenvalues = np.linalg.eigvals(part.jacobian(*part.points[0]))
    assert np.abs(eigenvalues.imag).max() / (2 * np.pi) == pytest.approx(10_100, rel=0.02)
    assert 2 < DT / part.largest_step() < SUBSTEPS == 3
    with pytest.raises(
        ConfigError, match=r"must be at most 9\.\d+e-05 s with 2 sub-steps of RK4, got 0.0001 s.* 3 sub-"
    ):
        part.integrated_by("rk4", 2).block(dt=DT)


@pytest.mark.parametrize(("side", "stiffest"), [("front", -2404 + 63912j), ("rear", -2316 + 63443j)])
def test_stiffest_eigenvalue_is_the_stated_one(side: str, stiffest: complex) -> None:
    eigenvalues = np.linalg.eigvals(brake(side).jacobian(*brake(side).points[0]))
    assert eigenvalues[eigenvalues.imag.argmax()] == pytest.approx(stiffest, rel=1e-3)
    assert brake(side).largest_step() == pytest.approx(45.4e-6, rel=0.01)


def test_rosenbrock_follows_rk4_with_one_step_and_more_error() -> None:
    n = 30_000
    u = {"F_br": np.clip(np.arange(n) * DT * 10 - 3, 0, 50), "w_fw": 200.0}
    exact, rk4, rosenbrock = (
        brake("front").integrated_by(*method).simulate(u, dt=DT)["tau_fw"]
        for method in (("rk4", 20), ("rk4", 3), ("rosenbrock", 1))
    )
    errors = [np.sqrt(np.sum((y - exact) ** 2) / np.sum(exact**2)) for y in (rk4, rosenbrock)]
    assert errors[0] < 1e-5 and errors[0] < errors[1] < 1e-3


def test_static_sample_of_the_published_design() -> None:
    data = sample_static("rear", lhs(brake_space("rear"), 200, seed=1))
    assert data.X.shape == (200, 2) and data.Y.shape == (200, 1)
    assert [(p.name, p.unit) for p in data.inputs] == [("F_br", "N"), ("w_rw", "rpm")]
    np.testing.assert_allclose(data.X.max(axis=0), [50.0, 470.0], rtol=0.01)
    with pytest.raises(
        ConfigError, match="design of sample_static for the rear brake must have the columns F_br, w_rw"
    ):
        sample_static("rear", lhs(brake_space("front"), 10, seed=1))
    with pytest.raises(ConfigError, match="side of brake must be one of 'front', 'rear', got 'left'"):
        brake("left")
