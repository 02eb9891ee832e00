"""The solver with a learned prior, against formulas written out and brute force."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from mor.marginals import Uniform
from mor.reduced.pce import gaussian_prior as module
from mor.reduced.pce.basis import index_set, matrix, recurrence_table, values
from mor.reduced.pce.gaussian_prior import DECAYS, Prior, _posterior, heaviest, learn_priors, smooth


def samples(n: int, dimension: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    Z = np.random.default_rng(5).uniform(-1.0, 1.0, (n, dimension))
    return Z, values(Z, recurrence_table((Uniform(-1.0, 1.0),) * dimension, degree))


def test_heaviest_products_are_those_of_brute_force() -> None:
    weights = np.random.default_rng(0).uniform(0.0, 1.5, (3, 4))
    indices, prior = heaviest(weights, 30)
    padded = np.column_stack([np.ones(3), weights])
    everything = sorted(
        (float(np.prod(padded[range(3), alpha])) for alpha in itertools.product(range(5), repeat=3)), reverse=True
    )
    np.testing.assert_allclose(prior, np.prod(padded[np.arange(3), indices], axis=1))
    assert not indices[0].any()
    np.testing.assert_allclose(np.sort(np.append(prior, everything[29]))[::-1][:29], everything[:29], rtol=1e-12)


@pytest.mark.parametrize("dual", [10_000, 0], ids=["rows", "coefficients"])
def test_posterior_is_ridge_regression_and_its_error_that_of_leaving_out(
    dual: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_DUAL", dual)
    Z, psi = samples(40, 2, 5)
    A = matrix(psi, index_set(2, 5))
    prior = 0.5 ** index_set(2, 5).sum(axis=1)
    y = np.sin(2 * Z[:, 0]) * Z[:, 1]
    nu = 1e-3 * np.mean(np.sum(A**2 * prior, axis=1))

    def ridge(A: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.linalg.solve(A.T @ A + nu * np.diag(1 / prior), A.T @ y)

    solved = _posterior(A, prior, 1e-3, y)
    assert solved is not None
    np.testing.assert_allclose(solved[0], ridge(A, y), rtol=1e-6, atol=1e-9)
    left_out = [y[i] - A[i] @ ridge(np.delete(A, i, 0), np.delete(y, i)) for i in range(40)]
    np.testing.assert_allclose(solved[1], left_out, rtol=1e-6, atol=1e-9)


def test_prior_learns_importance_and_symmetry() -> None:
    Z, psi = samples(120, 3, 10)
    y = np.cos(2 * Z[:, 0]) + 0.1 * Z[:, 1]  # even in the first, odd in the second, not in the third
    [prior] = learn_priors(psi, y, np.full(3, 10), "exponential")
    weights, noise = prior.weights, prior.noise
    assert weights[0, 1] > 1e3 * weights[0, 0]
    assert weights[1, 0] > 1e3 * weights[1, 1]
    assert weights[0].max() > 1e3 * weights[2].max()
    assert noise < 1e-6


def test_noise_is_told_from_signal() -> None:
    Z, psi = samples(150, 2, 12)
    noise = 0.1 * np.random.default_rng(0).normal(size=150)
    y = np.exp(Z[:, 0]) * (1 + 0.3 * Z[:, 1])
    found = smooth(psi, y + noise, learn_priors(psi, y + noise, np.full(2, 12), "exponential"))
    assert found is not None
    indices, fit = found
    error = matrix(psi, indices[fit.columns]) @ fit.coefficients - y
    assert np.std(error) < 0.04
    assert fit.loo * np.var(y + noise) == pytest.approx(0.01, rel=0.35)


def test_dropped_terms_carry_next_to_nothing() -> None:
    Z, psi = samples(100, 2, 12)
    y = 1 / (1.5 + Z[:, 0] + 0.4 * Z[:, 1])
    found = smooth(psi, y, learn_priors(psi, y, np.full(2, 12), "exponential"))
    assert found is not None
    indices, fit = found
    assert len(fit.columns) < len(indices)
    residual = matrix(psi, indices[fit.columns]) @ fit.coefficients - y
    assert np.mean(residual**2) < 2 * fit.loo * np.var(y)


def test_noisy_rows_are_fitted_by_an_average_over_priors() -> None:
    """Weights exp(-AIC / 2): predictions and residuals are averages, and a prior twice is that prior."""
    Z, psi = samples(80, 2, 12)
    y = np.exp(Z[:, 0]) * Z[:, 1] + 0.3 * np.random.default_rng(1).normal(size=80)
    priors = [p for decay in DECAYS for p in learn_priors(psi, y, np.full(2, 12), decay)]
    assert len(priors) == 6
    assert 0.4 < min(priors, key=lambda p: p.criterion).share * np.var(y) / 0.09 < 1.5

    def predicted(priors: list[Prior]) -> tuple[np.ndarray, float]:
        found = smooth(psi, y, priors)
        assert found is not None
        indices, fit = found
        assert not indices[0].any()
        return matrix(psi, indices[fit.columns]) @ fit.coefficients, fit.loo

    two = [replace(priors[1], criterion=0.0), replace(priors[5], criterion=np.log(3.0))]
    mean, loo = predicted(two)
    parts = [predicted([p]) for p in two]
    np.testing.assert_allclose(mean, 0.75 * parts[0][0] + 0.25 * parts[1][0], atol=0.05 * y.std())
    assert loo <= 0.75 * parts[0][1] + 0.25 * parts[1][1]
    same, error = predicted([two[0], two[0]])
    np.testing.assert_allclose(same, parts[0][0], atol=1e-9)
    assert error == pytest.approx(parts[0][1])
