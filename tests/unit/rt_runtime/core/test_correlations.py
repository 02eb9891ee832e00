"""The correlations of the core against the Python kernels, on this host's registers and on any host's."""

from __future__ import annotations

import numpy as np
import pytest

from mor.reduced.kriging.kernels import FACTOR, KERNELS, cross
from rt_runtime import _core


@pytest.mark.parametrize("any_host", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_correlations_are_those_of_the_model(kernel: str, any_host: bool) -> None:
    rng = np.random.default_rng(0)
    family = getattr(_core.Correlation, kernel)
    for n in (1, 4, 13):
        for weight in (np.ones(3), np.array([0.2, 0.7, 1.0])):
            z, points, length = rng.normal(size=3), 3.0 * rng.normal(size=(3, n)), np.array([0.5, 1.0, 2.0])
            r = _core.correlations(z, points, FACTOR[kernel] / length, weight, family, any_host)
            np.testing.assert_allclose(r, cross(kernel, z[None], points.T, length, weight)[0], rtol=1e-14, atol=1e-16)


def test_far_points_and_nan() -> None:
    one = np.ones(1)
    far = _core.correlations(one * 1e6, np.zeros((1, 2)), one, one, _core.Correlation.gaussian)
    assert np.all((far >= 0.0) & (far < 1e-300))
    lost = _core.correlations(one * np.nan, np.zeros((1, 2)), one, one, _core.Correlation.matern52)
    assert np.isnan(lost).all()
