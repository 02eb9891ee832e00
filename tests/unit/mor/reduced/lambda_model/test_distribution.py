"""The lambda distribution against closed forms, differences and quadrature."""

from __future__ import annotations

import numpy as np
import pytest

from mor.reduced.lambda_model import distribution as gld

SHAPES = (-0.4, 0.0, 1e-9, 0.2, 1.2)


@pytest.mark.parametrize("l3", SHAPES)
@pytest.mark.parametrize("l4", SHAPES)
def test_probability_inverts_quantile_and_slopes_are_differences(l3: float, l4: float) -> None:
    u = np.concatenate([[1e-6, 1e-3], np.linspace(0.02, 0.98, 40), [0.999]])
    L = np.tile([0.3, 0.7, l3, l4], (len(u), 1))
    y = gld.quantile(L, u)
    assert np.abs(gld.probability(L, y) - u).max() < 1e-12
    assert np.all(np.diff(y) > 0.0)
    inner = slice(2, -1)  # a difference at the edge of the support is not one
    slopes = gld.log_likelihood(L, y, np.zeros(len(y)))[1][inner]
    for k in range(4):
        step = np.zeros(4)
        step[k] = 1e-6
        differences = (gld.log_density(L + step, y) - gld.log_density(L - step, y))[inner] / 2e-6
        np.testing.assert_allclose(slopes[:, k], differences, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("l3", "l4"), [(0.0, 0.0), (1e-9, 0.2), (0.2, 0.005), (1.2, -0.1), (0.1349, 0.1349)])
def test_moments_are_integrals_of_the_quantile_function(l3: float, l4: float) -> None:
    t = np.linspace(-60.0, 60.0, 4001)
    weight = (t[1] - t[0]) / (2.0 + 2.0 * np.cosh(t))
    L = np.tile([0.3, 0.7, l3, l4], (len(t), 1))
    y = gld.quantile(L, 1.0 / (1.0 + np.exp(-t)))
    inside = np.abs(t) < 34.0  # beyond, 1 - u is 0 in double precision
    mean = float(weight[inside] @ y[inside])
    assert gld.mean(L[:1])[0] == pytest.approx(mean, abs=1e-7)
    assert gld.variance(L[:1])[0] == pytest.approx(float(weight[inside] @ (y[inside] - mean) ** 2), rel=2e-6)


def test_near_normal_and_support() -> None:
    L = np.array([[0.0, np.log(1.4636), 0.1349, 0.1349], [1.0, 0.0, 0.5, -0.2], [0.0, 0.0, -0.6, 0.1]])
    assert gld.variance(L)[0] == pytest.approx(1.0, rel=1e-3)
    assert gld.quantile(L[:1], 0.975)[0] == pytest.approx(1.96, rel=5e-3)
    lower, upper = gld.support(L)
    assert (lower[1], upper[1]) == (-1.0, np.inf)
    assert lower[2] == -np.inf and upper[2] == pytest.approx(10.0)
    assert np.isinf(gld.variance(L)[2])
    assert gld.probability(L[1:2], np.array([-1.5]))[0] == 0.0 and gld.probability(L[2:], np.array([11.0]))[0] == 1.0
    assert gld.log_density(L[1:2], np.array([-1.5]))[0] == -np.inf


def test_density_integrates_to_one() -> None:
    L = np.tile([0.0, 0.2, 0.3, 0.1], (4001, 1))
    y = np.linspace(*(gld.quantile(L[:1], p)[0] for p in (1e-9, 1.0 - 1e-9)), 4001)
    assert np.trapezoid(np.exp(gld.log_density(L, y)), y) == pytest.approx(1.0, abs=1e-4)
