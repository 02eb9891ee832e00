"""Noisy rows: few terms, close to the truth behind them, and the noise is said; as close by PC-Kriging."""

from __future__ import annotations

import numpy as np
import pytest

from mor import Dataset, ParameterSpace, Uniform, fit_kriging, fit_pce, fit_pck, lhs
from rt_runtime.errors import ConfigError

SPACE = ParameterSpace({name: Uniform(-1.0, 1.0) for name in "abcd"})


def truth(X: np.ndarray) -> np.ndarray:
    return np.sin(3 * X[:, 0]) * X[:, 1] + np.cos(4 * X[:, 2]) + X[:, 3] ** 2 + 0.3 * X[:, 0] * X[:, 3]


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_the_expansion_does_not_follow_the_noise(share: float) -> None:
    X = lhs(SPACE, 150, seed=410).points
    std = share * truth(X).std()
    data = Dataset(X, truth(X) + std * np.random.default_rng(410).standard_normal(150), SPACE.ports, {"y": "N"})
    new = SPACE.sample(3000, seed=1)
    model = fit_pce(data, SPACE, method="smooth")
    error = np.mean((model.predict(new)[:, 0] - truth(new)) ** 2) / truth(new).var()
    assert model.terms < 60
    assert error < 0.6 * share**2
    assert model.fit["outputs"][0]["noise_std"] == pytest.approx(std, rel=0.3)
    kriging = fit_kriging(data, SPACE, kernel="matern52", noise="learned")
    other = np.mean((kriging.predict(new)[:, 0] - truth(new)) ** 2) / truth(new).var()
    assert error < 3.0 * other
    both = fit_pck(data, SPACE)
    last = np.mean((both.predict(new)[:, 0] - truth(new)) ** 2) / truth(new).var()
    assert last < 1.5 * other  # a trend picked by the plain leave-one-out error is many times worse
    assert both.fit["outputs"][0]["noise_std"] == pytest.approx(std, rel=0.3)


@pytest.mark.parametrize("method", ["smooth", "omp", "ols"])
def test_weights_say_which_rows_are_noisier(method: str) -> None:
    X = lhs(SPACE, 160, seed=11).points
    level = np.where(np.arange(160) % 2, 1.0, 0.02)
    y = X[:, 0] + X[:, 1] * X[:, 2] + level * np.random.default_rng(3).standard_normal(160)
    data = Dataset(X, y, SPACE.ports, {"y": "N"})
    new = SPACE.sample(2000, seed=1)
    truth = new[:, 0] + new[:, 1] * new[:, 2]
    options = {} if method == "smooth" else {"degree": 2}
    told = fit_pce(data, SPACE, method=method, weights=1.0 / level**2, **options)
    plain = fit_pce(data, SPACE, method=method, **options)
    errors = [np.mean((m.predict(new)[:, 0] - truth) ** 2) for m in (told, plain)]
    assert errors[0] < 0.1 * errors[1]
    even = fit_pce(data, SPACE, method=method, weights=np.full(160, 7.0), **options)
    np.testing.assert_allclose(even.predict(new), plain.predict(new), rtol=1e-6, atol=1e-8)


def test_wrong_weights_get_a_sentence() -> None:
    X = lhs(SPACE, 20, seed=1).points
    data = Dataset(X, X.sum(axis=1), SPACE.ports, {"y": "N"})
    with pytest.raises(ConfigError, match="weights of fit_pce must be positive, got -1"):
        fit_pce(data, SPACE, weights=np.r_[-1.0, np.ones(19)])
    with pytest.raises(ConfigError, match="weights of fit_pce must have"):
        fit_pce(data, SPACE, weights=np.ones(3))
    with pytest.raises(ConfigError, match="weights of fit_pce are for the methods"):
        fit_pce(data, SPACE, weights=np.ones(20), method="lar")
