"""Ready problems: each can be run, and does what is known about it."""

from __future__ import annotations

import numpy as np
import pytest

from mor.models.motorcycle import static_torque
from mor.problems import catalogue
from mor.problems.catalogue import DynamicProblem, ReferenceFunction
from rt_runtime.errors import ConfigError


@pytest.mark.parametrize("name", catalogue.names())
def test_every_problem_runs_under_its_name(name: str) -> None:
    problem = catalogue.problem(name)
    assert problem.name == name
    if isinstance(problem, ReferenceFunction):
        data = problem.dataset(20, seed=1)
        assert np.isfinite(data.Y).all() and data.Y.std() > 0
        return
    assert isinstance(problem, DynamicProblem)
    result = problem.simulate()
    assert result.names == (*problem.inputs.names, *[p.name for p in problem.substructure.outputs])
    assert np.isfinite(result.values).all() and np.abs(result.values[:, -1]).max() > 0
    if problem.space is not None:
        sample = dict(zip(problem.space.names, problem.space.mean, strict=True))
        np.testing.assert_allclose(problem.simulate(sample).values, result.values, rtol=1e-9, atol=1e-12)


def test_duffing_follows_the_elliptic_function() -> None:
    problem = catalogue.duffing()
    result = problem.simulate()
    assert problem.exact is not None
    np.testing.assert_allclose(result["x"], problem.exact(result.time), atol=1e-9)
    falls = np.flatnonzero(np.diff(np.sign(result["x"])) < 0) * problem.dt
    assert np.diff(falls).mean() == pytest.approx(problem.known["period"], rel=1e-3)


def test_three_storey_frame_has_the_printed_frequencies() -> None:
    problem = catalogue.three_storey()
    A = problem.substructure.matrices()[0]  # type: ignore[attr-defined]
    frequencies = np.unique(np.round(np.abs(np.linalg.eigvals(A)) / (2 * np.pi), 6))
    np.testing.assert_allclose(frequencies, [problem.known[f"frequency_{i}"] for i in (1, 2, 3)], atol=2e-3)


@pytest.mark.parametrize("side", ["front", "rear"])
def test_brakes_are_those_of_the_motorcycle(side: str) -> None:
    function = catalogue.problem(f"{side}_brake")
    assert isinstance(function, ReferenceFunction)
    assert function([[50.0, 300.0]])[0] == static_torque(side, 50.0, 300.0)
    run = catalogue.problem(f"{side}_brake_run")
    assert isinstance(run, DynamicProblem)
    result = run.simulate()
    pressed = result.values[np.searchsorted(result.time, 3.5), -1]
    assert pressed == pytest.approx(run.known["static_torque_50_N_300_rpm"], rel=0.05)  # lag is over, fade is small
    assert not result.values[-1, -1]


def test_unknown_problem_is_refused() -> None:
    with pytest.raises(
        ConfigError, match="Problem 'ishigamy' of the catalogue is unknown; there are ishigami, sobol_g"
    ):
        catalogue.problem("ishigamy")
