"""Laws of polynomial chaos: what lies in the span is found, order and units of inputs do not matter, shares add up."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mor import Beta, Dataset, Exponential, Marginal, Normal, ParameterSpace, Uniform, fit_pce, lhs
from mor.reduced.pce.basis import index_set, matrix, recurrence_table, values
from tests.contract.reduced_models import memory_of_pce

LAWS: list[Marginal] = [Uniform(-2.0, 5.0), Normal(1.0, 3.0), Beta(2.0, 2.0, 0.0, 4.0), Exponential(2.0)]
laws = st.lists(st.sampled_from(LAWS), min_size=1, max_size=3)


def space_of(marginals: list[Marginal]) -> ParameterSpace:
    return ParameterSpace({f"x{i}": m for i, m in enumerate(marginals)})


@given(laws, st.integers(1, 3), st.integers(0, 10_000))
def test_a_polynomial_of_the_degree_is_found_exactly(marginals: list[Marginal], degree: int, seed: int) -> None:
    space = space_of(marginals)
    indices = index_set(space.dimension, degree)
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(size=(len(indices), 2))
    X = lhs(space, 4 * len(indices) + 10, seed=seed).points
    psi = values(space.to_standard(X), recurrence_table(space.marginals, degree))
    Y = matrix(psi, indices) @ coefficients
    model = fit_pce(Dataset(X, Y, space.ports, ["p", "q"]), space, method="ols", degree=degree)
    order = np.lexsort(model.indices.T)
    np.testing.assert_allclose(model.coefficients[order], coefficients[np.lexsort(indices.T)], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.variance, np.sum(coefficients[1:] ** 2, axis=0), rtol=1e-6)


@given(st.permutations(range(3)), st.floats(0.01, 100.0), st.integers(0, 100))
def test_order_and_unit_of_inputs_do_not_matter(order: list[int], unit: float, seed: int) -> None:
    space = space_of([Uniform(-1.0, 1.0), Uniform(0.0, 2.0), Normal(0.0, 1.0)])
    X = lhs(space, 40, seed=seed).points
    y = X[:, 0] * X[:, 1] + X[:, 2] ** 2
    model = fit_pce(Dataset(X, y, space.ports, ["y"]), space, method="omp", degree=2)
    other = ParameterSpace({"x0": Uniform(-unit, unit), "x1": Uniform(0.0, 2.0 * unit), "x2": Normal(0.0, unit)})
    turned = ParameterSpace({name: other[name] for name in np.array(space.names)[order]})
    again = fit_pce(Dataset(unit * X[:, order], y, turned.ports, ["y"]), turned, method="omp", degree=2)
    np.testing.assert_allclose(again.predict(unit * X[:, order]), model.predict(X), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(again.sobol_total()[0], model.sobol_total()[0][order], rtol=1e-6, atol=1e-9)


@given(st.integers(0, 10_000))
def test_shares_of_the_variance_add_up(seed: int) -> None:
    space = space_of([Uniform(-1.0, 1.0)] * 3)
    X = lhs(space, 60, seed=seed).points
    weight = np.random.default_rng(seed).normal(size=4)
    y = X @ weight[:3] + weight[3] * X[:, 0] * X[:, 1] + np.sin(X[:, 2])
    model = fit_pce(Dataset(X, y, space.ports, ["y"]), space, method="omp")
    groups = [("x0",), ("x1",), ("x2",), ("x0", "x1"), ("x0", "x2"), ("x1", "x2"), ("x0", "x1", "x2")]
    assert abs(sum(float(model.sobol(*g)[0]) for g in groups) - 1.0) < 1e-9
    assert np.all(model.sobol_total() >= model.sobol_first() - 1e-12)


MEMORY = memory_of_pce()


@given(st.integers(0, 10_000), st.floats(0.0, 1e6))
def test_memory_is_bounded_whatever_comes_in(seed: int, size: float) -> None:
    u = size * np.random.default_rng(seed).normal(size=(200, 2))
    y = MEMORY.rollout(u)
    assert np.all((y >= MEMORY.bounds[0]) & (y <= MEMORY.bounds[1]))
