"""Reference problems: their closed forms against sampling."""

from __future__ import annotations

import numpy as np
import pytest

from mor import ReferenceFunction, borehole, brake_map, ishigami, lhs, short_column, sobol_g


@pytest.mark.parametrize("problem", [ishigami(), sobol_g(), short_column()], ids=lambda p: p.name)
def test_closed_forms_are_those_of_pick_and_freeze(problem: ReferenceFunction) -> None:
    """Saltelli's first-order and Jansen's total estimator, two independent samples."""
    n = 200_000
    A, B = problem.space.sample(n, seed=1), problem.space.sample(n, seed=2)
    ya, yb = problem(A), problem(B)
    assert ya.mean() == pytest.approx(problem.mean, abs=6 * ya.std() / np.sqrt(n))
    assert ya.var() == pytest.approx(problem.variance, rel=0.03)
    assert problem.first is not None and problem.total is not None
    for i in range(problem.space.dimension):
        mixed = A.copy()
        mixed[:, i] = B[:, i]
        y = problem(mixed)
        assert np.mean(yb * (y - ya)) / ya.var() == pytest.approx(problem.first[i], abs=0.02)
        assert 0.5 * np.mean((ya - y) ** 2) / ya.var() == pytest.approx(problem.total[i], abs=0.02)


def test_borehole_is_near_its_published_value() -> None:
    """Flow at the centre of the ranges is about 70 m3/yr; radius of influence hardly matters."""
    centre = np.array([[0.1, 3698.0, 89335.0, 1050.0, 89.55, 760.0, 1400.0, 10950.0]])
    assert borehole()(centre)[0] == pytest.approx(70.9, abs=1.5)


def test_brake_has_no_torque_at_standstill_and_saturates() -> None:
    tau = brake_map()([[50.0, 0.0], [50.0, 49.0], [0.0, 20.0]])
    np.testing.assert_allclose(tau, [0.0, 3.0, 0.0], atol=1e-6)


def test_dataset_is_a_latin_hypercube_of_the_space() -> None:
    problem = ishigami()
    d = problem.dataset(50, seed=3)
    np.testing.assert_array_equal(d.X, lhs(problem.space, 50, seed=3).points)
    np.testing.assert_array_equal(d.Y[:, 0], problem(d.X))
