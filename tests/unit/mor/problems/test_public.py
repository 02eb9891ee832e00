"""Functions of the literature at points whose values follow by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mor import ReferenceFunction
from mor.problems import public


@pytest.mark.parametrize(
    ("problem", "x", "value"),
    [
        (public.branin(), [np.pi, 2.275], 0.397887),  # its minimum
        (public.friedman(), [0.5, 1.0, 0.5, 0.2, 0.4], 10.0 + 0.0 + 2.0 + 2.0),
        (public.robot_arm(), [0.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.3, 0.4], 1.0),
        (public.robot_arm(), [0.0, np.pi, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0], 0.0),
        (public.flood(), [300.0 * 30.0 * np.sqrt(5.0 / 5000.0), 30.0, 50.0, 55.0, 8.0, 55.5, 5000.0, 300.0], -12.5),
        # without Rf the circuit passes Vb1 + 0.74 on
        (public.otl_circuit(), [100.0, 50.0, 0.0, 2.0, 1.0, 100.0], 4.74),
        # without the exponents' part only paint is left
        (public.wing_weight(), [150.0, 220.0, 6.0, 0.0, 16.0, 0.5, 0.1, 0.0, 1700.0, 0.05], 7.5),
        # a piston without gas: 2 pi sqrt(M / k)
        (public.piston(), [36.0, 0.01, 0.01, 3600.0, 0.0, 290.0, 350.0], 2 * np.pi * 0.1),
    ],
)
def test_known_values(problem: ReferenceFunction, x: list[float], value: float) -> None:
    assert problem([x])[0] == pytest.approx(value, abs=1e-5)


def test_all_are_finite_over_their_inputs() -> None:
    for make in (public.branin, public.friedman, public.robot_arm, public.flood, public.otl_circuit,
                 public.wing_weight, public.piston):  # fmt: skip
        problem = make()
        y = problem(problem.space.sample(500, seed=1))
        assert np.isfinite(y).all() and np.ptp(y) > 0.0
