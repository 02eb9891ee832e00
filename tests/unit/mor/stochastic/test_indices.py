"""Indices of stochastic responses against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from mor import Dataset, Glam, Normal, ParameterSpace, Uniform, fit_glam, fit_spce
from mor.stochastic import classical_indices, summary_indices, trajectory_indices
from rt_runtime.errors import ConfigError

SPACE = ParameterSpace({"a": Uniform(-1.0, 1.0), "b": Uniform(-1.0, 1.0)})


def linear(X: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Y = 2 a + b + exp(0.5 b) z: noise that b rules."""
    return np.asarray(2.0 * X[:, 0] + X[:, 1] + np.exp(0.5 * X[:, 1]) * z)


@pytest.fixture(scope="module")
def rows() -> Dataset:
    X = SPACE.sample(800, seed=1)
    y = linear(X, 0.5 * np.random.default_rng(1).standard_normal(800))
    return Dataset(X, y[:, None], SPACE.ports, {"y": ""})


@pytest.fixture(scope="module")
def model(rows: Dataset) -> Glam:
    return fit_glam(rows, SPACE)


def test_summaries(model: Glam, rows: Dataset) -> None:
    found = summary_indices(model, SPACE, n=2**10, data=rows, replicates=10)
    assert found.outputs == ("y_q05", "y_q50", "y_q95", "y_mean", "y_variance")
    assert found.first is not None and found.total is not None
    np.testing.assert_allclose(found.first.value[3], [0.8, 0.2], atol=0.05)
    assert found.first.value[4, 1] > 0.9  # the variance depends on b alone
    q95 = found.first.value[2]
    assert q95[1] > found.first.value[0, 1]  # at the upper end b adds to location and scale
    assert found.first.lower is not None and found.first.upper is not None
    assert np.all(found.first.lower[:4] < found.first.upper[:4])
    assert np.all((found.first.half_width[3] > 5e-3) & (found.first.half_width[3] < 0.08))  # of the 800 rows


def test_classical_first_order_and_no_totals(model: Glam) -> None:
    found = classical_indices(model, SPACE, n=2**10)
    noise = 0.25 * np.sinh(1.0)  # E exp(b) / 4
    total = 4.0 / 3.0 + 1.0 / 3.0 + noise
    assert found.first is not None and found.total is None
    np.testing.assert_allclose(found.first.value[0], np.array([4.0, 1.0]) / 3.0 / total, atol=0.05)
    assert found.variance.value[0] == pytest.approx(total, rel=0.06)
    assert "share of the noise" in found.notes[0]


def test_classical_intervals_are_those_of_the_rows(model: Glam, rows: Dataset) -> None:
    """Bootstrap over 800 rows: wider than the error of integration."""
    plain, fitted = (
        classical_indices(model, SPACE, n=2**11, **more) for more in ({}, {"data": rows, "replicates": 20})
    )  # type: ignore[arg-type]
    assert plain.first is not None and fitted.first is not None
    np.testing.assert_array_equal(fitted.first.value, plain.first.value)
    assert np.all(fitted.first.lower[0] < plain.first.value[0]) and np.all(plain.first.value[0] < fitted.first.upper[0])  # type: ignore[index]
    assert np.all((fitted.first.half_width > 5e-3) & (fitted.first.half_width < 0.08))
    assert np.all(plain.first.half_width < 0.5 * fitted.first.half_width)


def test_intervals_of_an_expansion_with_a_latent_variable(rows: Dataset) -> None:
    few = rows.take(np.arange(150))
    model = fit_spce(few, SPACE, degree=2, latent="normal")
    found = summary_indices(model, SPACE, levels=(0.5,), data=few, replicates=6, n=2**6)
    assert found.first is not None and np.all(found.first.lower[1] < found.first.upper[1])  # type: ignore[index]
    np.testing.assert_allclose(found.first.value[1], [0.8, 0.2], atol=0.1)


def test_trajectories_of_a_twin() -> None:
    latent = ParameterSpace({"z": Normal(0.0, 0.5)})
    found = trajectory_indices(lambda X: linear(X[:, :2], X[:, 2]), SPACE, latent, trajectories=12, n=256, seed=3)
    assert found.first is not None and found.first.lower is not None
    z = latent.sample(12, seed=3)[:, 0]
    u = np.linspace(-1.0, 1.0, 4001)
    variance = np.array([np.var(u + np.exp(0.5 * u) * one) for one in z])
    np.testing.assert_allclose(found.first.value[0, 0], np.mean((4.0 / 3.0) / (4.0 / 3.0 + variance)), atol=0.01)
    assert found.first.lower[0, 0] < found.first.value[0, 0] < found.first.upper[0, 0]  # type: ignore[index]


def test_bad_questions(model: Glam) -> None:
    with pytest.raises(ConfigError, match="stochastic emulator"):
        summary_indices(model.expansion, SPACE)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="in that order"):
        classical_indices(model, ParameterSpace({"b": SPACE["b"], "a": SPACE["a"]}))
    with pytest.raises(ConfigError, match="replicates"):
        summary_indices(model, SPACE, data=Dataset([[0.0, 0.0]], [[1.0]], SPACE.ports, {"y": ""}), replicates=1, n=16)
    with pytest.raises(ConfigError, match="trajectories"):
        trajectory_indices(lambda X: X, SPACE, SPACE, trajectories=1)
