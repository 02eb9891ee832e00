"""Laws with orthogonal polynomials in closed form: uniform, normal, lognormal, beta, gamma, exponential."""

from __future__ import annotations

import math
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
class Uniform(Marginal):
    """Uniform on [lower, upper]; z = 2 (x - lower) / (upper - lower) - 1 with Legendre polynomials.

    Parameters
    ----------
    unit
        Unit of the values.
    """

    lower: float
    upper: float
    law: ClassVar[str] = "uniform"
    family: ClassVar[str] = "legendre"

    def _check(self) -> None:
        self._ordered()

    @property
    def mean(self) -> float:
        """Mean of X."""
        return 0.5 * (self.lower + self.upper)

    @property
    def std(self) -> float:
        """Standard deviation of X."""
        return (self.upper - self.lower) / math.sqrt(12)

    @property
    def _standard(self) -> tuple[float, float]:
        return self.mean, 0.5 * (self.upper - self.lower)

    def _ppf(self, q: Array) -> Array:
        return 2 * q - 1

    def _cdf(self, z: Array) -> Array:
        return 0.5 * (z + 1)

    def _log_pdf(self, z: Array) -> Array:
        return np.full_like(z, -math.log(2))

    def _recurrence(self, degree: int) -> recurrence.Recurrence:
        return recurrence.legendre(degree)

    def _chaospy(self, chaospy: Any) -> Any:
        return chaospy.Uniform(self.lower, self.upper)

    @classmethod
    def from_mean_std(cls, mean: float, std: float, *, unit: str = "") -> Self:
        """Build mean +- sqrt(3) std."""
        check_moments(mean, std, cls.__name__)
        return cls(mean - math.sqrt(3) * std, mean + math.sqrt(3) * std, unit=unit)


@dataclass(frozen=True)
class Normal(OpenBelow, OpenAbove, Marginal):
    """Normal with mean and std; z = (x - mean) / std with Hermite polynomials.

    Parameters
    ----------
    unit
        Unit of the values.
    """

    mean: float
    std: float
    law: ClassVar[str] = "normal"
    family: ClassVar[str] = "hermite"

    def _check(self) -> None:
        self._positive("std")

    @property
    def _standard(self) -> tuple[float, float]:
        return self.mean, self.std

    def _ppf(self, q: Array) -> Array:
        return np.asarray(special.ndtri(q))

    def _cdf(self, z: Array) -> Array:
        return np.asarray(special.ndtr(z))

    def _log_pdf(self, z: Array) -> Array:
        return -0.5 * z * z - _LOG_SQRT_2PI

    def _recurrence(self, degree: int) -> recurrence.Recurrence:
        return recurrence.hermite(degree)

    def _chaospy(self, chaospy: Any) -> Any:
        return chaospy.Normal(self.mean, self.std)

    @classmethod
    def from_mean_std(cls, mean: float, std: float, *, unit: str = "") -> Self:
        """Build N(mean, std^2)."""
        return cls(mean, std, unit=unit)


@dataclass(frozen=True)
class LogNormal(OpenAbove, Marginal):
    """Lognormal: ln X is normal with mean mu and standard deviation sigma; z = x / exp(mu).

    The powers of z do not span all functions of it (the moment problem has several solutions), so that a polynomial
    in X need not converge; for smooth functions of ln X give that as the parameter, with a Normal law.

    Parameters
    ----------
    unit
        Unit of the values.
    """

    mu: float
    sigma: float
    law: ClassVar[str] = "lognormal"

    def _check(self) -> None:
        self._positive("sigma")

    @property
    def mean(self) -> float:
        """Mean of X."""
        return math.exp(self.mu + 0.5 * self.sigma**2)

    @property
    def std(self) -> float:
        """Standard deviation of X."""
        return self.mean * math.sqrt(math.expm1(self.sigma**2))

    @property
    def lower(self) -> float:
        """Zero."""
        return 0.0

    @property
    def _standard(self) -> tuple[float, float]:
        return 0.0, math.exp(self.mu)

    def _ppf(self, q: Array) -> Array:
        return np.asarray(np.exp(self.sigma * special.ndtri(q)))

    def _cdf(self, z: Array) -> Array:
        return np.asarray(special.ndtr(np.log(z) / self.sigma))

    def _log_pdf(self, z: Array) -> Array:
        log_z = np.log(np.maximum(z, 1e-300))
        return -0.5 * (log_z / self.sigma) ** 2 - log_z - math.log(self.sigma) - _LOG_SQRT_2PI

    def _recurrence(self, degree: int) -> recurrence.Recurrence:
        return recurrence.stieltjes_wigert(degree, self.sigma)

    def _chaospy(self, chaospy: Any) -> Any:
        return chaospy.LogNormal(self.mu, self.sigma)

    @classmethod
    def from_mean_std(cls, mean: float, std: float, *, unit: str = "") -> Self:
        """Build the lognormal law of positive mean and std."""
        check_moments(mean, std, cls.__name__, positive_mean=True)
        variance = math.log1p((std / mean) ** 2)
        return cls(math.log(mean) - 0.5 * variance, math.sqrt(variance), unit=unit)


