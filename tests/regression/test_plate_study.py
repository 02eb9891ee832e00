"""Sensitivity of the plate strip: moments and Sobol' indices of the published problem."""

from __future__ import annotations

import numpy as np
import pytest

from mor import Dataset, fit_pce, sobol
from mor.problems.plate_strip import OUTPUTS, REFERENCE, plate_model, plate_space
from mor.reduced.pce.model import Pce


@pytest.fixture(scope="module")
def data() -> Dataset:
    space = plate_space()
    design = sobol(space, 256)
    rows = [plate_model().evaluate(design.parameters(i)) for i in range(len(design))]
    Y = np.array([[float(row[name]) for name in OUTPUTS] for row in rows])  # type: ignore[arg-type]
    return Dataset(design.points, Y, space.ports, OUTPUTS)


@pytest.fixture(scope="module")
def pce(data: Dataset) -> Pce:
    return fit_pce(data.take(np.arange(200)), plate_space())


@pytest.mark.parametrize("name", OUTPUTS)
def test_moments_of_the_design(name: str, data: Dataset) -> None:
    expected = REFERENCE[name]
    assert data[name].mean() == pytest.approx(expected["mean"], rel=0.02)
    assert data[name].std() / data[name].mean() == pytest.approx(expected["cv"], rel=0.03)


@pytest.mark.parametrize(("i", "name"), list(enumerate(OUTPUTS)))
def test_expansion_of_200_runs_gives_the_sobol_indices(i: int, name: str, pce: Pce) -> None:
    np.testing.assert_allclose(pce.sobol_first()[i], REFERENCE[name]["first"], atol=0.02)
    np.testing.assert_allclose(pce.sobol_total()[i], REFERENCE[name]["total"], atol=0.04)


def test_period_rules_and_the_far_spring_does_not_matter(pce: Pce) -> None:
    for i in range(2):
        first = pce.sobol_first()[i]
        assert first.argmax() == 1 and first.argmin() == 3
