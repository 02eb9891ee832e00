"""Bootstrap intervals: of the width of theory, and around the truth."""

from __future__ import annotations

import numpy as np
import pytest

from mor import Dataset, ParameterSpace, Uniform, bootstrap, fit_pce, ishigami, lhs
from rt_runtime.errors import ConfigError

SPACE = ParameterSpace({"a": Uniform(-1.0, 1.0), "b": Uniform(-1.0, 1.0)})


def noisy(n: int, seed: int = 0) -> Dataset:
    X = lhs(SPACE, n, seed=seed).points
    y = 1.0 + 2.0 * X[:, 0] + X[:, 1] + 0.5 * np.random.default_rng(seed).normal(size=n)
    return Dataset(X, y, SPACE.ports, ["y"])


def test_interval_of_the_mean_has_the_width_of_theory() -> None:
    """With terms held, the mean of n rows with noise sigma varies with sigma / sqrt(n)."""
    data = noisy(400)
    model = fit_pce(data, SPACE, method="ols", degree=1)
    found = bootstrap(model, data, replicates=400, seed=1)
    width = (found.mean.upper - found.mean.lower)[0]
    assert width == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(400), rel=0.2)
    assert found.mean.lower[0] < 1.0 < found.mean.upper[0]


def test_indices_and_predictions_lie_inside() -> None:
    data = noisy(200)
    model = fit_pce(data, SPACE, method="ols", degree=1)
    found = bootstrap(model, data, replicates=200, level=0.99, seed=1)
    assert np.all(found.sobol_first.lower[0] < [0.8, 0.2]) and np.all(found.sobol_first.upper[0] > [0.8, 0.2])
    assert found.sobol_total.lower.shape == (1, 2) and found.variance.upper[0] > found.variance.lower[0]
    band = found.predict(np.array([[0.5, -0.5]]), level=0.99)
    assert band.lower[0, 0] < 1.5 < band.upper[0, 0]


def test_more_terms_than_rows_are_no_problem() -> None:
    problem = ishigami()
    data = problem.dataset(60, seed=0)
    model = fit_pce(data, problem.space, method="smooth")
    found = bootstrap(model, data, replicates=30, seed=0)
    assert np.isfinite(found.sobol_total.upper).all()
    assert found.mean.lower[0] < model.mean[0] + 0.5 and found.mean.upper[0] > model.mean[0] - 0.5


def test_same_seed_same_intervals_and_wrong_arguments_are_refused() -> None:
    data = noisy(50)
    model = fit_pce(data, SPACE, method="ols", degree=1)
    first, second = (bootstrap(model, data, replicates=5, seed=3).mean for _ in range(2))
    np.testing.assert_array_equal(first.lower, second.lower)
    with pytest.raises(ConfigError, match="replicates of bootstrap must be a whole number of at least 2, got 1"):
        bootstrap(model, data, replicates=1, seed=0)
    with pytest.raises(ConfigError, match="level of bootstrap must lie between 0 and 1, got 95"):
        bootstrap(model, data, level=95, seed=0)
    with pytest.raises(ConfigError, match="must have the inputs and outputs of the model"):
        bootstrap(model, Dataset(data.X, data.Y, ["a", "c"], ["y"]), seed=0)
