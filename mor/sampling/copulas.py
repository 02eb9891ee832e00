"""Dependence of inputs: copulas with their Rosenblatt maps, fitted from data.

A copula couples uniform variables W_1..W_d. Its Rosenblatt map in an order of the inputs,

    V_1 = W_1,   V_j = P(W_j <= w_j | W_1, ..., W_{j-1}),

makes them independent; the inverse makes independent V dependent. An Archimedean copula C(w) = psi(sum_i phi(w_i)) has

    V_j = g_{j-1}(t_{j-1} + phi(w_j)) / g_{j-1}(t_{j-1}),   t_j = sum_{i<=j} phi(w_i),   g_k = (-1)^k psi^(k),

with g_k in closed form for the three families here. All maps are ours: those of chaospy are iterative and slower
(benchmarks/bench_sobol.py measures both).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import comb, ndtr, ndtri

from rt_runtime.checks import Array, one_of
from rt_runtime.errors import ConfigError

_EDGE = 1e-12


class Copula(ABC):
    """Dependence of d uniform variables."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of variables."""

    @abstractmethod
    def _independent(self, W: Array, order: Sequence[int]) -> Array:
        """Rosenblatt map of checked rows, columns in their own places."""

    @abstractmethod
    def _dependent(self, V: Array, order: Sequence[int]) -> Array:
        """Inverse Rosenblatt map of checked rows."""

    @abstractmethod
    def log_density(self, W: npt.ArrayLike) -> Array:
        """Return ln c at rows W (n, d)."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for files."""

    def independent(self, W: npt.ArrayLike, order: Sequence[int] | None = None) -> Array:
        """Map dependent uniform rows W (n, d) to independent ones; `order`: which input is taken first, second, ..."""
        return self._independent(np.clip(self._rows(W), _EDGE, 1.0 - _EDGE), self._order(order))

    def dependent(self, V: npt.ArrayLike, order: Sequence[int] | None = None) -> Array:
        """Map independent uniform rows V (n, d) to dependent ones."""
        return self._dependent(np.clip(self._rows(V), _EDGE, 1.0 - _EDGE), self._order(order))

    def _rows(self, values: npt.ArrayLike) -> Array:
        rows = np.asarray(values, dtype=float)
        if rows.ndim != 2 or rows.shape[1] != self.dimension:
            raise ConfigError(f"Rows of a copula must have {self.dimension} columns, got shape {rows.shape}.")
        return rows

    def _order(self, order: Sequence[int] | None) -> list[int]:
        wanted = list(range(self.dimension)) if order is None else [int(i) for i in order]
        if sorted(wanted) != list(range(self.dimension)):
            raise ConfigError(f"order of a copula must name each of {self.dimension} inputs once, got {wanted}.")
        return wanted


