"""The published accuracy of `fit_pce(..., method="auto")`: median of five designs, rows never seen."""

from __future__ import annotations

import numpy as np
import pytest

from mor import ReferenceFunction, borehole, brake_map, fit_pce, ishigami, short_column, sobol_g

SAMPLERS = "relative mean square error on 20 000 points, median over seeds 0..4; benchmarks/bench_pce.py uses 100 000"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "n", "goal"),
    [
        (ishigami(), 200, 1e-16),
        (borehole(), 200, 4e-7),
        (sobol_g(), 500, 2e-3),
        (brake_map(), 200, 1e-16),
        (short_column(), 200, 1e-9),
    ],
    ids=lambda v: getattr(v, "name", None),
)
def test_relative_error(problem: ReferenceFunction, n: int, goal: float) -> None:
    X = problem.space.sample(20_000, seed=99)
    y = problem(X)
    errors = []
    for seed in range(5):
        model = fit_pce(problem.dataset(n, seed=seed), problem.space)
        errors.append(np.mean((model.predict(X)[:, 0] - y) ** 2) / np.var(y))
    assert np.median(errors) < goal, SAMPLERS


def test_sobol_indices_of_ishigami() -> None:
    problem = ishigami()
    assert problem.first is not None and problem.total is not None
    model = fit_pce(problem.dataset(200, seed=0), problem.space)
    assert np.abs(model.sobol_first()[0] - problem.first).max() < 1e-8
    assert np.abs(model.sobol_total()[0] - problem.total).max() < 1e-8
