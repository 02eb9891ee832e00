"""Bayesian update of a law from few data, and the predictive law that a campaign samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mor.marginals import LAWS, LogNormal, Marginal, Normal, Tabulated
from mor.sampling.space import text_table
from rt_runtime.checks import Array, one_of, whole
from rt_runtime.errors import ConfigError

_GRID = {1: 1001, 2: 81}
_POINTS = 1201


@dataclass(frozen=True, eq=False)
class Posterior:
    """What data leave of the doubt about the parameters of a law.

    samples, weights: (n, parameters) and (n,), points of a grid or of a chain. predictive: int f(x; theta) posterior
    dtheta, the law of the next observation. method: "conjugate", "grid" or "chain".

    Parameters
    ----------
    names
        Names of the parameters of the law.
    """

    law: str
    names: tuple[str, ...]
    samples: Array
    weights: Array
    predictive: Marginal
    method: str

    @property
    def mean(self) -> dict[str, float]:
        """Posterior means of the parameters."""
        return dict(zip(self.names, (self.weights @ self.samples).tolist(), strict=True))

    @property
    def std(self) -> dict[str, float]:
        """Posterior standard deviations of the parameters."""
        centre = self.weights @ self.samples
        spread = np.sqrt(self.weights @ (self.samples - centre) ** 2)
        return dict(zip(self.names, spread.tolist(), strict=True))

    def summary(self) -> str:
        """Return a table as text."""
        rows = [(name, f"{self.mean[name]:.6g}", f"{self.std[name]:.3g}") for name in self.names]
        return text_table(("parameter", "mean", "std"), rows)


def posterior(
    data: npt.ArrayLike,
    law: str,
    prior: Mapping[str, Marginal | float],
    *,
    method: str = "auto",
    draws: int = 4000,
    seed: int = 0,
    unit: str = "",
) -> Posterior:
    """Update the parameters of a law by observations.

    Parameters
    ----------
    data : (N,) array
        Observations; may be empty (the prior predictive law).
    law : str
        Family, as in study files: "normal", "lognormal", "gamma", "weibull", "gumbel", "exponential", ...
    prior : mapping
        {parameter of the law: marginal, or a number where it is known}, all parameters of the law without a default.
    method : str
        "conjugate" (normal mean or lognormal mu with normal prior and known spread), "grid" (one or two unknown
        parameters), "chain" (seeded adaptive Metropolis), or "auto": the first of them that applies.
    draws : int
        Kept draws of a chain.
    seed : int
        Seed of the chain.
    unit : str
        Unit of the input.
    """
    x = np.ravel(np.asarray(data, dtype=float))
    if not np.isfinite(x).all():
        raise ConfigError("data of posterior must be finite.")
    one_of(law, "law", "posterior", tuple(name for name in LAWS if name != "tabulated"))
    one_of(method, "method", "posterior", ("auto", "conjugate", "grid", "chain"))
    whole(draws, "draws", "posterior", 100)
    unknown = tuple(name for name, p in prior.items() if isinstance(p, Marginal))
    if not unknown:
        raise ConfigError("prior of posterior must have at least one unknown parameter: a marginal.")
    spread = {"normal": "std", "lognormal": "sigma"}.get(law)
    centre = {"normal": "mean", "lognormal": "mu"}.get(law)
    conjugate = unknown == (centre,) and isinstance(prior[str(centre)], Normal) and spread in prior
    if method == "conjugate" and not conjugate:
        raise ConfigError("method 'conjugate' of posterior needs a normal mean or lognormal mu with a normal prior.")
    if conjugate and method in ("auto", "conjugate"):
        return _conjugate(x, law, prior, str(centre), str(spread), unit)
    if method == "grid" and len(unknown) > 2:
        raise ConfigError(f"method of posterior must be 'chain' for {len(unknown)} unknown parameters.")
    level = _Level(x, law, prior, unknown, unit)
    if method != "chain" and len(unknown) <= 2:
        samples, weights = _grid(level)
        how = "grid"
    else:
        samples, weights = _chain(level, draws, seed), np.full(draws, 1.0 / draws)
        how = "chain"
    return Posterior(law, unknown, samples, weights, level.predictive(samples, weights), how)


def _conjugate(
    x: Array, law: str, prior: Mapping[str, Marginal | float], centre: str, spread: str, unit: str
) -> Posterior:
    first, width = prior[centre], prior[spread]
    assert isinstance(first, Normal) and not isinstance(width, Marginal)
    known = float(width)
    if not known > 0.0:
        raise ConfigError(f"{spread} of the prior of posterior must be positive, got {known:g}.")
    if law == "lognormal" and x.size and not x.min() > 0.0:
        raise ConfigError(f"data of posterior must be positive for the law 'lognormal', got {x.min():g}.")
    y = np.log(x) if law == "lognormal" else x
    precision = 1.0 / first.std**2 + y.size / known**2
    mean = (first.mean / first.std**2 + y.sum() / known**2) / precision
    std = precision**-0.5
    u = (np.arange(2001) + 0.5) / 2001
    samples = Normal(mean, std).ppf(u)[:, None]
    wide = float(np.hypot(std, known))
    predictive: Marginal = Normal(mean, wide, unit=unit) if law == "normal" else LogNormal(mean, wide, unit=unit)
    return Posterior(law, (centre,), samples, np.full(2001, 1.0 / 2001), predictive, "conjugate")


class _Level:
    """ln prior + ln likelihood of the unknown parameters."""

    def __init__(
        self, x: Array, law: str, prior: Mapping[str, Marginal | float], unknown: Sequence[str], unit: str
    ) -> None:
        self.x, self.kind, self.unit, self.unknown = x, LAWS[law], unit, tuple(unknown)
        self.priors = [p for p in prior.values() if isinstance(p, Marginal)]
        self.known = {name: float(p) for name, p in prior.items() if not isinstance(p, Marginal)}

    def law(self, theta: Array) -> Marginal | None:
        try:
            return self.kind(**dict(zip(self.unknown, theta.tolist(), strict=True)), **self.known, unit=self.unit)
        except TypeError as error:
            what = f"prior of posterior must name the parameters of the law '{self.kind.law}'"
            raise ConfigError(f"{what}: {error}.") from None
        except ConfigError:
            return None

    def __call__(self, theta: Array) -> float:
        law = self.law(theta)
        if law is None:
            return -np.inf
        with np.errstate(divide="ignore"):
            level = float(np.sum([np.log(p.pdf(t)) for p, t in zip(self.priors, theta, strict=True)]))
            return level + float(np.log(law.pdf(self.x)).sum()) if self.x.size else level

    def predictive(self, samples: Array, weights: Array) -> Marginal:
        """Return the mixture of the laws, tabulated."""
        if np.ptp(weights):  # a grid: its heaviest points; a chain: every n-th draw
            kept = np.argsort(-weights)[:600]
            kept = kept[weights[kept] > 1e-6 * weights[kept[0]]]
        else:
            kept = np.arange(0, len(weights), max(1, len(weights) // 400))
        share = weights[kept] / weights[kept].sum()
        laws = [law for law in (self.law(samples[k]) for k in kept) if law is not None]
        low = min(float(law.ppf(1e-7)) for law in laws)
        high = max(float(law.ppf(1.0 - 1e-7)) for law in laws)
        grid = np.linspace(low, high, _POINTS)
        middle = laws[int(np.argmax(share))]
        grid = np.unique(np.concatenate([grid, middle.ppf(np.linspace(1e-6, 1 - 1e-6, _POINTS // 2))]))
        density = sum(w * law.pdf(grid) for w, law in zip(share, laws, strict=True))
        return Tabulated(tuple(grid.tolist()), tuple(np.asarray(density).tolist()), unit=self.unit)


def _grid(level: _Level) -> tuple[Array, Array]:
    """Weights on a grid over the priors, narrowed once to where the posterior is."""
    d = len(level.unknown)
    ends = np.array([[float(p.ppf(1e-6)), float(p.ppf(1 - 1e-6))] for p in level.priors])
    for count in (31 if d == 2 else 201, 31 if d == 2 else 201, _GRID[d]):
        axes = [np.linspace(a, b, count) for a, b in ends]
        points = np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")], axis=1)
        levels = np.array([level(p) for p in points])
        if not np.isfinite(levels).any():
            raise ConfigError("data of posterior must be possible under the prior, got zero likelihood everywhere.")
        inside = points[levels > levels.max() - 20.0]
        step = np.array([a[1] - a[0] for a in axes])
        near = np.stack([inside.min(axis=0) - step, inside.max(axis=0) + step], axis=1)
        ends = np.clip(near, ends[:, :1], ends[:, 1:])
    weights = np.exp(levels - levels.max())
    return points, weights / weights.sum()


def _chain(level: _Level, draws: int, seed: int) -> Array:
    """Adaptive Metropolis (Haario et al. 2001), the first half thrown away."""
    rng = np.random.default_rng(seed)
    d = len(level.unknown)
    now = np.array([p.mean for p in level.priors])
    spread = np.diag(np.array([p.std**2 for p in level.priors])) * 0.1
    here, kept, n = level(now), np.empty((2 * draws, d)), 2 * draws
    if not np.isfinite(here):
        raise ConfigError("data of posterior must be possible at the mean of the prior, got a likelihood of zero.")
    root = np.linalg.cholesky(spread)
    for k in range(n):
        if k and k % 200 == 0:
            root = np.linalg.cholesky(2.4**2 / d * np.cov(kept[k // 2 : k].T).reshape(d, d) + 1e-12 * spread)
        there = now + root @ rng.standard_normal(d)
        value = level(there)
        if np.log(rng.random()) < value - here:
            now, here = there, value
        kept[k] = now
    return kept[draws:]
