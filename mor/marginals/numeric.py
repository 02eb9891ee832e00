"""Laws whose orthogonal polynomials have no classical name: Gumbel, Weibull, truncated normal, triangular."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import special

from mor.marginals import recurrence
from mor.marginals.base import Marginal, OpenAbove, OpenBelow, check_moments, std_of
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class Numeric(Marginal):
    """A law whose recurrence is computed from its density."""

    @abstractmethod
    def _pieces(self, degree: int) -> list[tuple[float, float]]:
        """Finite intervals of z on which the density is smooth, as far as it counts for polynomials of the degree."""

    def _recurrence(self, degree: int) -> recurrence.Recurrence:
        z, weights = recurrence.discretise(self._log_pdf, self._pieces(degree))
        return recurrence.stieltjes(z, weights, degree)


def _tail(log_pdf: Callable[[Array], Array], start: float, degree: int) -> float:
    """Return where z^(2 degree + 2) times the density has fallen to nothing, going up from `start`."""
    z = start + np.geomspace(1e-3, 1e100, 40001)
    with np.errstate(over="ignore", invalid="ignore"):
        level = log_pdf(z) + (2 * degree + 2) * np.log(z)
    top = int(np.nanargmax(level))
    below = np.nonzero(~(level[top:] > level[top] - 90.0))[0]
    return float(z[top + below[0]])


@dataclass(frozen=True)
class Gumbel(OpenBelow, OpenAbove, Numeric):
    """Gumbel (largest values): P(X <= x) = exp(-exp(-z)), z = (x - mode) / scale.

    Parameters
    ----------
    unit
        Unit of the values.
    """

    mode: float
    scale: float
    law: ClassVar[str] = "gumbel"

    def _check(self) -> None:
        self._positive("scale")

    @property
    def mean(self) -> float:
        """Mean of X."""
        return self.mode + float(np.euler_gamma) * self.scale

    @property
    def std(self) -> float:
        """Standard deviation of X."""
        return math.pi / math.sqrt(6) * self.scale

    @property
    def _standard(self) -> tuple[float, float]:
        return self.mode, self.scale

    def _ppf(self, q: Array) -> Array:
        return -np.log(-np.log(q))

    def _cdf(self, z: Array) -> Array:
        return np.exp(-np.exp(-z))

    def _log_pdf(self, z: Array) -> Array:
        return -z - np.exp(-z)

    def _pieces(self, degree: int) -> list[tuple[float, float]]:
        return [(-6.0, 2.0), (2.0, _tail(self._log_pdf, 2.0, degree))]

    def _chaospy(self, chaospy: Any) -> Any:
        return chaospy.LogWeibull(self.scale, self.mode)

    @classmethod
    def from_mean_std(cls, mean: float, std: float, *, unit: str = "") -> Self:
        """Build the Gumbel law of the given mean and std."""
        check_moments(mean, std, cls.__name__)
        scale = std * math.sqrt(6) / math.pi
        return cls(mean - float(np.euler_gamma) * scale, scale, unit=unit)


@dataclass(frozen=True)
class Weibull(OpenAbove, Numeric):
    """Weibull: P(X <= x) = 1 - exp(-z^shape), z = (x - lower) / scale.

    Parameters
    ----------
    unit
        Unit of the values.
    """

    shape: float
    scale: float
    lower: float = 0.0
    law: ClassVar[str] = "weibull"

    def _check(self) -> None:
        self._positive("shape", "scale")

    @property
    def mean(self) -> float:
        """Mean of X."""
        return self.lower + self.scale * math.gamma(1 + 1 / self.shape)

    @property
    def std(self) -> float:
        """Standard deviation of X."""
        return (self.mean - self.lower) * _weibull_cv(self.shape)

    @property
    def _standard(self) -> tuple[float, float]:
        return self.lower, self.scale

    def _ppf(self, q: Array) -> Array:
        return (-np.log1p(-q)) ** (1 / self.shape)

    def _cdf(self, z: Array) -> Array:
        return -np.expm1(-(z**self.shape))

    def _log_pdf(self, z: Array) -> Array:
        z = np.maximum(z, 0.0)
        return np.asarray(math.log(self.shape) + special.xlogy(self.shape - 1, z) - z**self.shape)

    def _pieces(self, degree: int) -> list[tuple[float, float]]:
        return [(0.0, 1.0), (1.0, _tail(self._log_pdf, 1.0, degree))]

    def _chaospy(self, chaospy: Any) -> Any:
        return chaospy.Weibull(self.shape, self.scale, self.lower)

    @classmethod
    def from_mean_std(cls, mean: float, std: float, lower: float = 0.0, *, unit: str = "") -> Self:
        """Build the Weibull law of the given mean and std that starts at `lower`."""
        check_moments(mean - lower, std, cls.__name__, positive_mean=True)
        from scipy.optimize import brentq

        cv = std / (mean - lower)
        if not _weibull_cv(500.0) < cv < _weibull_cv(0.1):
            raise ConfigError(f"std / (mean - lower) of Weibull must lie between 0.0026 and 430, got {cv:g}.")
        shape = math.exp(
            brentq(lambda log_k: math.log(_weibull_cv(math.exp(log_k)) / cv), math.log(0.1), math.log(500))
        )
        return cls(shape, (mean - lower) / math.gamma(1 + 1 / shape), lower, unit=unit)


def _weibull_cv(shape: float) -> float:
    return math.sqrt(math.expm1(math.lgamma(1 + 2 / shape) - 2 * math.lgamma(1 + 1 / shape)))


@dataclass(frozen=True)
class TruncatedNormal(Numeric):
    """Normal with mean mu and std sigma, cut to [lower, upper] (either may be infinite); z = (x - mu) / sigma.

    Parameters
    ----------
    unit
        Unit of the values.
    """

    mu: float
    sigma: float
    lower: float = -math.inf
    upper: float = math.inf
    law: ClassVar[str] = "truncated_normal"

    def _check(self) -> None:
        self._positive("sigma")
        self._ordered()
        if not self._log_mass > -600:
            raise ConfigError(
                f"Bounds [{self.lower:g}, {self.upper:g}] of TruncatedNormal lie too far from mu {self.mu:g} "
                f"for sigma {self.sigma:g}: nothing of the law is left between them."
            )

    @property
    def mean(self) -> float:
        """Mean of X (of the cut law, not mu)."""
        return self.mu + self.sigma * float(self.recurrence(1)[0][0])

    @property
    def std(self) -> float:
        """Standard deviation of X (of the cut law, not sigma)."""
        return self.sigma * math.sqrt(float(self.recurrence(1)[1][1]))

    @property
    def _standard(self) -> tuple[float, float]:
        return self.mu, self.sigma

    @property
    def _ends(self) -> tuple[float, float]:
        return (self.lower - self.mu) / self.sigma, (self.upper - self.mu) / self.sigma

    @property
    def _log_mass(self) -> float:
        """Logarithm of the probability between the bounds, computed on the side where it does not cancel."""
        a, b = self._ends
        if a > 0:
            a, b = -b, -a
        high, low = float(special.log_ndtr(b)), float(special.log_ndtr(a))
        return high + math.log(-math.expm1(low - high)) if low < high else -math.inf

    def _ppf(self, q: Array) -> Array:
        a, b = self._ends
        if a > 0:
            return -_cut_quantile(1 - q, -b, self._log_mass)
        return _cut_quantile(q, a, self._log_mass)

    def _cdf(self, z: Array) -> Array:
        a, b = self._ends
        if a > 0:
            return np.asarray(1 - (special.ndtr(-z) - special.ndtr(-b)) / math.exp(self._log_mass))
        return np.asarray((special.ndtr(z) - special.ndtr(a)) / math.exp(self._log_mass))

    def _log_pdf(self, z: Array) -> Array:
        return -0.5 * z * z - _LOG_SQRT_2PI - self._log_mass

    def _pieces(self, degree: int) -> list[tuple[float, float]]:
        a, b = self._ends
        centre = min(max(0.0, a), b)
        reach = 16.0 + 2.0 * math.sqrt(2 * degree + 2)
        ends = [max(a, centre - reach), centre, min(b, centre + reach)]
        return [(low, high) for low, high in itertools.pairwise(ends) if high > low]

    def _chaospy(self, chaospy: Any) -> Any:
        return chaospy.TruncNormal(self.lower, self.upper, self.mu, self.sigma)

    @classmethod
    def from_mean_std(
        cls, mean: float, std: float, lower: float = -math.inf, upper: float = math.inf, *, unit: str = ""
    ) -> Self:
        """Build the normal law cut to [lower, upper] that has this mean and std after the cut."""
        check_moments(mean, std, cls.__name__)
        from scipy.optimize import root

        def mismatch(v: Array) -> list[float]:
            try:
                trial = cls(mean + std * v[0], std * math.exp(v[1]), lower, upper)
            except (ConfigError, OverflowError):
                return [1e3, 1e3]
            return [(trial.mean - mean) / std, math.log(trial.std / std)]

        found = root(mismatch, [0.0, 0.0], tol=1e-13)
        if max(map(abs, mismatch(found.x))) > 1e-9:
            raise ConfigError(
                f"No TruncatedNormal on [{lower:g}, {upper:g}] has mean {mean:g} and std {std:g}; "
                "use a smaller std, wider bounds or a beta law."
            )
        return cls(mean + std * float(found.x[0]), std * math.exp(float(found.x[1])), lower, upper, unit=unit)

    @classmethod
    def from_mean_cv(
        cls, mean: float, cv: float, lower: float = -math.inf, upper: float = math.inf, *, unit: str = ""
    ) -> Self:
        """Build the cut normal law from its mean and coefficient of variation after the cut."""
        return cls.from_mean_std(mean, std_of(mean, cv, cls.__name__), lower, upper, unit=unit)


def _cut_quantile(q: Array, a: float, log_mass: float) -> Array:
    """Quantile of a standard normal law cut at a <= 0 below; its logarithm keeps the far tail exact."""
    with np.errstate(divide="ignore"):
        log_p = np.logaddexp(special.log_ndtr(a), np.log(q) + log_mass)
    return np.asarray(special.ndtri_exp(np.minimum(log_p, 0.0)))


@dataclass(frozen=True)
class Triangular(Numeric):
    """Triangular on [lower, upper] with its peak at mode; z = 2 (x - lower) / (upper - lower) - 1.

    Parameters
    ----------
    unit
        Unit of the values.
    """

    lower: float
    mode: float
    upper: float
    law: ClassVar[str] = "triangular"

    def _check(self) -> None:
        self._ordered()
        if not self.lower <= self.mode <= self.upper:
            raise ConfigError(f"mode of Triangular must lie in [{self.lower:g}, {self.upper:g}], got {self.mode:g}.")

    @property
    def mean(self) -> float:
        """Mean of X."""
        return (self.lower + self.mode + self.upper) / 3

    @property
    def std(self) -> float:
        """Standard deviation of X."""
        width, left = self.upper - self.lower, self.mode - self.lower
        return math.sqrt((width * width - width * left + left * left) / 18)

    @property
    def _standard(self) -> tuple[float, float]:
        return 0.5 * (self.lower + self.upper), 0.5 * (self.upper - self.lower)

    @property
    def _peak(self) -> float:
        """Peak as a fraction of the width."""
        return (self.mode - self.lower) / (self.upper - self.lower)

    def _ppf(self, q: Array) -> Array:
        c = self._peak
        return 2 * np.where(q <= c, np.sqrt(c * q), 1 - np.sqrt((1 - c) * (1 - q))) - 1

    def _cdf(self, z: Array) -> Array:
        c, t = self._peak, 0.5 * (z + 1)
        return np.where(t < c, t * t / c if c else 0.0, 1 - ((1 - t) ** 2 / (1 - c) if c < 1 else 0.0))

    def _log_pdf(self, z: Array) -> Array:
        c, t = self._peak, 0.5 * (z + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = t / c if c else np.ones_like(t)
            fall = (1 - t) / (1 - c) if c < 1 else np.ones_like(t)
            return np.log(np.where(t < c, rise, np.where(t > c, fall, 1.0)))

    def _pieces(self, degree: int) -> list[tuple[float, float]]:
        peak = 2 * self._peak - 1
        return [(low, high) for low, high in ((-1.0, peak), (peak, 1.0)) if high > low]

    def _chaospy(self, chaospy: Any) -> Any:
        return chaospy.Triangle(self.lower, self.mode, self.upper)

    @classmethod
    def from_mean_std(cls, mean: float, std: float, *, unit: str = "") -> Self:
        """Build the symmetric triangle mean +- sqrt(6) std."""
        check_moments(mean, std, cls.__name__)
        return cls(mean - math.sqrt(6) * std, mean, mean + math.sqrt(6) * std, unit=unit)
