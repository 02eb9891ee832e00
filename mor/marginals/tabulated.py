"""A law given by its density at many points: from maximum entropy, a posterior, or another package."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from mor.marginals import recurrence
from mor.marginals.base import Marginal
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

_NODES = np.array([-math.sqrt(0.6), 0.0, math.sqrt(0.6)])  # three Gauss points of an interval
_SHARES = np.array([5.0, 8.0, 5.0]) / 18.0


@dataclass(frozen=True)
class Tabulated(Marginal):
    """A density that is linear between `points`, where it has the values `density` (of any scale).

    The standard variable is z = (x - mean) / std.

    Parameters
    ----------
    unit
        Unit of the values.
    """

    points: tuple[float, ...]
    density: tuple[float, ...]
    law: ClassVar[str] = "tabulated"

    def __post_init__(self) -> None:
        if not isinstance(self.unit, str):
            raise ConfigError(f"unit of Tabulated must be a text, got {self.unit!r}.")
        x, f = np.asarray(self.points, dtype=float), np.asarray(self.density, dtype=float)
        if x.ndim != 1 or x.size < 2 or x.shape != f.shape or not (np.isfinite(x).all() and np.isfinite(f).all()):
            raise ConfigError(
                f"points and density of Tabulated must be two lists of the same length of at least 2 finite numbers, "
                f"got shapes {x.shape} and {f.shape}."
            )
        if not np.all(np.diff(x) > 0):
            raise ConfigError("points of Tabulated must increase.")
        area = float(np.trapezoid(f, x))
        if f.min() < 0 or not area > 0:
            raise ConfigError(f"density of Tabulated must be at least 0 and not all 0, got {f.min():g}.")
        object.__setattr__(self, "points", tuple(x.tolist()))
        object.__setattr__(self, "density", tuple((f / area).tolist()))

    def _check(self) -> None:
        """Everything is checked above."""

    @cached_property
    def _table(self) -> tuple[Array, Array, Array]:
        x, f = np.array(self.points), np.array(self.density)
        cdf = np.concatenate([[0.0], np.cumsum(0.5 * (f[1:] + f[:-1]) * np.diff(x))])
        return x, f, cdf / cdf[-1]

    @cached_property
    def _quadrature(self) -> tuple[Array, Array]:
        x, f, _ = self._table
        half = 0.5 * np.diff(x)[:, None]
        nodes = (0.5 * (x[1:] + x[:-1])[:, None] + half * _NODES).ravel()
        weights = (2.0 * half * _SHARES).ravel() * np.interp(nodes, x, f)
        return nodes, weights / weights.sum()

    @cached_property
    def _moments(self) -> tuple[float, float]:
        nodes, weights = self._quadrature
        mean = float(weights @ nodes)
        return mean, math.sqrt(float(weights @ (nodes - mean) ** 2))

    @property
    def mean(self) -> float:
        """Mean of X."""
        return self._moments[0]

    @property
    def std(self) -> float:
        """Standard deviation of X."""
        return self._moments[1]

    @property
    def lower(self) -> float:
        """First point."""
        return self.points[0]

    @property
    def upper(self) -> float:
        """Last point."""
        return self.points[-1]

    @property
    def _standard(self) -> tuple[float, float]:
        return self._moments

    def _cdf(self, z: Array) -> Array:
        x, f, cdf = self._table
        v = self.from_standard(z)
        i = np.clip(np.searchsorted(x, v, side="right") - 1, 0, x.size - 2)
        h = v - x[i]
        slope = (f[i + 1] - f[i]) / (x[i + 1] - x[i])
        return np.clip(cdf[i] + h * (f[i] + 0.5 * slope * h), 0.0, 1.0)

    def _ppf(self, q: Array) -> Array:
        x, f, cdf = self._table
        i = np.clip(np.searchsorted(cdf, q, side="right") - 1, 0, x.size - 2)
        slope, rest = (f[i + 1] - f[i]) / (x[i + 1] - x[i]), np.maximum(q - cdf[i], 0.0)
        root = np.sqrt(np.maximum(f[i] ** 2 + 2.0 * slope * rest, 0.0))
        total = f[i] + root
        h = np.where(total > 0.0, 2.0 * rest / np.where(total > 0.0, total, 1.0), 0.0)
        return self.to_standard(np.minimum(x[i] + h, x[i + 1]))

    def _log_pdf(self, z: Array) -> Array:
        x, f, _ = self._table
        return np.log(np.interp(self.from_standard(z), x, f) * self.std)

    def _recurrence(self, degree: int) -> recurrence.Recurrence:
        nodes, weights = self._quadrature
        return recurrence.stieltjes(self.to_standard(nodes), weights, degree)

    def _chaospy(self, chaospy: Any) -> Any:
        raise ConfigError("A tabulated law has no counterpart in chaospy.")

    def to_dict(self) -> dict[str, Any]:
        """Return law, points, density and unit as plain values, for files."""
        return {"law": self.law, "points": list(self.points), "density": list(self.density), "unit": self.unit}

    @classmethod
    def of(cls, distribution: Any, *, points: int = 801, unit: str = "") -> Self:
        """Tabulate a distribution of chaospy (`pdf`, `inv`) or of scipy.stats (`pdf`, `ppf`).

        Half of the points are equal steps of probability, half equal steps of x; unbounded tails end at probability
        1e-9.
        """
        inverse = getattr(distribution, "inv", None) or getattr(distribution, "ppf", None)
        if inverse is None or not hasattr(distribution, "pdf"):
            raise ConfigError(f"distribution of Tabulated.of must have pdf and inv or ppf, got {distribution!r}.")
        u = np.linspace(0.0, 1.0, points // 2)
        u[0], u[-1] = 1e-9, 1.0 - 1e-9
        x = np.ravel(np.asarray(inverse(u), dtype=float))
        ends = np.ravel(np.asarray(inverse(np.array([0.0, 1.0])), dtype=float))
        ends = np.where(np.isfinite(ends) & (np.abs(ends - x[[0, -1]]) < 1e-3 * np.ptp(x)), ends, x[[0, -1]])
        grid = np.unique(np.concatenate([x, np.linspace(ends[0], ends[1], points - points // 2)]))
        density = np.nan_to_num(np.ravel(np.asarray(distribution.pdf(grid), dtype=float)), nan=0.0, posinf=0.0)
        return cls(tuple(grid.tolist()), tuple(density.tolist()), unit=unit)

    @classmethod
    def from_log_density(cls, log_density: npt.ArrayLike, points: npt.ArrayLike, *, unit: str = "") -> Self:
        """Build the law from the logarithm of a density (up to a constant) at points."""
        level = np.asarray(log_density, dtype=float)
        return cls(tuple(np.asarray(points, float).tolist()), tuple(np.exp(level - level.max()).tolist()), unit=unit)