class GaussianCopula(Copula):
    """The dependence of normal variables with a given correlation matrix (Nataf)."""

    kind: ClassVar[str] = "gaussian"

    def __init__(self, correlation: npt.ArrayLike) -> None:
        R = np.array(correlation, dtype=float)
        if R.ndim != 2 or R.shape[0] != R.shape[1] or len(R) < 2 or not np.isfinite(R).all():
            raise ConfigError(f"correlation of GaussianCopula must be a finite square matrix, got shape {R.shape}.")
        if not (np.allclose(R, R.T, atol=1e-12) and np.allclose(np.diag(R), 1.0, atol=1e-12)):
            raise ConfigError(
                f"correlation of GaussianCopula must be symmetric with ones on the diagonal, got {R.tolist()}."
            )
        least = float(np.linalg.eigvalsh(R).min())
        if least <= 1e-10:
            why = (
                "some inputs are functions of others; leave them out"
                if least > -1e-10
                else "such correlations cannot hold together"
            )
            raise ConfigError(
                f"correlation of GaussianCopula must be positive definite, got the smallest eigenvalue {least:.3g}: "
                f"{why}."
            )
        R.flags.writeable = False
        self.correlation = R

    @property
    def dimension(self) -> int:
        """Number of variables."""
        return len(self.correlation)

    def _factor(self, order: Sequence[int]) -> Array:
        L: Array = np.linalg.cholesky(self.correlation[np.ix_(order, order)])
        return L

    def _independent(self, W: Array, order: Sequence[int]) -> Array:
        from scipy.linalg import solve_triangular

        V = np.empty_like(W)
        V[:, order] = ndtr(solve_triangular(self._factor(order), ndtri(W[:, order]).T, lower=True).T)
        return V

    def _dependent(self, V: Array, order: Sequence[int]) -> Array:
        W = np.empty_like(V)
        W[:, order] = ndtr(ndtri(V[:, order]) @ self._factor(order).T)
        return W

    def log_density(self, W: npt.ArrayLike) -> Array:
        """Return ln c at rows W (n, d)."""
        z = ndtri(np.clip(self._rows(W), _EDGE, 1.0 - _EDGE))
        inverse = np.linalg.inv(self.correlation) - np.eye(self.dimension)
        value: Array = -0.5 * np.linalg.slogdet(self.correlation)[1] - 0.5 * np.einsum("ij,jk,ik->i", z, inverse, z)
        return value

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for files."""
        return {"copula": self.kind, "correlation": self.correlation.tolist()}

    @classmethod
    def fit(cls, X: npt.ArrayLike) -> GaussianCopula:
        """Fit to rows X (n, d) by the correlation of their normal scores."""
        scores = ndtri(_ranks(X))
        R = np.corrcoef(scores.T)
        if float(np.linalg.eigvalsh(R).min()) <= 1e-10:
            raise ConfigError("Columns of X of a copula must not be functions of each other: their ranks are equal.")
        return cls(0.5 * (R + R.T))


@dataclass(frozen=True)
class Archimedean(Copula):
    """Exchangeable dependence with one parameter theta: all pairs alike."""

    theta: float
    size: int = 2

    def __post_init__(self) -> None:
        if not (isinstance(self.size, int) and self.size >= 2):
            raise ConfigError(f"size of {type(self).__name__} must be a whole number of at least 2, got {self.size!r}.")
        finite = isinstance(self.theta, Real) and bool(np.isfinite(self.theta))
        if not (finite and self._allowed(self.theta)):
            wanted = self.range if finite else f"finite and {self.range}"
            raise ConfigError(f"theta of {type(self).__name__} must be {wanted}, got {self.theta!r}.")

    range: ClassVar[str]

    @property
    def dimension(self) -> int:
        """Number of variables."""
        return self.size

    @staticmethod
    @abstractmethod
    def _allowed(theta: float) -> bool:
        """Whether theta makes a copula of any dimension."""

    @abstractmethod
    def _phi(self, w: Array) -> Array:
        """Generator."""

    @abstractmethod
    def _log_minus_slope(self, w: Array) -> Array:
        """ln(-phi'(w))."""

    @abstractmethod
    def _log_g(self, k: int, t: Array) -> Array:
        """ln((-1)^k psi^(k)(t))."""

    @classmethod
    @abstractmethod
    def theta_of(cls, tau: float) -> float:
        """Return theta for Kendall's tau."""

    def _independent(self, W: Array, order: Sequence[int]) -> Array:
        V = W.copy()
        t = self._phi(W[:, order[0]])
        for k, j in enumerate(order[1:], 1):
            following = t + self._phi(W[:, j])
            V[:, j] = np.exp(self._log_g(k, following) - self._log_g(k, t))
            t = following
        return V

    def _dependent(self, V: Array, order: Sequence[int]) -> Array:
        W = V.copy()
        t = self._phi(V[:, order[0]])
        for k, j in enumerate(order[1:], 1):
            goal = np.log(V[:, j]) + self._log_g(k, t)
            low, high = np.full(len(V), _EDGE), np.full(len(V), 1.0 - _EDGE)
            for _ in range(52):  # monotone in w
                middle = 0.5 * (low + high)
                below = self._log_g(k, t + self._phi(middle)) < goal
                low, high = np.where(below, middle, low), np.where(below, high, middle)
            W[:, j] = 0.5 * (low + high)
            t = t + self._phi(W[:, j])
        return W

    def log_density(self, W: npt.ArrayLike) -> Array:
        """Return ln c at rows W (n, d)."""
        rows = np.clip(self._rows(W), _EDGE, 1.0 - _EDGE)
        slopes = self._log_minus_slope(rows).sum(axis=1)
        return np.asarray(self._log_g(self.size, self._phi(rows).sum(axis=1)) + slopes, dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for files."""
        return {"copula": self.kind, "theta": self.theta, "size": self.size}


@dataclass(frozen=True)
class Clayton(Archimedean):
    """phi = (w^-theta - 1) / theta, theta > 0: dependence of small values among `size` variables."""

    kind: ClassVar[str] = "clayton"
    range: ClassVar[str] = "positive"

    @staticmethod
    def _allowed(theta: float) -> bool:
        return theta > 0.0

    def _phi(self, w: Array) -> Array:
        return np.expm1(-self.theta * np.log(w)) / self.theta

    def _log_minus_slope(self, w: Array) -> Array:
        return -(self.theta + 1.0) * np.log(w)

    def _log_g(self, k: int, t: Array) -> Array:
        front = float(np.log1p(self.theta * np.arange(k)).sum())
        return front - (1.0 / self.theta + k) * np.log1p(self.theta * t)

    def _dependent(self, V: Array, order: Sequence[int]) -> Array:
        W = V.copy()
        t = self._phi(V[:, order[0]])
        for k, j in enumerate(order[1:], 1):
            power = 1.0 / self.theta + k
            grown = np.exp(-np.log(V[:, j]) / power)
            added = (1.0 + self.theta * t) * (grown - 1.0) / self.theta
            W[:, j] = np.exp(-np.log1p(self.theta * added) / self.theta)
            t = t + added
        return W

    @classmethod
    def theta_of(cls, tau: float) -> float:
        """Return theta for Kendall's tau: tau = theta / (theta + 2)."""
        return 2.0 * tau / (1.0 - tau)


@dataclass(frozen=True)
class Gumbel(Archimedean):
    """phi = (-ln w)^theta, theta >= 1: dependence of large values among `size` variables."""

    kind: ClassVar[str] = "gumbel"
    range: ClassVar[str] = "at least 1"

    @staticmethod
    def _allowed(theta: float) -> bool:
        return theta >= 1.0

    def _phi(self, w: Array) -> Array:
        return (-np.log(w)) ** self.theta

    def _log_minus_slope(self, w: Array) -> Array:
        return np.asarray(np.log(self.theta) + (self.theta - 1.0) * np.log(-np.log(w)) - np.log(w), dtype=np.float64)

    def _log_g(self, k: int, t: Array) -> Array:
        """g_k = exp(-x) P_k(x) / t^k, x = t^a, a = 1/theta, P_{k+1} = k P_k + a x (P_k - P_k')."""
        a = 1.0 / self.theta
        x = np.maximum(t, 1e-300) ** a
        P = np.polynomial.Polynomial([1.0])
        for j in range(k):
            P = j * P + np.polynomial.Polynomial([0.0, a]) * (P - P.deriv())
        return np.asarray(-x + np.log(np.maximum(P(x), 1e-300)) - k * np.log(np.maximum(t, 1e-300)), dtype=np.float64)

    @classmethod
    def theta_of(cls, tau: float) -> float:
        """Return theta for Kendall's tau: tau = 1 - 1/theta."""
        return 1.0 / (1.0 - tau)


@dataclass(frozen=True)
class Frank(Archimedean):
    """phi = -ln((exp(-theta w) - 1) / (exp(-theta) - 1)), theta > 0: symmetric dependence among `size` variables."""

    kind: ClassVar[str] = "frank"
    range: ClassVar[str] = "positive"

    @staticmethod
    def _allowed(theta: float) -> bool:
        return theta > 0.0

    def _phi(self, w: Array) -> Array:
        return np.asarray(-np.log(np.expm1(-self.theta * w) / np.expm1(-self.theta)), dtype=np.float64)

    def _log_minus_slope(self, w: Array) -> Array:
        return np.asarray(np.log(self.theta) - np.log(np.expm1(self.theta * w)), dtype=np.float64)

    def _log_g(self, k: int, t: Array) -> Array:
        """g_k = Li_{1-k}(x) / theta, x = (1 - exp(-theta)) exp(-t); Li_{-n} by Eulerian numbers."""
        x = -np.expm1(-self.theta) * np.exp(-t)
        if k == 0:
            return np.asarray(np.log(-np.log1p(-x) / self.theta), dtype=np.float64)
        n = k - 1
        if n == 0:
            return np.asarray(np.log(x) - np.log1p(-x) - np.log(self.theta), dtype=np.float64)
        euler = [sum((-1) ** j * comb(n + 1, j, exact=True) * (m + 1 - j) ** n for j in range(m + 2)) for m in range(n)]
        top = sum(e * x ** (n - m) for m, e in enumerate(euler))
        return np.asarray(np.log(top) - (n + 1) * np.log1p(-x) - np.log(self.theta), dtype=np.float64)

    @classmethod
    def theta_of(cls, tau: float) -> float:
        """Return theta for Kendall's tau: tau = 1 - 4 (1 - D(theta)) / theta, D the Debye function."""
        from scipy.integrate import quad
        from scipy.optimize import brentq

        def error(theta: float) -> float:
            debye = quad(lambda s: s / np.expm1(s) if s > 0 else 1.0, 0.0, theta)[0] / theta
            return float(1.0 - 4.0 * (1.0 - debye) / theta - tau)

        return float(brentq(error, 1e-6, 700.0))


ARCHIMEDEAN: dict[str, type[Archimedean]] = {"clayton": Clayton, "gumbel": Gumbel, "frank": Frank}


def fit_copula(X: npt.ArrayLike, kind: str = "auto") -> Copula:
    """Fit the dependence of rows X (n, d), whatever their marginals.

    Parameters
    ----------
    X : (n, d) array
        Observations; only their ranks count.
    kind : str
        "gaussian" (normal scores), "clayton", "gumbel", "frank" (mean of Kendall's tau over the pairs, which must be
        positive), or "auto": the largest likelihood of the ranks, less one for each parameter.
    """
    one_of(kind, "kind", "fit_copula", ("auto", "gaussian", *ARCHIMEDEAN))
    U = _ranks(X)
    d = U.shape[1]
    if kind == "gaussian":
        return GaussianCopula.fit(X)
    from scipy.stats import kendalltau

    tau = float(np.mean([kendalltau(U[:, i], U[:, j])[0] for i in range(d) for j in range(i)]))
    if kind in ARCHIMEDEAN:
        if not 0.0 < tau < 1.0:
            raise ConfigError(
                f"Columns of X of a {kind} copula must have a positive mean rank correlation below 1, got Kendall's "
                f"tau {tau:.3g}; use the gaussian copula."
            )
        return ARCHIMEDEAN[kind](ARCHIMEDEAN[kind].theta_of(tau), d)
    candidates: list[tuple[float, Copula]] = []
    gaussian = GaussianCopula.fit(X)
    candidates.append((float(gaussian.log_density(U).sum()) - d * (d - 1) / 2, gaussian))
    if 0.01 < tau < 0.99:
        for family in ARCHIMEDEAN.values():
            copula = family(family.theta_of(tau), d)
            candidates.append((float(copula.log_density(U).sum()) - 1.0, copula))
    return max(candidates, key=lambda c: c[0])[1]


def copula_from(spec: Mapping[str, Any]) -> Copula:
    """Build a copula from `to_dict` values."""
    kind = spec.get("copula")
    if kind == "gaussian":
        return GaussianCopula(spec.get("correlation", []))
    if kind in ARCHIMEDEAN:
        return ARCHIMEDEAN[str(kind)](float(spec.get("theta", np.nan)), int(spec.get("size", 2)))
    raise ConfigError(f"copula must be one of gaussian, {', '.join(ARCHIMEDEAN)}, got {kind!r}.")


def _ranks(X: npt.ArrayLike) -> Array:
    rows = np.asarray(X, dtype=float)
    if rows.ndim != 2 or rows.shape[1] < 2 or len(rows) < 5 or not np.isfinite(rows).all():
        raise ConfigError(f"X of a copula must be at least 5 finite rows of 2 or more columns, got {rows.shape}.")
    constant = np.flatnonzero(np.ptp(rows, axis=0) == 0.0)
    if constant.size:
        raise ConfigError(
            f"Columns of X of a copula must vary, got {rows[0, constant[0]]:g} only in column {constant[0]}."
        )
    from scipy.stats import rankdata

    u: Array = rankdata(rows, axis=0) / (len(rows) + 1)
    return u
