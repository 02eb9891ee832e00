"""What the lengths of a Gaussian process are chosen by: restricted likelihood or leave-one-out error, with slopes.

For rows y with trend matrix F (N, P), correlation matrix R (the nugget on its diagonal) and

    P = R^-1 - R^-1 F (F' R^-1 F)^-1 F' R^-1,   q = P y,

the restricted likelihood concentrated over sigma^2 = y'q / m, m = N - P, and the leave-one-out residuals e are

    L = (m ln sigma^2 + ln det R + ln det F' R^-1 F) / 2,     e_i = q_i / P_ii.

Since dP = -P dR P, both have a slope of the form dL = sum W o dR:

    restricted likelihood    W = (P - q q' / sigma^2) / 2
    ln mean e^2              W = (P D P - sym((P v) q')) 2 / sum e^2,   v_i = e_i / P_ii,  D = diag(v o e)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dtrtrs

from mor.reduced.kriging.kernels import Correlations, Pairs
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class Solved:
    """The factors of one correlation matrix: R = L L', whitened trend L^-1 F = Q G, whitened rows."""

    factor: Array
    trend: Array  # Q (N, P)
    triangle: Array  # G (P, P)
    whitened: Array  # L^-1 y
    residual: Array  # L^-1 (y - F b)

    @property
    def freedom(self) -> int:
        """Rows less trend functions."""
        return int(self.residual.size - self.trend.shape[1])

    @property
    def variance(self) -> float:
        """Variance of the process."""
        return float(self.residual @ self.residual) / self.freedom

    def negative_likelihood(self) -> float:
        """Return the restricted likelihood L, to be minimised."""
        variance = max(self.variance, 1e-300)
        half = np.log(np.diag(self.factor)).sum() + np.log(np.abs(np.diag(self.triangle))).sum()
        return 0.5 * self.freedom * float(np.log(variance)) + float(half)

    def coefficients(self) -> Array:
        """Return the trend's coefficients b."""
        if not self.triangle.size:
            return np.empty(0)
        b: Array = dtrtrs(self.triangle, self.trend.T @ self.whitened)[0]
        return b

    def dual(self) -> Array:
        """Return q = R^-1 (y - F b)."""
        q: Array = dtrtrs(self.factor, self.residual, lower=1, trans=1)[0]
        return q

    def projector(self) -> Array:
        """Return P, symmetric, in full."""
        half = np.tril(dpotri(self.factor, lower=1)[0])
        inverse: Array = half + np.tril(half, -1).T
        if self.trend.shape[1]:
            B = dtrtrs(self.factor, self.trend, lower=1, trans=1)[0]
            inverse -= B @ B.T
        return inverse


def solve(R: Array, F: Array, y: Array) -> Solved | None:
    """Factor a correlation matrix (lower triangle) with its trend (N, P) and rows y; None where it is not positive."""
    factor, failed = dpotrf(R, lower=1, clean=1)
    if failed:
        return None
    both = dtrtrs(factor, np.column_stack([F, y]), lower=1)[0]
    whitened = both[:, -1]
    if not F.shape[1]:
        return Solved(factor, np.empty((y.size, 0)), np.empty((0, 0)), whitened, whitened)
    Q, G = np.linalg.qr(both[:, :-1])
    residual = whitened - Q @ (Q.T @ whitened)
    residual -= Q @ (Q.T @ residual)
    if not np.isfinite(residual).all() or np.abs(np.diag(G)).min() <= 1e-13 * np.abs(np.diag(G)).max():
        return None
    return Solved(factor, Q, G, whitened, residual)


def solve_above(R: Array, nugget: Array, F: Array, y: Array) -> Solved:
    """Solve with a nugget (N,) on the diagonal, ten times as much as long as R then has no factors."""
    for _ in range(12):
        noisy = R.copy()
        noisy.flat[:: len(R) + 1] += nugget
        solved = solve(noisy, F, y)
        if solved is not None:
            return solved
        nugget = 10.0 * np.maximum(nugget, 1e-16)
    raise ConfigError("Correlation matrix of a Kriging model must be positive definite; are lengths or trend absurd?")


def likelihood_slope(solved: Solved) -> tuple[float, Array]:
    """Return the negative restricted likelihood and its W."""
    q = solved.dual()
    W = solved.projector()
    W -= np.outer(q / max(solved.variance, 1e-300), q)
    W *= 0.5
    return solved.negative_likelihood(), W


def loo_slope(solved: Solved) -> tuple[float, Array]:
    """Return the logarithm of the mean squared leave-one-out residual (half of it times N) and its W."""
    q, P = solved.dual(), solved.projector()
    diagonal = np.diag(P)
    e = q / diagonal
    v = e / diagonal
    total = max(float(e @ e), 1e-300)
    side = np.outer(P @ v, q)
    W = ((P * (v * e)) @ P - 0.5 * (side + side.T)) * (q.size / total)
    return 0.5 * q.size * float(np.log(total / q.size)), W


CRITERIA = {"likelihood": likelihood_slope, "loo": loo_slope}
_REFUSED = 1e10


@dataclass
class Objective:
    """The criterion as a function of the logarithms of the lengths, logits of the weights and ln nugget.

    kernel: family; weighted: whether weights are learned; noise: "none" (nugget fixed), "learned", or an array (N,) of
    relative variances that scales the learned nugget.
    """

    kernel: str
    pairs: Pairs
    F: Array
    y: Array
    weighted: bool
    nugget: float
    learned: bool
    spread: Array  # (N,) relative noise variance of each row, mean 1
    criterion: str = "likelihood"
    longest: float = 2000.0
    evaluations: int = 0

    def __post_init__(self) -> None:
        self._correlations = Correlations(self.kernel, self.pairs)

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return len(self.pairs.h)

    @property
    def parameters(self) -> int:
        """Number of free parameters."""
        return self.inputs * (2 if self.weighted else 1) + self.learned

    def split(self, p: Array) -> tuple[Array, Array | None, float]:
        """Return lengths, weights (None for the plain product) and nugget of parameters p."""
        n = self.inputs
        weight = 1.0 / (1.0 + np.exp(-p[n : 2 * n])) if self.weighted else None
        return np.exp(p[:n]), weight, float(np.exp(p[-1])) if self.learned else self.nugget

    def _solve(self, r: Array, nugget: float) -> Solved | None:
        R = self.pairs.matrix(r)
        R.flat[:: len(R) + 1] += nugget * self.spread
        return solve(R, self.F, self.y)

    def solve(self, p: Array) -> Solved | None:
        """Factor the correlation matrix at p."""
        length, weight, nugget = self.split(p)
        return self._solve(self._correlations(length, weight), nugget)

    def value(self, p: Array) -> float:
        """Return the negative restricted likelihood alone: one factorisation, no inverse."""
        solved = self.solve(p)
        return _REFUSED if solved is None else solved.negative_likelihood()

    def __call__(self, p: Array) -> tuple[float, Array]:
        """Return criterion and slope."""
        self.evaluations += 1
        length, weight, nugget = self.split(p)
        r = self._correlations(length, weight)
        solved = self._solve(r, nugget)
        if solved is None:
            return _REFUSED, np.zeros_like(p)
        value, W = CRITERIA[self.criterion](solved)
        slope = np.zeros_like(p)
        steep = self._correlations.slope(W[self.pairs.row, self.pairs.column] * r)
        slope[: steep.size] = 2.0 * steep
        if self.learned:
            slope[-1] = nugget * float(np.diag(W) @ self.spread)
        return value, slope
