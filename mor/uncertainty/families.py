"""Choose the law of an input from data: maximum likelihood for each family, ranked by AIC or BIC."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, root
from scipy.special import digamma

from mor.marginals import Beta, Exponential, Gamma, Gumbel, LogNormal, Marginal, Normal, Uniform, Weibull
from mor.sampling.copulas import GaussianCopula, fit_copula
from mor.sampling.space import ParameterSpace, text_table
from rt_runtime.checks import Array, one_of
from rt_runtime.errors import ConfigError


def _normal(x: Array, unit: str) -> Marginal:
    return Normal(float(x.mean()), float(x.std()), unit=unit)


def _lognormal(x: Array, unit: str) -> Marginal:
    log = np.log(x)
    return LogNormal(float(log.mean()), float(log.std()), unit=unit)


def _exponential(x: Array, unit: str) -> Marginal:
    return Exponential(float(x.mean()), unit=unit)


def _gamma(x: Array, unit: str) -> Marginal:
    s = float(np.log(x.mean()) - np.log(x).mean())  # ln a - digamma(a) = s
    shape = float(brentq(lambda t: t - digamma(np.exp(t)) - s, -12.0, 25.0))
    return Gamma(float(np.exp(shape)), float(x.mean() / np.exp(shape)), unit=unit)


def _weibull(x: Array, unit: str) -> Marginal:
    log = np.log(x / x.max())

    def slope(k: float) -> float:
        w = np.exp(k * log)
        return float((w @ log) / w.sum() - 1.0 / k - log.mean())

    shape = float(brentq(slope, 1e-3, 1e4))
    scale = float(x.max() * np.mean(np.exp(shape * log)) ** (1.0 / shape))
    return Weibull(shape, scale, unit=unit)


def _gumbel(x: Array, unit: str) -> Marginal:
    centred = x - x.min()

    def slope(b: float) -> float:
        w = np.exp(-centred / b)
        return float(b - centred.mean() + (w @ centred) / w.sum())

    std = float(x.std())
    scale = float(brentq(slope, 1e-3 * std, 1e3 * std))
    return Gumbel(float(x.min() - scale * np.log(np.mean(np.exp(-centred / scale)))), scale, unit=unit)


def _uniform(x: Array, unit: str) -> Marginal:
    return Uniform(float(x.min()), float(x.max()), unit=unit)


POSITIVE = ("lognormal", "exponential", "gamma", "weibull")
FAMILIES: dict[str, tuple[Callable[[Array, str], Marginal], int]] = {
    "normal": (_normal, 2), "lognormal": (_lognormal, 2), "gamma": (_gamma, 2), "weibull": (_weibull, 2),
    "gumbel": (_gumbel, 2), "exponential": (_exponential, 1), "uniform": (_uniform, 2),
}  # fmt: skip
BOUNDED = ("beta", "uniform")


@dataclass(frozen=True)
class Candidate:
    """A family fitted by maximum likelihood: k parameters, ln L, AIC = 2k - 2 ln L, BIC = k ln N - 2 ln L."""

    law: str
    marginal: Marginal
    parameters: int
    log_likelihood: float
    aic: float
    bic: float


@dataclass(frozen=True)
class MarginalFit:
    """The candidates, best first, and the data they were fitted to.

    Parameters
    ----------
    criterion
        What the ranking goes by.
    ranking
        The candidates, best first.
    """

    data: Array
    criterion: str
    ranking: tuple[Candidate, ...]

    @property
    def best(self) -> Marginal:
        """The law with the smallest criterion."""
        return self.ranking[0].marginal

    def summary(self) -> str:
        """Return the ranking as a table of text."""
        rows = [
            (c.law, str(c.parameters), f"{c.log_likelihood:.2f}", f"{c.aic:.2f}", f"{c.bic:.2f}",
             f"{c.marginal.mean:.5g}", f"{c.marginal.std:.5g}")
            for c in self.ranking
        ]  # fmt: skip
        return text_table(("law", "k", "ln L", "AIC", "BIC", "mean", "std"), rows)

    def plot(self, path: str | Path) -> Path:
        """Draw the histogram with the three best densities, and the quantiles of data against those of the best."""
        from mor.uncertainty.pictures import draw_fit

        return draw_fit(self.data, [(c.law, c.marginal) for c in self.ranking[:3]], path)


def fit_marginal(
    data: npt.ArrayLike,
    *,
    families: Sequence[str] | None = None,
    criterion: str = "bic",
    lower: float | None = None,
    upper: float | None = None,
    unit: str = "",
) -> MarginalFit:
    """Fit laws to observations of one input and rank them.

    Parameters
    ----------
    data : (N,) array
        Observations, at least 5, finite.
    families : sequence of str, optional
        Candidates; by default all whose support fits: two-parameter laws without a free location, which are the fair
        ones. Positive laws only for positive data; with known bounds the beta and the uniform law on them.
    criterion : str
        "bic" or "aic".
    lower, upper : float, optional
        Known physical bounds.
    unit : str
        Unit of the input.

    Returns
    -------
    MarginalFit
    """
    try:
        x = np.ravel(np.asarray(data, dtype=float))
    except (TypeError, ValueError):
        raise ConfigError(f"data of fit_marginal must be numbers, got {data!r}.") from None
    one_of(criterion, "criterion", "fit_marginal", ("bic", "aic"))
    if x.size < 5 or not np.isfinite(x).all():
        raise ConfigError(
            f"data of fit_marginal must be at least 5 finite numbers, got {x.size} of which "
            f"{int((~np.isfinite(x)).sum())} are not finite."
        )
    if np.ptp(x) == 0.0:
        raise ConfigError(f"data of fit_marginal must vary, got {x[0]:g} only.")
    low, high = -np.inf if lower is None else lower, np.inf if upper is None else upper
    if x.min() < low or x.max() > high:
        raise ConfigError(
            f"data of fit_marginal must lie in [{low:g}, {high:g}], got [{x.min():g}, {x.max():g}]; correct the bounds."
        )
    bounded = lower is not None and upper is not None
    known = (*FAMILIES, "beta")
    if families is None:
        families = BOUNDED if bounded else tuple(f for f in FAMILIES if f not in POSITIVE or x.min() > 0.0)
    for family in families:
        one_of(family, "families", "fit_marginal", known)
        if family in POSITIVE and x.min() <= 0.0:
            raise ConfigError(f"data of fit_marginal must be positive for the law '{family}', got {x.min():g}.")
        if family == "beta" and not bounded:
            raise ConfigError("lower and upper of fit_marginal must be given for the law 'beta'.")
    found = []
    for family in families:
        if bounded and family in BOUNDED:
            assert lower is not None and upper is not None
            beta = family == "beta"
            k, marginal = (2, _beta(x, lower, upper, unit)) if beta else (0, Uniform(lower, upper, unit=unit))
        else:
            maker, k = FAMILIES[family]
            marginal = maker(x, unit)
        with np.errstate(divide="ignore"):
            level = float(np.log(marginal.pdf(x)).sum())
        found.append(Candidate(family, marginal, k, level, 2 * k - 2 * level, k * np.log(x.size) - 2 * level))
    ranking = sorted(found, key=lambda c: c.bic if criterion == "bic" else c.aic)
    return MarginalFit(x, criterion, tuple(ranking))


def _beta(x: Array, lower: float, upper: float, unit: str) -> Marginal:
    t = np.clip((x - lower) / (upper - lower), 1e-9, 1.0 - 1e-9)
    want = np.array([np.log(t).mean(), np.log1p(-t).mean()])
    mean, variance = float(t.mean()), float(t.var())
    size = max(mean * (1.0 - mean) / variance - 1.0, 0.1)

    def error(p: Array) -> Array:
        a, b = np.exp(p)
        wrong: Array = np.array([digamma(a), digamma(b)]) - digamma(a + b) - want
        return wrong

    found = root(error, np.log([mean * size, (1.0 - mean) * size]))
    a, b = np.exp(found.x)
    return Beta(float(a), float(b), lower, upper, unit=unit)


def fit_space(
    data: Mapping[str, npt.ArrayLike],
    *,
    units: Mapping[str, str] | None = None,
    copula: str = "auto",
    families: Sequence[str] | None = None,
    criterion: str = "bic",
) -> ParameterSpace:
    """Fit the joint law of several inputs: a marginal each by `fit_marginal`, and their dependence.

    Parameters
    ----------
    data : mapping
        {name: observations}, all of one length; row i of all belongs together.
    units : mapping, optional
        {name: unit}.
    copula : str
        "none" for independent inputs, "auto" for a Gaussian copula where a rank correlation is significant (1 %), or a
        name of `fit_copula`.
    families, criterion
        As in `fit_marginal`.
    """
    columns = {name: np.ravel(np.asarray(x, dtype=float)) for name, x in data.items()}
    if len({x.size for x in columns.values()}) != 1:
        raise ConfigError("data of fit_space must have as many observations of each input.")
    units = units or {}
    marginals = {}
    for name, x in columns.items():
        try:
            marginals[name] = fit_marginal(x, unit=units.get(name, ""), families=families, criterion=criterion).best
        except ConfigError as error:
            raise ConfigError(f"Input '{name}' of fit_space: {error}") from None
    X = np.column_stack(list(columns.values()))
    if copula == "none" or X.shape[1] < 2:
        return ParameterSpace(marginals)
    if copula == "auto":
        fitted = GaussianCopula.fit(X)
        limit = 2.576 / np.sqrt(len(X) - 1)
        off = np.abs(fitted.correlation - np.eye(X.shape[1])).max()
        return ParameterSpace(marginals, copula=fitted) if off > limit else ParameterSpace(marginals)
    return ParameterSpace(marginals, copula=fit_copula(X, copula))
