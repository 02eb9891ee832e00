"""The laws against scipy.stats and chaospy; the recurrences against quadrature with the law itself."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats

from mor.marginals import (
    Beta,
    Exponential,
    Gamma,
    Gumbel,
    LogNormal,
    Marginal,
    Normal,
    Triangular,
    TruncatedNormal,
    Uniform,
    Weibull,
    marginal_from,
    recurrence,
)
from rt_runtime.errors import ConfigError

CASES: list[tuple[Marginal, object]] = [
    (Uniform(-2.0, 5.0), stats.uniform(-2, 7)),
    (Normal(3.0, 0.5), stats.norm(3, 0.5)),
    (LogNormal(0.4, 0.3), stats.lognorm(0.3, scale=math.exp(0.4))),
    (Beta(2.0, 5.0, -1.0, 3.0), stats.beta(2, 5, -1, 4)),
    (Beta(0.5, 0.5), stats.beta(0.5, 0.5)),
    (Gamma(3.5, 2.0, 1.0), stats.gamma(3.5, 1, 2)),
    (Gamma(0.7, 2.0), stats.gamma(0.7, 0, 2)),
    (Exponential(2.5, -1.0), stats.expon(-1, 2.5)),
    (Gumbel(10.0, 2.0), stats.gumbel_r(10, 2)),
    (Weibull(1.7, 3.0, 0.5), stats.weibull_min(1.7, 0.5, 3)),
    (Weibull(0.8, 3.0), stats.weibull_min(0.8, 0, 3)),
    (TruncatedNormal(1.0, 2.0, 0.0, 4.0), stats.truncnorm(-0.5, 1.5, 1, 2)),
    (TruncatedNormal(0.0, 1.0, 3.0), stats.truncnorm(3, np.inf)),
    (TruncatedNormal(0.0, 1.0, -np.inf, -5.0), stats.truncnorm(-np.inf, -5)),
    (Triangular(1.0, 2.0, 5.0), stats.triang(0.25, 1, 4)),
    (Triangular(1.0, 1.0, 5.0), stats.triang(0.0, 1, 4)),
]
Q = np.array([1e-6, 0.01, 0.3, 0.5, 0.9, 0.999, 1 - 1e-6])
each = pytest.mark.parametrize(("law", "reference"), CASES, ids=[repr(c[0])[:48] for c in CASES])


@each
def test_moments_and_support(law, reference) -> None:
    assert law.mean == pytest.approx(reference.mean(), rel=1e-10, abs=1e-12)
    assert law.std == pytest.approx(reference.std(), rel=1e-8)
    assert (law.lower, law.upper) == pytest.approx(reference.support())


@each
def test_quantiles_density_and_distribution_function(law, reference) -> None:
    x = reference.ppf(Q)
    np.testing.assert_allclose(law.ppf(Q), x, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(law.cdf(x), reference.cdf(x), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(law.pdf(x), reference.pdf(x), rtol=1e-5 if law == Beta(0.5, 0.5) else 1e-9)
    outside = np.array([law.lower - 1.0, law.upper + 1.0])
    np.testing.assert_array_equal(law.pdf(outside[np.isfinite(outside)]), 0.0)
    np.testing.assert_array_equal(law.cdf(np.array([-np.inf, np.inf])), [0.0, 1.0])
    np.testing.assert_array_equal(law.ppf(np.array([0.0, 1.0])), [law.lower, law.upper])


@each
def test_standard_variable_and_chaospy(law, reference) -> None:
    x = reference.ppf(Q)
    np.testing.assert_allclose(law.from_standard(law.to_standard(x)), x, rtol=1e-13, atol=1e-15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(law.distribution.cdf(x), reference.cdf(x), rtol=1e-6, atol=1e-9)


@each
def test_recurrence_gives_an_orthonormal_basis(law, reference) -> None:
    """Composite Gauss quadrature with scipy's density: the Gram matrix of psi_0 .. psi_8 is the identity."""
    if law == Beta(0.5, 0.5):  # infinite at both ends, where quadrature is poor: Chebyshev, known in closed form
        np.testing.assert_allclose(law.recurrence(4)[1], [1, 0.5, 0.25, 0.25, 0.25], rtol=1e-14)
        return
    low = law.lower if np.isfinite(law.lower) else max(reference.ppf(1e-150), law.mean - 40 * law.std)
    high = law.upper if np.isfinite(law.upper) else max(reference.isf(1e-150), law.mean + 40 * law.std)
    low, high = law.to_standard([low, high])
    kink = law.to_standard([law.mode]) if isinstance(law, Triangular) else []
    graded = np.concatenate([[0], np.geomspace(1e-25, 1, 150), np.linspace(0, 1, 300)])
    edges = np.unique(np.concatenate([low + (high - low) * graded, kink]))
    node, weight = np.polynomial.legendre.leggauss(30)
    half = 0.5 * np.diff(edges)
    z = ((edges[:-1] + half)[:, None] + half[:, None] * node).ravel()
    w = (half[:, None] * weight).ravel() * reference.pdf(law.from_standard(z)) * law._standard[1]
    psi = recurrence.evaluate(z, *law.recurrence(8))
    np.testing.assert_allclose(psi.T @ (psi * w[:, None]), np.eye(9), atol=1e-7)


