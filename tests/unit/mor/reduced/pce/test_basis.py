"""Index sets against brute force, polynomials against quadrature."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr

from mor import Beta, Exponential, Gamma, Gumbel, LogNormal, Marginal, Normal, Triangular, Uniform, Weibull
from mor.reduced.pce.basis import index_set, recurrence_table, slopes, standard_map, values
from rt_runtime.errors import ConfigError


@pytest.mark.parametrize(("dimension", "degree"), [(1, 7), (2, 5), (4, 4), (8, 3)])
def test_total_degree_has_the_binomial_number_of_terms(dimension: int, degree: int) -> None:
    indices = index_set(dimension, degree)
    assert len(indices) == math.comb(dimension + degree, degree)
    assert len(np.unique(indices, axis=0)) == len(indices)
    assert not indices[0].any()
    assert np.all(np.diff(indices.sum(axis=1)) >= 0)


@pytest.mark.parametrize("q", [1.0, 0.75, 0.5, 0.3])
@pytest.mark.parametrize("interaction", [None, 1, 2])
def test_truncation_is_what_the_norm_says(q: float, interaction: int | None) -> None:
    expected = {
        alpha
        for alpha in itertools.product(range(7), repeat=3)
        if sum(a**q for a in alpha) ** (1 / q) <= 6 * (1 + 1e-9)
        and (interaction is None or np.count_nonzero(alpha) <= interaction)
    }
    assert set(map(tuple, index_set(3, 6, q=q, interaction=interaction).tolist())) == expected


@pytest.mark.parametrize(
    "marginal",
    [
        Uniform(-3.0, 8.0), Normal(5.0, 2.0), LogNormal(1.0, 0.5), Beta(2.0, 3.0, 1.0, 4.0), Gamma(2.5, 3.0),
        Exponential(2.0), Gumbel(1.0, 0.5), Weibull(1.8, 2.0), Triangular(0.0, 1.0, 3.0),
    ],
    ids=lambda m: m.law,
)  # fmt: skip
def test_polynomials_are_orthonormal_under_their_law(marginal: Marginal) -> None:
    """The trapezoidal rule over a normal variable t that X is a function of: it knows nothing but the quantiles."""
    t = np.linspace(-7.5, 7.5, 20_001)
    x = marginal.ppf(ndtr(t))
    weight = np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi) * (t[1] - t[0])
    location, scale, logarithm = standard_map(marginal)
    z = ((np.log(x) if logarithm else x) - location) / scale
    psi = values(z[:, None], recurrence_table((marginal,), 4))[0]
    np.testing.assert_allclose((psi * weight) @ psi.T, np.eye(5), atol=1e-4)


def test_slopes_are_those_of_the_values() -> None:
    table = recurrence_table((Uniform(-1.0, 1.0), Normal(0.0, 1.0)), 6)
    Z, h = np.array([[0.3, -1.2], [-0.8, 0.4]]), 1e-6
    slope = (values(Z + h, table) - values(Z - h, table)) / (2 * h)
    np.testing.assert_allclose(slopes(Z, table, values(Z, table)), slope, rtol=1e-7, atol=1e-7)


def test_impossible_bases_are_refused() -> None:
    with pytest.raises(ConfigError, match="degree of a polynomial basis must be a whole number of at least 1, got 0"):
        index_set(2, 0)
    with pytest.raises(ConfigError, match=r"q of a polynomial basis must lie in \(0, 1\], got 1.5"):
        index_set(2, 3, q=1.5)
    with pytest.raises(ConfigError, match="interaction of a polynomial basis must be at least 1, got 0"):
        index_set(2, 3, interaction=0)
    with pytest.raises(ConfigError, match="must have at most 200000 terms; use a lower degree, q or interaction"):
        index_set(20, 10)
