"""Predictive tracking with its preview inside: the same numbers as its parts, many channels, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag

from mor import prediction_model
from mor.dynamics.tracking_design import parallel
from mor.models.multi_axial.loading_box import actuators
from rt_runtime import ConfigError, Extrapolator, FromState, Horizon, Mpc, Polynomial, PredictionModel, TrackingMpc

DT = 1e-3
PLANTS = list(actuators(1).values())
HORIZON = Horizon(30, 1.0, 0.003, control=10, bounds=(-0.05, 0.05))


def model(plant):
    return prediction_model(plant, DT, input_variance=1e-10, noise_variance=1e-10, disturbance_gain=1e-6)


def signals(n: int, p: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    walk = np.cumsum(np.cumsum(rng.normal(size=(n, p)), axis=0), axis=0) * 1e-7
    return walk, np.roll(walk, 20, axis=0) + 1e-5 * rng.normal(size=(n, p))


def test_it_is_an_extrapolator_in_front_of_a_predictive_controller() -> None:
    plant = model(parallel(PLANTS[:2]))
    tracking = TrackingMpc(plant, HORIZON, preview=Polynomial(3, 12, 0.5))
    ahead = Extrapolator(order=3, spacing=12, leads=np.arange(1, 31) + 0.5, channels=2)
    mpc = Mpc(plant, tracking.horizon)
    for r, y in zip(*signals(300, 2), strict=True):
        expected = mpc.step(0.0, np.r_[ahead.step(0.0, r), y])
        assert np.allclose(tracking.step(0.0, np.r_[r, y]), expected, atol=1e-12)


def test_preview_from_the_numerical_state_adds_its_change_to_the_target() -> None:
    plant = model(PLANTS[0])
    rng = np.random.default_rng(1)
    change = rng.normal(size=(30, 1, 4)) * 1e-3
    tracking, mpc = (
        TrackingMpc(plant, HORIZON, preview=FromState(change)),
        Mpc(plant, TrackingMpc(plant, HORIZON).horizon),
    )
    assert tracking.n_in == 6
    for r, y in zip(*signals(200, 1), strict=True):
        x = rng.normal(size=4)
        expected = mpc.step(0.0, np.r_[r + (change @ x)[:, 0], y])
        assert np.allclose(tracking.step(0.0, np.r_[r, y, x]), expected, atol=1e-14)


def test_one_controller_for_six_channels_without_coupling_is_six_controllers() -> None:
    free = Horizon(30, 1.0, 0.003, control=10)
    parts = [model(plant) for plant in PLANTS]
    joined = (block_diag(*(getattr(part, name) for part in parts)) for name in ("A", "B", "C", "gain"))
    together = TrackingMpc(PredictionModel(*joined, DT), free)
    alone = [TrackingMpc(model(plant), free) for plant in PLANTS]
    assert together.n_state == 6 * 6 + 6 + 6 + 6 * 37
    for r, y in zip(*signals(200, 6), strict=True):
        expected = [each.step(0.0, np.array([r[i], y[i]]))[0] for i, each in enumerate(alone)]
        assert np.allclose(together.step(0.0, np.r_[r, y])[:6], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Polynomial(order=5), "order of Polynomial must be 1 to 4, got 5"),
        (lambda: Polynomial(spacing=0), "spacing of Polynomial must be a whole number of at least 1"),
        (lambda: Polynomial(lead=-1.0), "lead of Polynomial must lie between 0 and 100 control intervals, got -1.0"),
        (lambda: FromState(np.full((30, 1, 2), np.nan)), "change of FromState must be finite"),
        (
            lambda: TrackingMpc(model(PLANTS[0]), HORIZON, preview=FromState(np.zeros((10, 1, 2)))),
            r"change of the preview of TrackingMpc must have shape \(30, 1, n\) .* got \(10, 1, 2\)",
        ),
        (lambda: TrackingMpc(model(PLANTS[0]), HORIZON, preview="cubic"), "must be a Polynomial or FromState"),
    ],
)
def test_refusals(make, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        make()