@pytest.mark.parametrize(
    ("law", "classical"),
    [
        (Uniform(-1, 1), recurrence.legendre(25)),
        (Normal(0, 1), recurrence.hermite(25)),
        (Gamma(0.7, 1), recurrence.laguerre(25, 0.7)),
        (Gamma(3.5, 1), recurrence.laguerre(25, 3.5)),
        (Beta(1.5, 2.5), recurrence.jacobi(25, 1.5, 0.5)),
        (Beta(2, 5), recurrence.jacobi(25, 4, 1)),
    ],
)
def test_the_numeric_recurrence_meets_the_classical_ones_to_degree_25(law, classical) -> None:
    ends = {"legendre": (-1, 1), "jacobi": (-1, 1), "hermite": (-30, 30), "laguerre": (0, 300)}[law.family]
    z, w = recurrence.discretise(law._log_pdf, [ends])
    alpha, beta = recurrence.stieltjes(z, w, 25)
    np.testing.assert_allclose(alpha, classical[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(beta, classical[1], rtol=1e-9)


@pytest.mark.parametrize(
    ("law", "same"),
    [
        (Weibull(1.0, 1.0), Exponential(1.0)),
        (TruncatedNormal(2.0, 3.0), Normal(2.0, 3.0)),
    ],
)
def test_special_cases_have_the_recurrence_of_the_classical_law(law, same) -> None:
    for got, expected in zip(law.recurrence(30), same.recurrence(30), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


def test_gumbel_recurrence_from_its_cumulants() -> None:
    """alpha_0, beta_1, alpha_1 follow from mean, variance and skewness."""
    alpha, beta = Gumbel(0.0, 1.0).recurrence(20)
    skew = 12 * math.sqrt(6) * 1.2020569031595942 / math.pi**3
    assert alpha[0] == pytest.approx(np.euler_gamma, rel=1e-12)
    assert beta[1] == pytest.approx(math.pi**2 / 6, rel=1e-12)
    assert alpha[1] - alpha[0] == pytest.approx(skew * math.sqrt(beta[1]), rel=1e-11)
    assert alpha.shape == beta.shape == (21,)


@pytest.mark.parametrize(
    "law", [Gumbel(0.0, 1.0), Weibull(0.6, 1.0), Weibull(9.0, 2.0), Triangular(0, 0.1, 1), TruncatedNormal(0, 1, 0, 1)]
)
def test_numeric_recurrence_is_converged_to_degree_30(law) -> None:
    fine = recurrence.stieltjes(*recurrence.discretise(law._log_pdf, law._pieces(30), nodes=4001), 30)
    for got, expected in zip(law.recurrence(30), fine, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)


def test_stieltjes_wigert_matches_quadrature() -> None:
    z = np.exp(0.3 * np.linspace(-14, 24, 20001))
    alpha, beta = recurrence.stieltjes_wigert(8, 0.3)
    x = np.log(z) / 0.3
    psi = recurrence.evaluate(z, alpha, beta)
    w = np.exp(-0.5 * x * x)
    gram = psi.T @ (psi * (w / w.sum())[:, None])
    np.testing.assert_allclose(gram, np.eye(9), atol=1e-7)


@pytest.mark.parametrize(
    "law",
    [
        Uniform.from_mean_std(58570, 11714, unit="N/m"),
        Normal.from_mean_std(58570, 11714, unit="N/m"),
        LogNormal.from_mean_std(58570, 11714, unit="N/m"),
        Beta.from_mean_std(58570, 11714, 0, 100000, unit="N/m"),
        Gamma.from_mean_std(58570, 11714, unit="N/m"),
        Exponential.from_mean_std(58570, 11714, unit="N/m"),
        Gumbel.from_mean_std(58570, 11714, unit="N/m"),
        Weibull.from_mean_std(58570, 11714, unit="N/m"),
        TruncatedNormal.from_mean_std(58570, 11714, 40000, 100000, unit="N/m"),
        Triangular.from_mean_std(58570, 11714, unit="N/m"),
    ],
    ids=lambda law: law.law,
)
def test_laws_from_mean_and_std_have_them(law) -> None:
    assert law.mean == pytest.approx(58570, rel=1e-9)
    assert law.std == pytest.approx(11714, rel=1e-8)
    assert law.unit == "N/m"
    assert marginal_from(law.to_dict()) == law


def test_laws_from_mean_and_cv() -> None:
    assert Uniform.from_mean_cv(-10.0, 0.1) == Uniform.from_mean_std(-10.0, 1.0)
    assert Beta.from_mean_cv(0.5, 0.2).std == pytest.approx(0.1)
    assert TruncatedNormal.from_mean_cv(5.0, 0.2, 0.0).std == pytest.approx(1.0, rel=1e-8)
    assert marginal_from({"law": "gumbel", "mean": 5.0, "cv": 0.2}).std == pytest.approx(1.0)
    with pytest.raises(ConfigError, match="Normal from mean and cv needs a mean other than 0"):
        Normal.from_mean_cv(0.0, 0.1)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Uniform(1, 1), "lower of Uniform must be below upper, got 1 and 1"),
        (lambda: Normal(0, -1), "std of Normal must be positive, got -1"),
        (lambda: Normal(0, math.nan), "std of Normal must be finite, got nan"),
        (lambda: Normal("0", 1), "mean of Normal must be a number, got '0'"),
        (lambda: Normal(0, 1, unit=3), "unit of Normal must be a text, got 3"),
        (lambda: Triangular(0, 2, 1), r"mode of Triangular must lie in \[0, 1\], got 2"),
        (lambda: TruncatedNormal(0, 1, 50, 51), "nothing of the law is left"),
        (lambda: LogNormal.from_mean_std(-1, 1), "mean of LogNormal must be positive, got -1"),
        (lambda: Uniform.from_mean_std(0, 0), "Uniform from mean and std needs a finite mean and a positive std"),
        (lambda: Beta.from_mean_std(0.5, 0.6), r"Beta on \[0, 1\] must have its mean inside"),
        (lambda: Weibull.from_mean_std(1, 1e-4), "of Weibull must lie between 0.0026 and 430, got 0.0001"),
        (lambda: TruncatedNormal.from_mean_std(0.5, 0.6, 0, 1), r"No TruncatedNormal on \[0, 1\] has mean 0.5"),
        (lambda: Uniform(0, 1).ppf(1.5), r"q of Uniform.ppf must lie in \[0, 1\]"),
        (lambda: Uniform(0, 1).recurrence(-1), "degree of Uniform.recurrence must be at least 0, got -1"),
        (lambda: marginal_from({"law": "cauchy"}, "parameter 'K'"), "law of parameter 'K' must be one of uniform"),
        (lambda: marginal_from({"law": "normal", "mu": 1}), "takes mean, std, unit; unknown: mu; missing: mean, std"),
        (lambda: marginal_from({"law": "normal", "mean": "x", "std": 1}), "mean of marginal must be a number, got 'x'"),
    ],
)
def test_messages(build, message) -> None:
    with pytest.raises(ConfigError, match=message):
        build()
