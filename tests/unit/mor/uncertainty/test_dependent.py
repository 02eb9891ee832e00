"""Copulas against closed forms and simulation; indices of dependent inputs against the linear Gaussian case."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from mor import Dataset, Normal, ParameterSpace, Uniform, fit_kriging, fit_pce, lhs
from mor.uncertainty import (
    Clayton,
    Copula,
    Frank,
    GaussianCopula,
    Gumbel,
    decouple,
    fit_copula,
    kucherenko,
    shapley,
    sobol,
)
from rt_runtime.errors import ConfigError

COPULAS: dict[str, Copula] = {
    "gaussian": GaussianCopula([[1.0, 0.5, 0.2], [0.5, 1.0, -0.3], [0.2, -0.3, 1.0]]),
    "clayton": Clayton(2.0, 3), "gumbel": Gumbel(1.8, 3), "frank": Frank(4.0, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", COPULAS)
def test_rosenblatt_map_and_its_inverse(name: str) -> None:
    copula = COPULAS[name]
    V = np.random.default_rng(0).random((400, 3))
    for order in ((0, 1, 2), (2, 0, 1)):
        W = copula.dependent(V, order)
        assert np.all((W > 0) & (W < 1))
        np.testing.assert_allclose(copula.independent(W, order), V, atol=1e-8)


@pytest.mark.parametrize("name", COPULAS)
def test_marginals_stay_uniform_and_columns_become_independent(name: str) -> None:
    copula = COPULAS[name]
    W = copula.dependent(np.random.default_rng(1).random((4000, 3)))
    for column in W.T:
        assert np.abs(np.sort(column) - (np.arange(4000) + 0.5) / 4000).max() < 0.03
    V = copula.independent(W, (1, 2, 0))  # another order than that of the sample
    assert np.abs(np.corrcoef(V.T) - np.eye(3)).max() < 0.06


@pytest.mark.parametrize("name", COPULAS)
def test_density_integrates_to_one(name: str) -> None:
    W = np.random.default_rng(2).random((200_000, 3))
    assert np.exp(COPULAS[name].log_density(W)).mean() == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(("kind", "theta", "tau"), [(Clayton, 2.0, 0.5), (Gumbel, 2.0, 0.5), (Frank, 5.736, 0.5)])
def test_theta_and_kendalls_tau(kind: type, theta: float, tau: float) -> None:
    assert kind.theta_of(tau) == pytest.approx(theta, rel=1e-3)
    W = kind(theta, 2).dependent(np.random.default_rng(3).random((3000, 2)))
    assert kendalltau(W[:, 0], W[:, 1])[0] == pytest.approx(tau, abs=0.03)
    assert type(fit_copula(W)) is kind
    assert fit_copula(W, kind.kind).theta == pytest.approx(theta, rel=0.12)  # type: ignore[attr-defined]


def space_of(copula: Copula | None) -> ParameterSpace:
    return ParameterSpace({"a": Normal(1.0, 2.0), "b": Normal(0.0, 1.0)}, copula=copula)


def test_space_with_a_copula_samples_and_is_stored() -> None:
    space = space_of(GaussianCopula([[1.0, 0.6], [0.6, 1.0]]))
    X = lhs(space, 4000, seed=0).points
    assert np.corrcoef(X.T)[0, 1] == pytest.approx(0.6, abs=0.03)
    again = ParameterSpace.from_dict(space.to_dict())
    np.testing.assert_array_equal(again.from_unit([[0.2, 0.7]]), space.from_unit([[0.2, 0.7]]))
    np.testing.assert_allclose(space.from_unit(space.to_unit(X)), X, rtol=1e-6, atol=1e-6)


def test_linear_gaussian_indices() -> None:
    """y = a + b, standard normal with correlation r: first ((1 + r)^2, same), total 1 - r^2, all over 2 + 2 r."""
    r = 0.5
    space = ParameterSpace({"a": Normal(0, 1), "b": Normal(0, 1)}, copula=GaussianCopula([[1, r], [r, 1]]))
    found = kucherenko(lambda X: X.sum(axis=1), space, n=2**12)
    assert found.first is not None and found.total is not None
    np.testing.assert_allclose(found.first.value[0], (1 + r) ** 2 / (2 + 2 * r), atol=0.01)
    np.testing.assert_allclose(found.total.value[0], (1 - r**2) / (2 + 2 * r), atol=0.01)
    effects = shapley(lambda X: X @ [1.0, 0.0], space, n=2**12).total
    assert effects is not None
    np.testing.assert_allclose(effects.value[0], [1 - r**2 / 2, r**2 / 2], atol=0.01)


def test_without_a_copula_they_are_sobol_indices() -> None:
    space = ParameterSpace({"a": Uniform(0, 1), "b": Uniform(0, 1), "c": Uniform(0, 1)})
    model = lambda X: X[:, 0] + 2 * X[:, 1] * X[:, 2]  # noqa: E731
    one, other = sobol(model, space, n=2**12), kucherenko(model, space, n=2**12)
    np.testing.assert_allclose(one.first.value, other.first.value, atol=0.01)  # type: ignore[union-attr]
    np.testing.assert_allclose(one.total.value, other.total.value, atol=0.01)  # type: ignore[union-attr]
    assert shapley(model, space, n=2**10).total.value.sum() == pytest.approx(1.0, abs=1e-9)  # type: ignore[union-attr]


def test_dependent_inputs_are_refused_where_they_make_no_sense() -> None:
    space = space_of(GaussianCopula([[1.0, 0.6], [0.6, 1.0]]))
    X = lhs(space, 60, seed=0).points
    data = Dataset(X, X[:, 0] * X[:, 1], space.ports, {"y": ""})
    with pytest.raises(ConfigError, match="must be independent, got a copula; use kucherenko or shapley"):
        sobol(lambda X: X[:, 0], space)
    with pytest.raises(ConfigError, match="must be independent, got a copula: decouple the data first"):
        fit_pce(data, space)
    assert fit_kriging(data, space, kernel="gaussian").loo[0] < 1e-3
    model = fit_pce(*decouple(data, space))
    assert model.loo[0] < 1e-6


def test_a_constant_output_has_no_indices_and_is_named() -> None:
    space = space_of(GaussianCopula([[1.0, 0.5], [0.5, 1.0]]))
    for found in (kucherenko, shapley):
        indices = found(lambda X: np.column_stack([X[:, 0], np.ones(len(X))]), space, n=64)
        assert indices.total is not None and indices.total.value[0].any() and not indices.total.value[1].any()
        assert indices.first is None or not indices.first.value[1].any()
        assert indices.notes == ("Output 'y2' does not vary: its indices are 0.",)
        assert indices.summary().endswith(indices.notes[0])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: GaussianCopula([[1.0, 1.0], [1.0, 1.0]]), "must be positive definite, got the smallest eigenvalue"),
        (lambda: GaussianCopula([[1.0, 0.2], [0.3, 1.0]]), "must be symmetric with ones on the diagonal"),
        (lambda: GaussianCopula([[1.0, 2.0], [2.0, 1.0]]), "eigenvalue -1: such correlations cannot hold together"),
        (lambda: Clayton("2"), "theta of Clayton must be finite and positive, got '2'"),  # type: ignore[arg-type]
        (lambda: fit_copula(np.arange(10.0)[:, None] * [1.0, 0.0]), "must vary, got 0 only in column 1"),
        (lambda: Clayton(-0.5), "theta of Clayton must be positive, got -0.5"),
        (lambda: Gumbel(0.9), "theta of Gumbel must be at least 1, got 0.9"),
        (lambda: Frank(0.0), "theta of Frank must be positive, got 0.0"),
        (lambda: Clayton(1.0, 1), "size of Clayton must be a whole number of at least 2"),
        (lambda: space_of(Clayton(1.0, 3)), "copula of ParameterSpace must be one of 2 variables"),
        (lambda: fit_copula(np.random.default_rng(0).random((50, 2)) * [1, -1], "student"), "kind of fit_copula"),
        (lambda: fit_copula(np.arange(10.0)[:, None] * [1.0, -1.0], "clayton"), "positive mean rank correlation below 1"),
        (lambda: GaussianCopula.fit(np.arange(10.0)[:, None] * [1.0, 2.0]), "must not be functions of each other"),
    ],
)  # fmt: skip
def test_wrong_copulas_get_a_sentence(call: object, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        call()  # type: ignore[operator]
