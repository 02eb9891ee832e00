"""PC-Kriging: equal to ordinary Kriging on a constant trend, exact where the trend contains the truth."""

from __future__ import annotations

import numpy as np
import pytest

from mor import Dataset, ParameterSpace, Uniform, fit_kriging, fit_pck, lhs
from mor.reduced.pce.fit import term_order
from rt_runtime.errors import ConfigError

SPACE = ParameterSpace({"x": Uniform(-5.0, 10.0), "y": Uniform(0.0, 15.0)})


def branin(X: np.ndarray) -> np.ndarray:
    x, y = X.T
    ridge = y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6
    return ridge**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10


def rows(n: int, seed: int = 0) -> Dataset:
    X = lhs(SPACE, n, seed=seed).points
    return Dataset(X, branin(X), SPACE.ports, {"z": ""})


def error(model: object) -> float:
    X = SPACE.sample(5000, seed=1)
    return float(np.mean((model.predict(X)[:, 0] - branin(X)) ** 2) / branin(X).var())  # type: ignore[attr-defined]


def test_optimal_on_branin() -> None:
    model = fit_pck(rows(20), SPACE)
    assert error(model) < 1e-6
    assert 1 < model.used.sum() < 16
    assert model.loo[0] < 1e-4
    assert error(fit_kriging(rows(20), SPACE)) > 100 * error(model)


def test_sequential_takes_all_terms() -> None:
    model = fit_pck(rows(40), SPACE, method="sequential")
    assert int(model.used.sum()) == len(term_order(rows(40), SPACE, room=30, whole=False)[0][0][0])
    assert error(model) < 1e-4


def test_a_polynomial_is_found_exactly() -> None:
    X = lhs(SPACE, 30, seed=3).points
    y = 1.0 + X[:, 0] * X[:, 1] - 0.1 * X[:, 0] ** 2
    model = fit_pck(Dataset(X, y, SPACE.ports, {"z": ""}), SPACE)
    new = SPACE.sample(200, seed=2)
    assert np.abs(model.predict(new)[:, 0] - (1.0 + new[:, 0] * new[:, 1] - 0.1 * new[:, 0] ** 2)).max() < 1e-7


def test_constant_trend_is_ordinary_kriging() -> None:
    given = fit_kriging(rows(25), SPACE, trend=np.zeros((1, 2), dtype=np.int64), kernel="gaussian", interactions=False)
    plain = fit_kriging(rows(25), SPACE, kernel="gaussian", interactions=False)
    X = SPACE.sample(10, seed=0)
    np.testing.assert_array_equal(given.predict(X), plain.predict(X))


def test_wrong_method_gets_a_sentence() -> None:
    with pytest.raises(ConfigError, match="method of fit_pck must be one of 'optimal', 'sequential'"):
        fit_pck(rows(20), SPACE, method="best")