@dataclass(frozen=True)
class Beta(Marginal):
    """Beta on [lower, upper] with density (x - lower)^(a-1) (upper - x)^(b-1); z on [-1, 1], Jacobi polynomials.

    Parameters
    ----------
    unit
        Unit of the values.
    """

    a: float
    b: float
    lower: float = 0.0
    upper: float = 1.0
    law: ClassVar[str] = "beta"
    family: ClassVar[str] = "jacobi"

    def _check(self) -> None:
        self._positive("a", "b")
        self._ordered()

    @property
    def mean(self) -> float:
        """Mean of X."""
        return self.lower + (self.upper - self.lower) * self.a / (self.a + self.b)

    @property
    def std(self) -> float:
        """Standard deviation of X."""
        s = self.a + self.b
        return (self.upper - self.lower) * math.sqrt(self.a * self.b / (s + 1)) / s

    @property
    def _standard(self) -> tuple[float, float]:
        return 0.5 * (self.lower + self.upper), 0.5 * (self.upper - self.lower)

    def _ppf(self, q: Array) -> Array:
        return 2 * np.asarray(special.betaincinv(self.a, self.b, q)) - 1

    def _cdf(self, z: Array) -> Array:
        return np.asarray(special.betainc(self.a, self.b, np.clip(0.5 * (z + 1), 0.0, 1.0)))

    def _log_pdf(self, z: Array) -> Array:
        t = 0.5 * (z + 1)
        shape = special.xlogy(self.a - 1, t) + special.xlog1py(self.b - 1, -t)
        return np.asarray(shape - special.betaln(self.a, self.b) - math.log(2))

    def _recurrence(self, degree: int) -> recurrence.Recurrence:
        return recurrence.jacobi(degree, self.b - 1, self.a - 1)

    def _chaospy(self, chaospy: Any) -> Any:
        return chaospy.Beta(self.a, self.b, self.lower, self.upper)

    @classmethod
    def from_mean_std(cls, mean: float, std: float, lower: float = 0.0, upper: float = 1.0, *, unit: str = "") -> Self:
        """Build the beta law on [lower, upper] of the given mean and std."""
        check_moments(mean, std, cls.__name__)
        m, s = (mean - lower) / (upper - lower), std / (upper - lower)
        total = m * (1 - m) / s**2 - 1 if 0 < m < 1 else -1.0
        if not total > 0:
            raise ConfigError(
                f"Beta on [{lower:g}, {upper:g}] must have its mean inside and std below "
                f"sqrt((mean - lower)(upper - mean)), got mean {mean:g} and std {std:g}."
            )
        return cls(m * total, (1 - m) * total, lower, upper, unit=unit)

    @classmethod
    def from_mean_cv(cls, mean: float, cv: float, lower: float = 0.0, upper: float = 1.0, *, unit: str = "") -> Self:
        """Build the beta law on [lower, upper] of the given mean and coefficient of variation."""
        return cls.from_mean_std(mean, std_of(mean, cv, cls.__name__), lower, upper, unit=unit)


@dataclass(frozen=True)
class Gamma(OpenAbove, Marginal):
    """Gamma with density (x - lower)^(shape-1) exp(-(x - lower)/scale); z = (x - lower)/scale, Laguerre polynomials.

    Parameters
    ----------
    unit
        Unit of the values.
    """

    shape: float
    scale: float
    lower: float = 0.0
    law: ClassVar[str] = "gamma"
    family: ClassVar[str] = "laguerre"

    def _check(self) -> None:
        self._positive("shape", "scale")

    @property
    def mean(self) -> float:
        """Mean of X."""
        return self.lower + self.shape * self.scale

    @property
    def std(self) -> float:
        """Standard deviation of X."""
        return math.sqrt(self.shape) * self.scale

    @property
    def _standard(self) -> tuple[float, float]:
        return self.lower, self.scale

    def _ppf(self, q: Array) -> Array:
        return np.asarray(special.gammaincinv(self.shape, q))

    def _cdf(self, z: Array) -> Array:
        return np.asarray(special.gammainc(self.shape, z))

    def _log_pdf(self, z: Array) -> Array:
        return np.asarray(special.xlogy(self.shape - 1, z) - z - special.gammaln(self.shape))

    def _recurrence(self, degree: int) -> recurrence.Recurrence:
        return recurrence.laguerre(degree, self.shape)

    def _chaospy(self, chaospy: Any) -> Any:
        return chaospy.Gamma(self.shape, self.scale, self.lower)

    @classmethod
    def from_mean_std(cls, mean: float, std: float, lower: float = 0.0, *, unit: str = "") -> Self:
        """Build the gamma law of the given mean and std that starts at `lower`."""
        check_moments(mean - lower, std, cls.__name__, positive_mean=True)
        return cls(((mean - lower) / std) ** 2, std**2 / (mean - lower), lower, unit=unit)


@dataclass(frozen=True)
class Exponential(OpenAbove, Marginal):
    """Exponential from `lower` with the given scale; z = (x - lower)/scale with Laguerre polynomials.

    Parameters
    ----------
    unit
        Unit of the values.
    """

    scale: float
    lower: float = 0.0
    law: ClassVar[str] = "exponential"
    family: ClassVar[str] = "laguerre"

    def _check(self) -> None:
        self._positive("scale")

    @property
    def mean(self) -> float:
        """Mean of X."""
        return self.lower + self.scale

    @property
    def std(self) -> float:
        """Standard deviation of X."""
        return self.scale

    @property
    def _standard(self) -> tuple[float, float]:
        return self.lower, self.scale

    def _ppf(self, q: Array) -> Array:
        return -np.log1p(-q)

    def _cdf(self, z: Array) -> Array:
        return -np.expm1(-z)

    def _log_pdf(self, z: Array) -> Array:
        return -z

    def _recurrence(self, degree: int) -> recurrence.Recurrence:
        return recurrence.laguerre(degree, 1.0)

    def _chaospy(self, chaospy: Any) -> Any:
        return chaospy.Exponential(self.scale, self.lower)

    @classmethod
    def from_mean_std(cls, mean: float, std: float, *, unit: str = "") -> Self:
        """Build the exponential law of scale std that starts at mean - std."""
        check_moments(mean, std, cls.__name__)
        return cls(std, mean - std, unit=unit)
