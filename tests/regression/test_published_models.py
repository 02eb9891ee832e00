"""Printed prediction models and Kalman gains of Tsokanas, Wagg and Stojadinovic, from their transfer functions."""

from __future__ import annotations

import numpy as np

from mor.dynamics.control_design import companion, prediction_model
from mor.dynamics.transfer import TransferFunction
from mor.models.actuators import PENDULUM_HYDRAULIC, electric_drive
from mor.models.cart_pendulum import linearised


def test_cart_and_pendulum() -> None:
    """Seven states at 1024 Hz, with the printed sign of the pendulum and the output gain 1.0261."""
    specimen = TransferFunction([0.5, 0.0007823, 8.058], [1.0, 0.001963, 15.07, 0.007, 0.0])
    plant = companion(PENDULUM_HYDRAULIC.around(specimen), subdiagonal=[1024, 512, 256, 256, 16, 16], input_gain=16.0)
    model = prediction_model(plant, 1 / 1024)
    A = np.array(
        [
            [0.4762, -0.3993, -0.2475, -0.2307, -0.2279, -0.0009, -0.0143],
            [0.7532, 0.7912, -0.1315, -0.1222, -0.1272, -0.0005, -0.008],
            [0.2103, 0.4645, 0.9775, -0.0209, -0.0223, 0, -0.0014],
            [0.0184, 0.0603, 0.2486, 0.9987, -0.0014, 0, 0],
            [0.0012, 0.0051, 0.0312, 0.2499, 1, 0, 0],
            [0, 0, 0.0002, 0.002, 0.0156, 1, 0],
            [0, 0, 0, 0, 0.0001, 0.0156, 1],
        ]
    )
    np.testing.assert_allclose(model.A[:7, :7], A, rtol=0, atol=1e-4)
    np.testing.assert_allclose(model.B[:7, 0], [0.0118, 0.0066, 0.0012, 0, 0, 0, 0], rtol=0, atol=1e-4)
    np.testing.assert_allclose(model.C[0, :7], [0, 0, 0, 0, 19.86, 0.002, 1.25], rtol=0, atol=2e-3)
    M = [0.0071, -0.0147, -0.0215, 0.0082, 0.0135, 0.0002, -0.0003, 0.0008]
    L = [0.0096, -0.0062, -0.0269, 0.0021, 0.0148, 0.0004, -0.0003, 0.0008]
    np.testing.assert_allclose(model.gain[:, 0], M, rtol=0, atol=1e-4)
    np.testing.assert_allclose((model.A @ model.gain)[:, 0], L, rtol=0, atol=1e-4)


def test_printed_specimen_of_the_cart_is_the_linearisation_with_the_printed_sign() -> None:
    found = linearised(printed_sign=True)
    np.testing.assert_allclose(found.numerator, [0.5, 0.0007823, 8.058], rtol=2e-4)
    np.testing.assert_allclose(found.denominator, [1.0, 0.001963, 15.07, 0.007, 0.0], rtol=1e-2, atol=1e-9)


def test_electric_actuator() -> None:
    model = prediction_model(companion(electric_drive(), subdiagonal=[64.0], input_gain=8.0), 1 / 1024)
    np.testing.assert_allclose(model.A[:2, :2], [[0.7693, -0.0411], [0.0550, 0.9987]], rtol=0, atol=1e-4)
    np.testing.assert_allclose(model.B[:2, 0], [0.0069, 0.0002], rtol=0, atol=5e-4)
    np.testing.assert_allclose(model.C[0], [0.0, 5.98, 1.0], rtol=0, atol=5e-3)
    np.testing.assert_allclose(model.gain[:, 0], [0.037e-3, 0.721e-3, 0.974e-3], rtol=0, atol=2e-6)
    np.testing.assert_allclose((model.A @ model.gain)[:, 0], [-0.001e-3, 0.723e-3, 0.974e-3], rtol=0, atol=2e-6)


def test_motor_of_the_motorcycle() -> None:
    plant = TransferFunction([5657.0], [1.0, 78.62, 5657.0])
    model = prediction_model(companion(plant, subdiagonal=[64.0], input_gain=8.0), 1 / 2500)
    np.testing.assert_allclose(model.A[:2, :2], [[0.96859, -0.0348], [0.02519, 0.9996]], rtol=0, atol=1e-4)
    np.testing.assert_allclose(model.B[:2, 0], [0.0031, 0.0], rtol=0, atol=1e-4)
    np.testing.assert_allclose(model.C[0], [0.0, 11.0488, 1.0], rtol=0, atol=1e-4)
    np.testing.assert_allclose(model.gain[:, 0], [0.195e-3, 0.912e-3, 0.398e-3], rtol=0, atol=2e-6)
    np.testing.assert_allclose((model.A @ model.gain)[:, 0], [0.157e-3, 0.917e-3, 0.398e-3], rtol=0, atol=2e-6)
