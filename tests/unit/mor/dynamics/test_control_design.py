"""Design helpers against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import sosfreqz

from mor.dynamics.control_design import (
    arx_parameters,
    closed_loop,
    companion,
    inverse_with_low_pass,
    kalman,
    low_pass,
    lqg_feedback,
    margins,
    prediction_model,
    reference_correction,
    weights,
)
from mor.dynamics.transfer import TransferFunction
from mor.models.actuators import electric_drive
from rt_runtime import ConfigError, Horizon, Mpc


def test_companion_has_the_transfer_function_it_was_made_from() -> None:
    plant = TransferFunction([3.0, 40.0], [1.0, 7.0, 90.0, 500.0])
    model = companion(plant, subdiagonal=[8.0, 4.0], input_gain=2.0)
    s = 2j * np.pi * np.array([0.1, 1.0, 5.0])
    response = [(model.C @ np.linalg.solve(z * np.eye(3) - model.A, model.B))[0, 0] for z in s]
    np.testing.assert_allclose(response, plant.response(s.imag / (2 * np.pi)), rtol=1e-12)


def test_arx_parameters_reproduce_the_sampled_plant() -> None:
    plant = TransferFunction([3.0, 40.0], [1.0, 7.0, 90.0, 500.0])
    a, b = arx_parameters(plant, 0.05)
    sampled = plant.discretise(0.05)
    u = np.random.default_rng(0).normal(size=60)
    x, y = np.zeros(3), np.zeros(60)
    for k in range(60):
        y[k] = (sampled.C @ x)[0]
        x = sampled.A @ x + sampled.B[:, 0] * u[k]
    for k in range(3, 60):
        assert y[k] == pytest.approx(-a @ y[k - 3 : k][::-1] + b @ u[k - 3 : k][::-1], abs=1e-12)


def test_closed_loop_is_what_the_controller_and_plant_do() -> None:
    dt, drive = 1 / 1024, electric_drive()
    mpc = Mpc(prediction_model(drive, dt, noise_variance=1e-4), Horizon(8, 20.0, 0.3, control=5))
    true = electric_drive(2800.0, 250.0).discretise(dt)
    loop = closed_loop(mpc, true)
    assert np.abs(np.linalg.eigvals(loop.A)).max() < 1
    x, z = np.zeros(2), np.zeros(len(loop.A))
    for k in range(100):
        y, r = (true.C @ x)[0], np.sin(0.1 * k)
        assert (loop.C @ z)[0] == pytest.approx(y, abs=1e-9)
        x = true.A @ x + true.B[:, 0] * mpc.step(k * dt, np.array([r, y]))[0]
        z = loop.A @ z + loop.B[:, 0] * r
    with pytest.raises(ConfigError, match=r"plant of closed_loop must be sampled at dt = 0.000976562 s"):
        closed_loop(mpc, electric_drive().discretise(0.001))


def test_reference_correction_undoes_the_loop_at_its_frequency() -> None:
    dt, drive = 1 / 1024, electric_drive()
    mpc = Mpc(prediction_model(drive, dt), Horizon(8, 20.0, 5.0))
    loop = closed_loop(mpc, drive.discretise(dt))
    lead, curvature = correction = reference_correction(loop, 5.0)
    s = 2j * np.pi * 5.0
    response = (loop.C @ np.linalg.solve(np.exp(s * dt) * np.eye(len(loop.A)) - loop.A, loop.B))[0, 0]
    assert abs(response) > 1.02
    assert response * np.exp(s * lead) * (1 + curvature * s**2) == pytest.approx(1.0, abs=1e-9)
    leads, gains = correction.leads_and_gains(1e-3)
    assert response * gains @ np.exp(s * leads) == pytest.approx(1.0, abs=1e-4)


def test_kalman_solves_its_riccati_equation_and_the_scalar_case_in_closed_form() -> None:
    a, q, r = 0.9, 0.4, 2.0
    m, l, p = kalman([[a]], [[1.0]], [[q]], [[r]])
    positive = (q - r * (1 - a * a) + np.sqrt((q - r * (1 - a * a)) ** 2 + 4 * q * r)) / 2
    assert p[0, 0] == pytest.approx(positive, rel=1e-12)
    assert m[0, 0] == pytest.approx(positive / (positive + r), rel=1e-12)
    assert l[0, 0] == pytest.approx(a * m[0, 0], rel=1e-12)


def test_inverse_times_plant_is_the_low_pass() -> None:
    dt, plant = 1 / 4096, electric_drive()
    frequency = np.array([0.5, 5.0, 20.0, 60.0])
    _, inverse = sosfreqz(inverse_with_low_pass(plant, order=3, corner=50.0, dt=dt), worN=frequency, fs=1 / dt)
    np.testing.assert_allclose(inverse * plant.response(frequency), low_pass(3, 50.0).response(frequency), rtol=5e-3)


def test_lqg_feedback_reproduces_the_published_second_order_design() -> None:
    """(q, w) = (1000, 100) on a second-order 50 Hz Butterworth: K = (39217.9 s + 2.53848e7)/(s^2 + 3463.2 s + 5.99693e6)."""
    dt = 1e-5
    a, b, c, d = lqg_feedback(low_pass(2, 50.0), error_weight=1000.0, process_noise=100.0, dt=dt)
    expected = TransferFunction([39217.9, 2.53848e7], [1.0, 3463.2, 5.99693e6]).discretise(dt, "tustin")
    z = np.exp(2j * np.pi * np.array([1.0, 50.0, 300.0]) * dt)
    for value in z:
        got = (c @ np.linalg.solve(value * np.eye(2) - a, b) + d)[0, 0]
        want = (expected.C @ np.linalg.solve(value * np.eye(2) - expected.A, expected.B) + expected.D)[0, 0]
        assert got == pytest.approx(want, rel=1e-5)


def test_margins_of_a_third_order_lag() -> None:
    """L = k / (s + 1)^3 turns unstable at k = 8, where w = sqrt 3."""
    f = np.geomspace(1e-3, 10.0, 20_000)
    loop = TransferFunction([4.0], [1.0, 3.0, 3.0, 1.0])
    found = margins(f, loop.response(f))
    assert found.gain == pytest.approx(2.0, rel=1e-4)
    w = np.sqrt(4 ** (2 / 3) - 1)
    phase = np.pi - 3 * np.arctan(w)
    assert found.phase == pytest.approx(phase, rel=1e-4)
    assert found.delay == pytest.approx(phase / w, rel=1e-4)
    assert found.sensitivity == pytest.approx(np.max(1 / np.abs(1 + loop.response(f))))
    quiet = margins(f, TransferFunction([0.5], [1.0, 1.0]).response(f))
    assert (quiet.gain, quiet.phase, quiet.delay) == (np.inf, np.inf, np.inf)


def test_weights_are_inverse_scales() -> None:
    error, move = weights(error=[1e-3, 2.0], move=0.5)
    np.testing.assert_allclose(error, [1e3, 0.5])
    np.testing.assert_allclose(move, [2.0])
