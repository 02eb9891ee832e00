"""Transfer functions: connections, frequency response and sampling against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from mor.dynamics.transfer import StateSpaceMatrices, TransferFunction
from mor.models.actuators import ServoHydraulic, electric_drive, first_order_lag
from rt_runtime.errors import ConfigError

DT = 1 / 4096


def test_series_and_feedback_give_the_closed_loop_formula() -> None:
    s = 2j * np.pi * np.array([0.3, 2.0, 40.0])
    G, H = TransferFunction([3.0], [1.0, 2.0, 5.0]), TransferFunction([2.0, 1.0], [1.0, 7.0])
    f = s.imag / (2 * np.pi)
    np.testing.assert_allclose((G * H).response(f), G.response(f) * H.response(f), rtol=1e-12)
    g = G.response(f)
    np.testing.assert_allclose(G.feedback([4.0, 0.0]).response(f), g / (1 + 4 * s * g), rtol=1e-12)
    lagged = g / (1 + g * 4 / (s + 9))
    np.testing.assert_allclose(G.feedback([4.0], [1.0, 9.0]).response(f), lagged, rtol=1e-12)
    np.testing.assert_allclose((2.0 * G).response(f), 2 * g)


def sampled_response(model: StateSpaceMatrices, z: np.ndarray) -> np.ndarray:
    n = len(model.A)
    return np.array([(model.C @ np.linalg.solve(x * np.eye(n) - model.A, model.B) + model.D)[0, 0] for x in z])


def test_held_servo_hydraulic_equals_scipy() -> None:
    plant = ServoHydraulic().transfer_function(29.13, 114.2, 1.19e6)
    z = np.exp(1j * np.array([1.0, 30.0, 420.0]) * DT)
    num, den, _ = signal.cont2discrete((plant.numerator, plant.denominator), DT, "zoh")
    expected = np.polyval(num.ravel(), z) / np.polyval(den, z)
    np.testing.assert_allclose(sampled_response(plant.discretise(DT), z), expected, rtol=2e-6)


def test_tustin_is_the_bilinear_substitution() -> None:
    plant = ServoHydraulic().transfer_function(29.13, 114.2, 1.19e6)
    z = np.exp(1j * np.array([1.0, 30.0, 420.0]) * DT)
    s = 2 / DT * (z - 1) / (z + 1)
    expected = np.polyval(plant.numerator, s) / np.polyval(plant.denominator, s)
    np.testing.assert_allclose(sampled_response(plant.discretise(DT, "tustin"), z), expected, rtol=1e-8)


def test_realisation_keeps_the_response_and_small_entries() -> None:
    plant = ServoHydraulic().transfer_function(29.13, 114.2, 1.19e6)
    m = plant.state_space()
    s = 2j * np.pi * 12.0
    got = (m.C @ np.linalg.solve(s * np.eye(5) - m.A, m.B) + m.D)[0, 0]
    np.testing.assert_allclose(got, plant.response([12.0])[0], rtol=1e-10)
    assert np.abs(m.A).max() < 1e4


def test_direct_feedthrough_and_a_pure_gain() -> None:
    pi = TransferFunction([2.0, 95.0], [1.0, 0.0]).discretise(DT, "tustin")
    np.testing.assert_allclose(pi.D[0, 0], 2 + 95 * DT / 2)
    gain = TransferFunction([3.0], [1.0]).state_space()
    assert gain.A.shape == (0, 0) and gain.D[0, 0] == 3.0


def test_electric_drive_is_as_slow_as_published() -> None:
    drive = electric_drive()
    np.testing.assert_allclose(sorted(drive.poles.real), [-255.0, -12.0], atol=0.1)
    assert drive.phase_delay(3.6) == pytest.approx(0.052, abs=0.001)
    assert abs(drive.response([3.6])[0]) == pytest.approx(0.47, abs=0.005)
    assert first_order_lag(0.02).phase_delay(1e-3) == pytest.approx(0.02, rel=1e-4)


def test_benchmark_poles_are_the_published_ones() -> None:
    plant = ServoHydraulic().transfer_function(29.13, 2 * 0.0097 * np.sqrt(1.19e6 * 29.13), 1.19e6)
    np.testing.assert_allclose(plant.poles[0], -48.2, atol=0.05)
    np.testing.assert_allclose(np.abs(plant.poles[1]), np.hypot(184.0, 229.9), atol=0.1)
    np.testing.assert_allclose(np.abs(plant.poles[3]), np.hypot(8.0, 421.8), atol=0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TransferFunction([1.0, 0.0, 0.0], [1.0, 1.0]), "numerator of at most the degree of its denominator"),
        (lambda: TransferFunction([1.0], [0.0]), "Denominator of a transfer function must not be zero"),
        (lambda: TransferFunction([np.nan], [1.0]), "must be finite"),
        (lambda: electric_drive().discretise(0.0), "dt of discretise must be a positive number"),
        (lambda: electric_drive().discretise(0.1, "foo"), "method of discretise must be one of 'zoh', 'tustin'"),
        (lambda: electric_drive().discretise(0.1).discretise(0.1), "must be continuous"),
        (lambda: electric_drive(-1.0), "stiffness and damping of an electric drive must be positive"),
        (lambda: first_order_lag(0.0), "time_constant of a lag must be positive"),
        (lambda: ServoHydraulic().transfer_function(0.0, 1.0, 1.0), "mass of a specimen must be positive"),
    ],
)
def test_bad_input_is_named(make, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()
