"""Sobol' indices against closed forms, with intervals that cover; given data; bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mor import (
    Dataset,
    FunctionModel,
    LogNormal,
    Normal,
    ParameterSpace,
    ReferenceFunction,
    Uniform,
    fit_kriging,
    fit_pce,
    ishigami,
    lhs,
    project,
    short_column,
    sobol_g,
)
from mor.uncertainty import draw_convergence, sobol, sobol_from_data, sobol_of_kriging, sobol_of_pce
from rt_runtime.errors import ConfigError


@pytest.mark.parametrize("problem", [ishigami(), sobol_g(), short_column()], ids=lambda p: p.name)
def test_closed_forms_within_the_intervals(problem: ReferenceFunction) -> None:
    found = sobol(problem, problem.space, n=2**13, seed=11)
    assert found.first is not None and found.total is not None
    assert problem.first is not None and problem.total is not None
    for estimate, exact in ((found.first, problem.first), (found.total, problem.total)):
        assert np.all(np.abs(estimate.value[0] - exact) <= 3.0 * estimate.half_width[0] + 1e-9)
        assert np.all(estimate.half_width < 0.03)
    assert found.mean.value[0] == pytest.approx(problem.mean, abs=1e-2 * np.sqrt(problem.variance))
    assert found.evaluations == 2**13 * (problem.space.dimension + 2)


@pytest.mark.parametrize("problem", [ishigami(), sobol_g((1, 3, 9))], ids=lambda p: p.name)
def test_intervals_cover(problem: ReferenceFunction) -> None:
    inside = []
    for seed in range(60):
        found = sobol(problem, problem.space, n=2**9, seed=seed)
        for estimate, exact in ((found.first, problem.first), (found.total, problem.total)):
            assert estimate is not None
            inside.append(np.abs(estimate.value[0] - exact) <= estimate.half_width[0])
    assert 0.88 <= np.mean(inside) <= 0.99


def test_second_order_and_groups() -> None:
    problem = ishigami()
    found = sobol(problem, problem.space, n=2**13, second=True, closed=[("x1", "x3"), ("x2",)], seed=1)
    assert found.second is not None and problem.total is not None and problem.first is not None
    pair = problem.total[2]  # x3 acts through x1 alone
    np.testing.assert_allclose(found.second.value[0], [[0, 0, pair], [0, 0, 0], [pair, 0, 0]], atol=5e-3)
    assert found.closed["x1", "x3"].value[0] == pytest.approx(problem.first[0] + pair, abs=2e-3)
    assert found.closed[("x2",)].value[0] == pytest.approx(problem.first[1], abs=2e-3)


def test_campaign_models_and_several_outputs(tmp_path: Path) -> None:
    space = ParameterSpace({"a": Uniform(0.0, 1.0), "b": Uniform(0.0, 2.0)})
    model = FunctionModel(lambda a, b: {"s": a + b, "c": 3.0, "p": a * 0 + b}, {"s": "m", "c": "", "p": ""})
    found = sobol(model, space, n=64, scrambles=2)
    assert found.outputs == ("s", "c", "p")
    assert found.first is not None and found.total is not None
    np.testing.assert_allclose(found.first.value, [[0.2, 0.8], [0.0, 0.0], [0.0, 1.0]], atol=0.1)
    np.testing.assert_array_equal(found.total.value[1], [0.0, 0.0])
    assert found.ranking("s") == ("b", "a")
    assert "s" in found.summary() and "+-" in found.summary()
    assert found.plain()["evaluations"] == 256
    assert found.plot(tmp_path / "bars.png").stat().st_size > 5000
    with pytest.raises(ConfigError, match=r"must end with \.png, \.svg or \.pdf"):
        found.plot(tmp_path / "bars.xyz")


def test_of_an_expansion_and_of_given_data() -> None:
    problem = ishigami()
    data = problem.dataset(150, seed=3)
    exact = sobol_of_pce(fit_pce(data, problem.space))
    assert exact.first is not None and exact.total is not None and problem.first is not None
    np.testing.assert_allclose(exact.first.value[0], problem.first, atol=1e-3)
    given = sobol_from_data(data, problem.space, replicates=20)
    assert given.first is not None and given.first.lower is not None
    np.testing.assert_allclose(given.first.value, exact.first.value, atol=1e-12)
    assert given.evaluations == 150


def test_of_kriging_by_projection() -> None:
    space = ParameterSpace({"a": Normal(0.0, 1.0), "b": Uniform(0.0, 2.0, unit="m"), "c": LogNormal(0.0, 0.3)})
    X = lhs(space, 60, seed=4).points
    Y = np.column_stack([X[:, 0] * X[:, 1] + X[:, 2], np.sin(X[:, 1]) + 0.1 * X[:, 0] ** 2])
    data = Dataset(X, Y, space.ports, {"p": "N", "q": ""})
    for kernel in ("gaussian", "matern52"):
        model = fit_kriging(data, space, kernel=kernel, trend="linear")
        expansion = project(model, space)
        new = space.sample(200, seed=8)
        assert np.all(expansion.loo < 1e-3)
        left = np.mean((expansion.predict(new) - model.predict(new)) ** 2, axis=0) / Y.var(axis=0)
        assert np.all(left < 1e-3)
        exact = sobol_of_kriging(model, space, closed=[("a", "b")])
        direct = sobol(model, space, n=2**12, second=True, closed=[("a", "b")])
        for one, two in ((exact.first, direct.first), (exact.total, direct.total), (exact.second, direct.second)):
            assert one is not None and two is not None
            np.testing.assert_allclose(one.value, two.value, atol=0.02)
        np.testing.assert_allclose(exact.closed["a", "b"].value, direct.closed["a", "b"].value, atol=0.02)
        assert "left out" in exact.notes[0]
    with pytest.raises(ConfigError, match="must have the independent inputs a, b, got a, b, c; sobol and kucherenko"):
        project(model, ParameterSpace({"a": Normal(0.0, 1.0), "b": Uniform(0.0, 2.0)}))


def test_convergence_is_drawn(tmp_path: Path) -> None:
    problem = ishigami()
    found = {n: sobol(problem, problem.space, n=n, scrambles=4) for n in (64, 256)}
    assert draw_convergence(found, tmp_path / "settled.svg").stat().st_size > 5000
    with pytest.raises(ConfigError, match="at least one number of runs, got none"):
        draw_convergence({}, tmp_path / "settled.svg")


def test_wrong_input_gets_a_sentence() -> None:
    problem = ishigami()
    with pytest.raises(ConfigError, match="n of sobol must be a whole number"):
        sobol(problem, problem.space, n=1)
    with pytest.raises(ConfigError, match="scrambles of sobol must be a whole number of at least 2"):
        sobol(problem, problem.space, scrambles=1)
    with pytest.raises(ConfigError, match="model of sobol must be callable"):
        sobol(3.0, problem.space)
    with pytest.raises(ConfigError, match=r"must return finite numbers, got \[nan\] at x1 ="):
        sobol(lambda X: np.full(len(X), np.nan), problem.space, n=16, scrambles=2)
    with pytest.raises(ConfigError, match="must return one row a sample"):
        sobol(lambda X: X[:3], problem.space, n=16, scrambles=2)
    with pytest.raises(ConfigError, match="Groups of closed of sobol must be lists of x1"):
        sobol(problem, problem.space, closed=[("z",)])
    rows = problem.dataset(20, seed=0)
    with pytest.raises(ConfigError, match=r"must vary, got constant ones \(y\)"):
        sobol_from_data(Dataset(rows.X, np.ones_like(rows.Y), rows.inputs, rows.outputs), problem.space)
    flat = sobol(lambda X: np.ones(len(X)), problem.space, n=16, scrambles=2)
    assert flat.notes == ("Output 'y1' does not vary: its indices are 0.",)
