"""What every law of one uncertain parameter has: moments, quantiles, density, polynomials orthogonal to it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from mor.marginals import recurrence
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError, MissingExtra


@dataclass(frozen=True)
class Marginal(ABC):
    """The law of one parameter X, with its unit.

    A standard variable z belongs to X = location + scale z; `family` names the polynomials orthogonal to its law.
    """

    unit: str = field(default="", kw_only=True)
    law: ClassVar[str] = ""
    family: ClassVar[str] = "numeric"

    if TYPE_CHECKING:  # fields of some laws, computed by others

        @property
        def mean(self) -> float:
            """Mean of X."""

        @property
        def std(self) -> float:
            """Standard deviation of X."""

        @property
        def lower(self) -> float:
            """Lower end of the support, may be -inf."""

        @property
        def upper(self) -> float:
            """Upper end of the support, may be inf."""

    def __post_init__(self) -> None:
        for item in fields(self):
            if item.name == "unit":
                if not isinstance(self.unit, str):
                    raise ConfigError(f"unit of {type(self).__name__} must be a text, got {self.unit!r}.")
                continue
            value = getattr(self, item.name)
            unbounded = self.law == "truncated_normal" and item.name in ("lower", "upper")
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise ConfigError(f"{item.name} of {type(self).__name__} must be a number, got {value!r}.")
            if math.isnan(value) or (math.isinf(value) and not unbounded):
                raise ConfigError(f"{item.name} of {type(self).__name__} must be finite, got {value:g}.")
            object.__setattr__(self, item.name, float(value))
        self._check()

    @abstractmethod
    def _check(self) -> None:
        """Raise when the parameters, each finite, do not make a law."""

    def _positive(self, *names: str) -> None:
        for name in names:
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} of {type(self).__name__} must be positive, got {getattr(self, name):g}.")

    def _ordered(self) -> None:
        if not self.lower < self.upper:
            raise ConfigError(
                f"lower of {type(self).__name__} must be below upper, got {self.lower:g} and {self.upper:g}."
            )

    @property
    @abstractmethod
    def _standard(self) -> tuple[float, float]:
        """Location and scale of the affine map from the standard variable."""

    @abstractmethod
    def _ppf(self, q: Array) -> Array:
        """Quantile of the standard variable."""

    @abstractmethod
    def _cdf(self, z: Array) -> Array:
        """Distribution function of the standard variable inside its support."""

    @abstractmethod
    def _log_pdf(self, z: Array) -> Array:
        """Logarithm of the density of the standard variable inside its support."""

    @abstractmethod
    def _recurrence(self, degree: int) -> recurrence.Recurrence:
        """Recurrence of the polynomials orthogonal to the standard variable."""

    @abstractmethod
    def _chaospy(self, chaospy: Any) -> Any:
        """The law in the given module chaospy."""

    @property
    def distribution(self) -> Any:
        """The same law as a chaospy distribution."""
        try:
            import chaospy
        except ImportError as error:
            raise MissingExtra(f"distribution needs chaospy ({error}); install hybrid-mor[chaospy].") from error
        return self._chaospy(chaospy)

    def ppf(self, q: npt.ArrayLike) -> Array:
        """Return the quantiles of X at probabilities `q` in [0, 1]."""
        q = np.asarray(q, dtype=float)
        if not np.all((q >= 0) & (q <= 1)):
            raise ConfigError(f"q of {type(self).__name__}.ppf must lie in [0, 1], got [{np.min(q):g}, {np.max(q):g}].")
        with np.errstate(divide="ignore", invalid="ignore"):
            x = np.clip(self.from_standard(self._ppf(q)), self.lower, self.upper)
        return np.where(q == 0, self.lower, np.where(q == 1, self.upper, x))

    def cdf(self, x: npt.ArrayLike) -> Array:
        """Return the probability that X is at most `x`."""
        x = np.asarray(x, dtype=float)
        inside = self.to_standard(np.clip(x, self.lower, self.upper))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = self._cdf(inside)
        return np.where(x <= self.lower, 0.0, np.where(x >= self.upper, 1.0, value))

    def pdf(self, x: npt.ArrayLike) -> Array:
        """Return the density of X at `x` (per unit of X)."""
        x = np.asarray(x, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = np.exp(self._log_pdf(self.to_standard(x))) / self._standard[1]
        return np.where((x >= self.lower) & (x <= self.upper), value, 0.0)

    def to_standard(self, x: npt.ArrayLike) -> Array:
        """Map X to the standard variable of the family: z = (x - location) / scale."""
        location, scale = self._standard
        return (np.asarray(x, dtype=float) - location) / scale

    def from_standard(self, z: npt.ArrayLike) -> Array:
        """Map the standard variable of the family to X: x = location + scale z."""
        location, scale = self._standard
        return location + scale * np.asarray(z, dtype=float)

    def recurrence(self, degree: int) -> recurrence.Recurrence:
        """Return alpha, beta (each degree + 1) of the monic polynomials orthogonal to the law of z.

        pi_{k+1} = (z - alpha_k) pi_k - beta_k pi_{k-1}, beta_0 = 1.
        """
        if degree < 0:
            raise ConfigError(f"degree of {type(self).__name__}.recurrence must be at least 0, got {degree}.")
        alpha, beta = _cached_recurrence(self, int(degree))
        return alpha.copy(), beta.copy()

    def to_dict(self) -> dict[str, Any]:
        """Return law, parameters and unit as plain values, for files."""
        return {"law": self.law, **{item.name: getattr(self, item.name) for item in fields(self)}}

    @classmethod
    def from_mean_std(cls, mean: float, std: float, *, unit: str = "") -> Self:
        """Build the law from its mean and standard deviation."""
        raise ConfigError(f"{cls.__name__} cannot be built from mean and std alone; give its own parameters.")

    @classmethod
    def from_mean_cv(cls, mean: float, cv: float, *, unit: str = "") -> Self:
        """Build the law from its mean and coefficient of variation std / |mean|."""
        return cls.from_mean_std(mean, std_of(mean, cv, cls.__name__), unit=unit)


class OpenBelow:
    """A law without a lower bound."""

    @property
    def lower(self) -> float:
        """-inf."""
        return -math.inf


class OpenAbove:
    """A law without an upper bound."""

    @property
    def upper(self) -> float:
        """Inf."""
        return math.inf


@lru_cache(maxsize=256)
def _cached_recurrence(marginal: Marginal, degree: int) -> recurrence.Recurrence:
    return marginal._recurrence(degree)


def std_of(mean: float, cv: float, what: str) -> float:
    """Return the standard deviation cv |mean| of the law called `what`."""
    if not (mean != 0 and cv > 0):
        raise ConfigError(f"{what} from mean and cv needs a mean other than 0 and a positive cv, got {mean:g}, {cv:g}.")
    return cv * abs(mean)


def check_moments(mean: float, std: float, what: str, *, positive_mean: bool = False) -> None:
    """Raise when mean and std are no moments of the law called `what`."""
    if not (math.isfinite(mean) and math.isfinite(std) and std > 0):
        raise ConfigError(f"{what} from mean and std needs a finite mean and a positive std, got {mean:g}, {std:g}.")
    if positive_mean and mean <= 0:
        raise ConfigError(f"mean of {what} must be positive, got {mean:g}.")
