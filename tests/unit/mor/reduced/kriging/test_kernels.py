"""Correlation functions against the Bessel form and finite differences; criteria against differences and refits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gamma, kv

from mor.reduced.kriging.kernels import FACTOR, KERNELS, Pairs, correlation, cross, log_slope, product, slope
from mor.reduced.kriging.likelihood import CRITERIA, Objective


def bessel(nu: float, h: np.ndarray) -> np.ndarray:
    a = np.sqrt(2.0 * nu) * h
    return 2.0 ** (1.0 - nu) / gamma(nu) * a**nu * kv(nu, a)


@pytest.mark.parametrize(("kernel", "nu"), [("exponential", 0.5), ("matern32", 1.5), ("matern52", 2.5)])
def test_matern_is_the_bessel_form(kernel: str, nu: float) -> None:
    h = np.geomspace(1e-3, 20.0, 200)
    np.testing.assert_allclose(correlation(kernel, FACTOR[kernel] * h), bessel(nu, h), rtol=0, atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS)
def test_slopes_are_differences(kernel: str) -> None:
    a = np.linspace(0.05, 0.9, 50)
    d = 1e-6
    by_a = (correlation(kernel, a + d) - correlation(kernel, a - d)) / (2 * d)
    np.testing.assert_allclose(slope(kernel, a), by_a, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(log_slope(kernel, a), -a * by_a / correlation(kernel, a), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_product_is_the_product_of_its_factors(kernel: str) -> None:
    rng = np.random.default_rng(0)
    a = rng.uniform(0.0, 1.5, (3, 4, 5))
    w = np.array([0.2, 0.7, 1.0])
    k = correlation(kernel, a)
    np.testing.assert_allclose(product(kernel, a, None), k[0] * k[1] * k[2], rtol=1e-14)
    np.testing.assert_allclose(product(kernel, a, np.ones(3)), product(kernel, a, None), rtol=1e-13, atol=1e-300)
    weighted = np.prod(1 - w[:, None, None] + w[:, None, None] * k, axis=0)
    np.testing.assert_allclose(product(kernel, a, w), weighted, rtol=1e-14)
    Z, l = rng.normal(size=(6, 3)), np.array([0.5, 1.0, 2.0])
    R = cross(kernel, Z, Z, l, w)
    np.testing.assert_allclose(np.diag(R), 1.0)
    np.testing.assert_allclose(R, R.T)
    pairs = Pairs.of(Z)
    half = pairs.matrix(product(kernel, pairs.h * (FACTOR[kernel] / l)[:, None], w))
    np.testing.assert_allclose(half, np.tril(R), atol=1e-15)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_gradient_is_the_difference(kernel: str, weighted: bool, criterion: str) -> None:
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(30, 2))
    y = np.sin(Z[:, 0]) + Z[:, 1] ** 2
    F = np.column_stack([np.ones(30), Z[:, 0]])
    spread = rng.uniform(0.5, 1.5, 30)
    objective = Objective(kernel, Pairs.of(Z), F, y / y.std(), weighted, 1e-8, True, spread, criterion)
    p = np.concatenate([np.log([2.3, 3.1]), [0.4, -0.7] if weighted else [], np.log([1e-2])])
    value, gradient = objective(p)
    steps = 1e-6 * np.eye(p.size)
    numeric = [(objective(p + s)[0] - objective(p - s)[0]) / 2e-6 for s in steps]
    np.testing.assert_allclose(gradient, numeric, atol=1e-5 * max(1.0, np.abs(numeric).max()))
    if criterion == "likelihood":
        assert value == pytest.approx(objective.value(p), rel=1e-12)
