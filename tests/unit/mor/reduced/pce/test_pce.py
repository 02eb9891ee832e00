"""A fitted expansion: its numbers against a slow twin and against closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mor import Dataset, LogNormal, Normal, ParameterSpace, Pce, Uniform, fit_pce, ishigami, lhs, short_column, sobol_g
from rt_runtime.errors import ConfigError
from tests.reference import pce_twin

SPACE = ParameterSpace({"a": Uniform(-1.0, 3.0), "b": Normal(2.0, 0.5), "c": LogNormal(0.1, 0.3)})


@pytest.fixture(scope="module")
def two_outputs() -> Pce:
    X = lhs(SPACE, 120, seed=1).points
    Y = np.column_stack([np.sin(X[:, 0]) * X[:, 1] + np.log(X[:, 2]), X[:, 0] ** 2 - X[:, 1] * X[:, 2]])
    return fit_pce(Dataset(X, Y, SPACE.ports, {"p": "N", "q": "m"}), SPACE)


def test_predictions_are_the_sum_of_the_terms(two_outputs: Pce) -> None:
    X = SPACE.sample(40, seed=3)
    expected = pce_twin.predict(two_outputs, SPACE, X)
    np.testing.assert_allclose(two_outputs.predict(X), expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(two_outputs.basis(X) @ two_outputs.coefficients, expected, rtol=1e-11, atol=1e-12)


def test_more_rows_than_a_block_and_a_rest(two_outputs: Pce) -> None:
    X = SPACE.sample(300, seed=4)
    np.testing.assert_allclose(
        two_outputs.predict(X), two_outputs.basis(X) @ two_outputs.coefficients, rtol=1e-11, atol=1e-11
    )


def test_moments_are_those_of_samples(two_outputs: Pce) -> None:
    Y = two_outputs.predict(lhs(SPACE, 200_000, seed=5).points)
    np.testing.assert_allclose(two_outputs.mean, Y.mean(axis=0), rtol=5e-3, atol=5e-3)
    np.testing.assert_allclose(two_outputs.variance, Y.var(axis=0), rtol=2e-2)


@pytest.mark.parametrize("problem", [ishigami(), short_column()], ids=lambda p: p.name)
def test_moments_and_sobol_indices_of_closed_forms(problem) -> None:
    model = fit_pce(problem.dataset(200, seed=0), problem.space)
    assert model.mean[0] == pytest.approx(problem.mean, rel=1e-5)
    assert model.variance[0] == pytest.approx(problem.variance, rel=1e-4)
    np.testing.assert_allclose(model.sobol_first()[0], problem.first, atol=1e-4)
    np.testing.assert_allclose(model.sobol_total()[0], problem.total, atol=1e-4)


def test_sobol_indices_of_a_kinked_function() -> None:
    problem = sobol_g((0.0, 1.0, 4.5, 9.0))
    model = fit_pce(problem.dataset(500, seed=0), problem.space)
    np.testing.assert_allclose(model.sobol_first()[0], problem.first, atol=5e-3)
    np.testing.assert_allclose(model.sobol_total()[0], problem.total, atol=5e-3)


def test_second_order_indices_and_groups() -> None:
    problem = ishigami()
    model = fit_pce(problem.dataset(200, seed=0), problem.space)
    second = model.sobol_second()[0]
    assert second[0, 2] == second[2, 0] == pytest.approx(problem.total[2], abs=1e-6)
    assert second[0, 1] == pytest.approx(0.0, abs=1e-9)
    assert model.sobol("x1", "x3")[0] == pytest.approx(second[0, 2])
    assert model.sobol("x2")[0] == pytest.approx(problem.first[1], abs=1e-6)
    assert np.trace(second) == 0.0
    with pytest.raises(ConfigError, match=r"Inputs of Pce.sobol must be among x1, x2, x3, got z"):
        model.sobol("x1", "z")


def test_univariate_effect_is_the_conditional_mean() -> None:
    problem = ishigami()
    model = fit_pce(problem.dataset(200, seed=0), problem.space)
    x = np.linspace(-3.0, 3.0, 11)
    np.testing.assert_allclose(model.effect("x2", x)[:, 0], 7 * np.sin(x) ** 2 - 3.5, atol=1e-6)
    np.testing.assert_allclose(model.effect("x3", x)[:, 0], 0.0, atol=1e-6)
    with pytest.raises(ConfigError, match=r"Input of Pce.effect must be one of x1, x2, x3, got 'y'"):
        model.effect("y", x)


def test_shapes_that_do_not_fit_are_refused(two_outputs: Pce) -> None:
    with pytest.raises(ConfigError, match=r"loo of a PCE with 3 inputs, 2 outputs and .* must have shape \(2,\)"):
        replace(two_outputs, loo=np.zeros(3))
    with pytest.raises(ConfigError, match="indices of a PCE must lie between 0 and"):
        replace(two_outputs, indices=two_outputs.indices + 50)


def test_single_points_cost_no_detour(two_outputs: Pce) -> None:
    """The count of work that stands for the time: terms in nested order are at most a few more than terms."""
    assert two_outputs.program.depth.size < 2 * two_outputs.terms
    assert two_outputs.cost < 3 + 2 * 3 * two_outputs.degree + 2 * 2 * two_outputs.terms
