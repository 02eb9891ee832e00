"""Solvers for few terms: against refits by hand, and honest about their error."""

from __future__ import annotations

import numpy as np
import pytest

from mor.marginals import Uniform
from mor.reduced.pce.basis import index_set, matrix, recurrence_table, values
from mor.reduced.pce.sparse import Products, _lar_path, _omp_path, _Rows, lar, ols, omp


def legendre(n: int, dimension: int, degree: int, seed: int = 0) -> np.ndarray:
    Z = np.random.default_rng(seed).uniform(-1.0, 1.0, (n, dimension))
    table = recurrence_table((Uniform(-1.0, 1.0),) * dimension, degree)
    return matrix(values(Z, table), index_set(dimension, degree))


def test_ols_is_least_squares_and_its_error_that_of_leaving_out_each_row() -> None:
    A = legendre(60, 2, 4)
    Y = np.random.default_rng(1).normal(size=(60, 3)) + A[:, [1, 2, 3]]
    coefficients, loo = ols(A, Y)
    np.testing.assert_allclose(coefficients, np.linalg.lstsq(A, Y, rcond=None)[0], rtol=1e-9)
    left_out = np.array([
        Y[i] - A[i] @ np.linalg.lstsq(np.delete(A, i, 0), np.delete(Y, i, 0), rcond=None)[0] for i in range(60)
    ])  # fmt: skip
    factor = 60 / (60 - A.shape[1]) * (1 + np.trace(np.linalg.inv(A.T @ A)))
    np.testing.assert_allclose(loo, np.mean(left_out**2, axis=0) / np.var(Y, axis=0) * factor, rtol=1e-8)


@pytest.mark.parametrize("solver", [omp, lar])
def test_greedy_solvers_find_the_few_terms_of_an_exact_sum(solver) -> None:
    A = legendre(80, 4, 5)  # 126 columns, more than rows
    true = {0: 1.0, 3: -2.0, 17: 0.5, 60: 0.25, 111: 0.1}
    y = sum(c * A[:, j] for j, c in true.items())
    fit = solver(A, y)
    found = dict(zip(fit.columns.tolist(), fit.coefficients, strict=True))
    assert fit.loo < 1e-20
    for j, c in true.items():
        assert found[j] == pytest.approx(c, rel=1e-9)


@pytest.mark.parametrize("solver", [omp, lar])
def test_error_of_greedy_solvers_is_honest(solver) -> None:
    """Pure noise must not look predictable, however many columns there are to pick from."""
    A = legendre(60, 4, 5)
    errors = [solver(A, np.random.default_rng(seed).normal(size=60)).loo for seed in range(5)]
    assert min(errors) > 0.8


@pytest.mark.parametrize("likely", [[], [1, 2, 7]])
@pytest.mark.parametrize("fold", [-1, 0, 3])
def test_matching_pursuit_takes_the_column_after_which_least_is_left(fold: int, likely: list[int]) -> None:
    """Against least squares with each column in turn, over all rows and over those without a fold."""
    A = legendre(70, 3, 4)
    y = np.exp(A[:, 1]) * A[:, 2] + 0.1 * np.random.default_rng(2).normal(size=70)
    products = Products(A, likely)
    A, y = A[products.order], y[products.order]
    inside, out = products.rows(fold)
    path = _omp_path(products, y, products.with_values(y), fold, 8)
    assert out.size == (0 if fold < 0 else 14) and path.order[0] == 0
    assert products.taken == set(path.order)
    for size in range(1, 8):
        left = {}
        for j in set(range(A.shape[1])) - set(path.order[:size]):
            B = A[inside][:, [*path.order[:size], j]]
            left[j] = np.sum((y[inside] - B @ np.linalg.lstsq(B, y[inside], rcond=None)[0]) ** 2)
        assert path.order[size] == min(left, key=left.__getitem__)
        B = A[:, path.order[: size + 1]]
        c = np.linalg.lstsq(B[inside], y[inside], rcond=None)[0]
        if fold >= 0:
            assert path.out[size] == pytest.approx(np.sum((y[out] - B[out] @ c) ** 2), rel=1e-9)
        else:
            left_out = [
                y[i] - B[i] @ np.linalg.lstsq(np.delete(B, i, 0), np.delete(y, i), rcond=None)[0] for i in range(70)
            ]
            factor = 70 / (70 - size - 1) * (1 + np.trace(np.linalg.inv(B.T @ B)))
            assert path.loo[size] == pytest.approx(np.mean(np.square(left_out)) / np.var(y) * factor, rel=1e-8)


def test_an_attempt_that_cannot_win_ends_early() -> None:
    A = legendre(60, 4, 5)
    fit = omp(A, np.random.default_rng(0).normal(size=60), beat=1e-6)
    assert fit.columns.size == 0
    assert fit.loo > 4e-6


def test_least_angle_path_keeps_all_correlations_of_chosen_columns_equal() -> None:
    """The defining property: rebuild the LAR estimate step by step from its order, solving for equal correlations."""
    A = legendre(50, 3, 3)
    y = A[:, 1] - 0.5 * A[:, 4] + 0.2 * A[:, 9] + 0.05 * np.random.default_rng(3).normal(size=50)
    y = y - y.mean()
    order = _lar_path(_Rows(A, y, np.empty((0, A.shape[1])), np.empty(0)), 8).order[1:]
    X = A - A.mean(axis=0)
    X = X / np.maximum(np.linalg.norm(X, axis=0), 1e-12)
    estimate = np.zeros(50)
    for step, j in enumerate(order):
        correlation = X.T @ (y - estimate)
        active = order[: step + 1]
        top = np.abs(correlation).max()
        np.testing.assert_allclose(np.abs(correlation[active]), top, rtol=1e-8)
        assert int(np.argmax(np.abs(np.where(np.isin(np.arange(len(correlation)), order[:step]), 0, correlation)))) == j
        S = X[:, active] * np.sign(correlation[active])
        w = np.linalg.solve(S.T @ S, np.ones(len(active)))
        u = S @ (w / np.sqrt(w.sum()))
        a, unit = X.T @ u, 1 / np.sqrt(w.sum())
        others = np.setdiff1d(np.flatnonzero(np.linalg.norm(A - A.mean(axis=0), axis=0) > 1e-9), active)
        steps = np.concatenate([(top - correlation[others]) / (unit - a[others]),
                                (top + correlation[others]) / (unit + a[others])])  # fmt: skip
        estimate = estimate + steps[steps > 1e-12].min() * u


@pytest.mark.parametrize("solver", [omp, lar])
@pytest.mark.parametrize("n", [3, 4])
def test_fewer_rows_than_folds(solver, n: int) -> None:
    A = legendre(n, 1, 2)
    fit = solver(A, 1.0 + 0.5 * A[:, 1])
    assert fit.columns[0] == 0 and np.isfinite(fit.coefficients).all()
