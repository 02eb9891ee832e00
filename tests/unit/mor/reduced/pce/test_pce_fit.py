"""Fitting: every method, several outputs, and the sentences for data that cannot be fitted."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mor import Dataset, Normal, ParameterSpace, Uniform, fit_pce, ishigami, lhs
from rt_runtime.errors import ConfigError

SPACE = ParameterSpace({"a": Uniform(-1.0, 3.0, unit="N"), "b": Normal(2.0, 0.5)})


def data(n: int = 60, seed: int = 0) -> Dataset:
    X = lhs(SPACE, n, seed=seed).points
    return Dataset(X, np.column_stack([np.exp(0.3 * X[:, 0]) * X[:, 1], X[:, 0] - X[:, 1]]), SPACE.ports, ["p", "q"])


@pytest.mark.parametrize("method", ["auto", "ols", "omp", "lar", "smooth"])
def test_every_method_predicts_new_points(method: str) -> None:
    model = fit_pce(data(), SPACE, method=method)
    X = SPACE.sample(2000, seed=9)
    truth = np.column_stack([np.exp(0.3 * X[:, 0]) * X[:, 1], X[:, 0] - X[:, 1]])
    error = np.mean((model.predict(X) - truth) ** 2, axis=0) / truth.var(axis=0)
    assert error.max() < 1e-5
    assert np.all(error < 100 * np.maximum(model.loo, 1e-20))
    methods = {o["method"] for o in model.fit["outputs"]}
    assert methods == {method} or method == "auto"


def test_all_outputs_are_fitted_as_if_alone() -> None:
    both = data()
    X = SPACE.sample(50, seed=2)
    together = fit_pce(both, SPACE).predict(X)
    for o, port in enumerate(both.outputs):
        alone = fit_pce(Dataset(both.X, both.Y[:, o], both.inputs, [port]), SPACE).predict(X)
        np.testing.assert_allclose(together[:, o], alone[:, 0], rtol=1e-10, atol=1e-10)


def test_given_degree_q_and_interaction_are_kept() -> None:
    model = fit_pce(data(), SPACE, method="ols", degree=4, q=0.75)
    assert (model.degree, model.fit["outputs"][0]["degree"], model.fit["outputs"][0]["q"]) == (4, 4, 0.75)
    alone = fit_pce(data(), SPACE, degree=[2, 3, 4], interaction=1)
    assert np.count_nonzero(alone.indices, axis=1).max() == 1
    assert alone.fit["outputs"][0]["degree"] in (2, 3, 4)


def test_same_data_same_model() -> None:
    first, second = (fit_pce(data(), SPACE) for _ in range(2))
    assert {k: v.tobytes() for k, v in first.arrays().items()} == {k: v.tobytes() for k, v in second.arrays().items()}


def test_scale_and_offset_of_an_output_do_not_matter() -> None:
    problem = ishigami()
    plain = problem.dataset(80, seed=1)
    moved = Dataset(plain.X, 1e9 + 1e6 * plain.Y, plain.inputs, plain.outputs)
    X = problem.space.sample(200, seed=4)
    a, b = (fit_pce(d, problem.space, method="smooth").predict(X)[:, 0] for d in (plain, moved))
    assert np.sqrt(np.mean(((b - 1e9) / 1e6 - a) ** 2)) < 1e-3


def test_noise_is_not_fitted() -> None:
    X = lhs(SPACE, 200, seed=3).points
    signal = np.sin(X[:, 0]) * X[:, 1]
    noise = 0.1 * np.random.default_rng(0).normal(size=200)
    model = fit_pce(Dataset(X, signal + noise, SPACE.ports, ["y"]), SPACE)
    V = SPACE.sample(5000, seed=8)
    assert np.std(model.predict(V)[:, 0] - np.sin(V[:, 0]) * V[:, 1]) < 0.05


def test_thousands_of_rows_are_no_problem() -> None:
    problem = ishigami()
    model = fit_pce(problem.dataset(2500, seed=0), problem.space, method="smooth")
    X = problem.space.sample(1000, seed=1)
    assert np.mean((model.predict(X)[:, 0] - problem(X)) ** 2) < 1e-6


def test_domain_is_the_support_or_far_out_in_the_tails() -> None:
    lower, upper = fit_pce(data(), SPACE, degree=1, method="ols").domain
    np.testing.assert_allclose(lower, [-1.0, 2.0 - 3.719 * 0.5], rtol=1e-3)
    np.testing.assert_allclose(upper, [3.0, 2.0 + 3.719 * 0.5], rtol=1e-3)


def changed(column: int, value: float, rows: int | slice = slice(None)) -> Dataset:
    d = data()
    X, Y = d.X.copy(), d.Y.copy()
    if column < 2:
        X[rows, column] = value
    else:
        Y[rows, column - 2] = value
    return Dataset(X, Y, d.inputs, d.outputs)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda: changed(0, 1.0), "Input 'a' of the data of fit_pce must vary, got 1 in every row; leave it out"),
        (lambda: changed(1, np.nan, 3), "Column 'b' .* must be finite, got 1 rows with NaN or infinity"),
        (lambda: changed(3, np.inf, 3), "Column 'q' .* must be finite, got 1 rows"),
        (lambda: changed(0, 7.0, 3), r"Input 'a' .* must lie in \[-1, 3\] as in the space, got 1 of 60 rows outside"),
        (lambda: data(3), "must have at least 4 rows for 2 inputs, got 3"),
        (lambda: Dataset(data().X, np.empty((60, 0)), SPACE.ports, []), "must have at least one output, got none"),
        (
            lambda: Dataset(data().X, data().Y, ["b", "a"], ["p", "q"]),
            r"must be those of the space \(a, b\), in that order, got b, a",
        ),
        (
            lambda: Dataset(data().X, data().Y, ["a", "b"], ["p", "q"]),
            "'a' is in '' in the data but in 'N' in the space",
        ),
    ],
)
def test_data_that_cannot_be_fitted_is_refused(bad, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        fit_pce(bad(), SPACE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"degree": 0}, "degree of fit_pce must be a whole number of at least 1, got 0"),
        ({"degree": -2}, "degree of fit_pce must be a whole number of at least 1, got -2"),
        ({"degree": [3, 0]}, "degree of fit_pce must be a whole number of at least 1, got 0"),
        ({"method": "magic"}, "method of fit_pce must be one of 'auto', 'ols', 'omp', 'lar', 'smooth', got 'magic'"),
        ({"interaction": 0}, "interaction of fit_pce must be a whole number of at least 1, got 0"),
        ({"q": 0.0}, r"q of a polynomial basis must lie in \(0, 1\], got 0"),
        ({"method": "smooth", "degree": 3}, "must be left out for the method 'smooth': it finds the terms"),
        (
            {"method": "ols", "degree": 12},
            "must have more than 91 rows for ordinary least squares of degree 12, got 60",
        ),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        fit_pce(data(), SPACE, **arguments)


def test_of_all_solvers_least_squares_is_left_out_where_it_has_too_few_rows() -> None:
    d = data()
    model = fit_pce(d, SPACE, degree=[12, 3])
    assert np.abs(model.predict(d.X) - d.Y).max() < 1e-6 * np.abs(d.Y).max()


def test_all_problems_come_at_once() -> None:
    d = data()
    X, Y = d.X.copy(), d.Y.copy()
    X[0, 0] = Y[0, 1] = np.nan
    with pytest.raises(ConfigError, match=r"has 2 problems:\n  1\. Column 'a'.*\n  2\. Column 'q'"):
        fit_pce(Dataset(X, Y, d.inputs, d.outputs), SPACE)


def test_repeated_rows_and_constant_outputs_are_warned_of() -> None:
    d = data()
    with pytest.warns(UserWarning, match="has 60 repeated rows of inputs"):
        fit_pce(Dataset(np.vstack([d.X, d.X]), np.vstack([d.Y, d.Y]), d.inputs, d.outputs), SPACE, degree=2)
    flat = d.Y.copy()
    flat[:, 0] = 5.0
    with pytest.warns(UserWarning, match="Output 'p' of the data of fit_pce is constant; so is its model"):
        model = fit_pce(Dataset(d.X, flat, d.inputs, d.outputs), SPACE)
    np.testing.assert_allclose(model.predict(d.X)[:, 0], 5.0)
    assert model.variance[0] == 0.0 and model.loo[0] == 0.0
    assert np.isfinite(model.sobol_total()).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_pce(d, SPACE, degree=2)
