"""Solvers for few terms out of many: OLS by QR, orthogonal matching pursuit and hybrid least-angle regression.

Least squares on given columns returns its coefficients with the corrected leave-one-out error, relative to Var[y]:

    loo = mean((r_i / (1 - h_i))^2) / Var[y] * N / (N - P) * (1 + tr((A'A)^-1))

(r residuals, h leverages of the fit on P columns; Chapelle, Vapnik, Bengio 2002; Blatman, Sudret 2011). Factors are
updated column by column, never formed through the normal equations.

Where the columns were picked by looking at y, that error is blind to the picking and far too small: a greedy path is
therefore run again on folds of the rows, and its length is the one that predicts the rows left out best. The error of
the path is the larger of the two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rt_runtime.checks import Array

Ints = NDArray[np.int64]

_FULLEST = 0.75  # share of the rows that a path may use up
_DEPENDENT = 1e-10
_FOLDS = 5
_HOPELESS = 4.0  # a first fold this many times above the error to beat ends the attempt
_ROUNDING = 1e-28  # relative error at which there is nothing left to fit


@dataclass(frozen=True)
class Fit:
    """Chosen columns, their coefficients and the error they were chosen by, relative to the variance of y."""

    columns: Ints
    coefficients: Array
    loo: float


@dataclass
class _Rows:
    """Columns and values at the rows to fit, and at the rows left out (possibly none)."""

    A: Array
    y: Array
    A_out: Array
    y_out: Array


class _Growing:
    """A least-squares fit that takes one column after the other: A[:, active] = Q R, errors after each."""

    def __init__(self, y: Array, y_out: Array, largest: int) -> None:
        n = y.size
        self.Q, self.Q_out = np.empty((n, largest)), np.empty((y_out.size, largest))
        self.R_inverse = np.zeros((largest, largest))
        self.size, self.residual, self.leverage = 0, y.copy(), np.zeros(n)
        self.residual_out = y_out.copy()
        self.trace, self.variance = 0.0, float(np.var(y))
        self.order: list[int] = []
        self.loo: list[float] = []
        self.out: list[float] = []

    def add(self, j: int, column: Array, column_out: Array) -> tuple[Array, float] | None:
        """Take column j in; return its new direction q and q'y, or None when it depends on the others."""
        k, n = self.size, self.residual.size
        Q = self.Q[:, :k]
        first = Q.T @ column
        rest = column - Q @ first
        second = Q.T @ rest  # twice is enough for full orthogonality
        rest -= Q @ second
        length = float(np.linalg.norm(rest))
        if length <= _DEPENDENT * float(np.linalg.norm(column)):
            return None
        shares = first + second
        q = rest / length
        q_out = (column_out - self.Q_out[:, :k] @ shares) / length
        self.Q[:, k], self.Q_out[:, k] = q, q_out
        self.R_inverse[:k, k] = self.R_inverse[:k, :k] @ shares / -length
        self.R_inverse[k, k] = 1.0 / length
        self.trace += float(np.sum(self.R_inverse[: k + 1, k] ** 2))
        z = float(q @ self.residual)
        self.residual = self.residual - z * q
        self.residual_out = self.residual_out - z * q_out
        self.leverage += q * q
        self.size = k + 1
        self.order.append(j)
        left = np.maximum(1.0 - self.leverage, 1e-12)
        factor = n / max(n - self.size, 1) * (1.0 + self.trace)
        self.loo.append(float(np.mean((self.residual / left) ** 2)) / self.variance * factor)
        self.out.append(float(np.sum(self.residual_out**2)))
        return q, z

    def finished(self) -> bool:
        """Tell whether there is no room left, or the error has been rising for long or is at the level of rounding."""
        errors = self.out if self.Q_out.size else self.loo
        best = int(np.argmin(errors))
        return (
            self.size == self.Q.shape[1]
            or self.size - best > max(20, 0.3 * best)
            or float(np.mean(self.residual**2)) < _ROUNDING * self.variance
        )


def _chosen(path: Callable[[_Rows, int], _Growing], A: Array, y: Array, beat: float) -> Fit:
    """Run a path on all rows and cut it at the length that predicts rows left out best."""
    n = y.size
    none = np.empty((0, A.shape[1])), np.empty(0)
    fold = np.random.default_rng(0).permutation(n) % _FOLDS
    curves = []
    for f in range(_FOLDS):
        out = fold == f
        inside = _Rows(A[~out], y[~out], A[out], y[out])
        curves.append(path(inside, max(1, min(A.shape[1], int(_FULLEST * inside.y.size)))).out)
        first = float(min(curves[0]) / (np.count_nonzero(fold == 0) * np.var(y)))
        if first > _HOPELESS * beat:
            return Fit(np.empty(0, dtype=np.int64), np.empty(0), first)
    # A fold that ended early keeps its last error: it had no reason to go on.
    longest = max(map(len, curves))
    curve = np.sum([np.append(c, np.full(longest - len(c), c[-1])) for c in curves], axis=0) / (n * np.var(y))
    best = int(np.argmin(curve)) + 1
    room = max(1, min(A.shape[1], int(best * _FOLDS / (_FOLDS - 1)), int(_FULLEST * n)))
    whole = path(_Rows(A, y, *none), room)
    size = int(np.argmin(whole.loo)) + 1
    coefficients = whole.R_inverse[:size, :size] @ (whole.Q[:, :size].T @ y)
    error = max(whole.loo[size - 1], float(curve[best - 1]))
    return Fit(np.array(whole.order[:size], dtype=np.int64), coefficients, error)


def ols(A: Array, Y: Array) -> tuple[Array, Array]:
    """Fit all columns of A (n, terms) to all columns of Y (n, outputs): coefficients and corrected loo per output."""
    n, terms = A.shape
    Q, R = np.linalg.qr(A)
    from scipy.linalg import solve_triangular

    coefficients = solve_triangular(R, Q.T @ Y)
    leverage = np.minimum(np.einsum("ij,ij->i", Q, Q), 1.0 - 1e-12)
    residual = (Y - Q @ (Q.T @ Y)) / (1.0 - leverage)[:, None]
    R_inverse = solve_triangular(R, np.eye(terms))
    factor = n / max(n - terms, 1) * (1.0 + float(np.sum(R_inverse**2)))
    return coefficients, np.mean(residual**2, axis=0) / np.var(Y, axis=0) * factor


def omp(A: Array, y: Array, *, beat: float = np.inf) -> Fit:
    """Add the column that lowers the residual most and refit, as long as rows left out are predicted better.

    Orthogonal matching pursuit in its optimised form (orthogonal least squares, Chen et al. 1989): what counts is the
    part of a column that the chosen ones do not span yet. The first column of A is the constant and always taken.
    When the error will not be near `beat`, no columns come back.
    """
    return _chosen(_omp_path, A, y, beat)


def _omp_path(rows: _Rows, room: int) -> _Growing:
    A = rows.A
    fit = _Growing(rows.y, rows.y_out, room)
    length = np.einsum("ij,ij->j", A, A)
    left = length.copy()  # what of each column is not spanned yet
    correlation = A.T @ rows.y
    usable = np.ones(A.shape[1], dtype=bool)
    j = 0
    while True:
        step = fit.add(j, A[:, j], rows.A_out[:, j])
        usable[j] = False
        if step is not None:
            q, z = step
            shared = q @ A
            left -= shared**2
            correlation -= shared * z
            if fit.finished():
                return fit
        usable &= left > _DEPENDENT * length
        if not usable.any():
            return fit
        j = int(np.argmax(np.where(usable, correlation**2 / np.where(usable, left, 1.0), -1.0)))


def lar(A: Array, y: Array, *, beat: float = np.inf) -> Fit:
    """Order the columns by least-angle regression (Efron et al. 2004), refit each active set by least squares.

    The columns are centred and scaled for the ordering; the first column of A is the constant, always taken.
    When the error will not be near `beat`, no columns come back.
    """
    return _chosen(_lar_path, A, y, beat)


def lar_order(A: Array, y: Array, room: int) -> Ints:
    """Return the columns of A in the order in which least-angle regression takes them in, at most `room`."""
    rows = _Rows(A, y, np.empty((0, A.shape[1])), np.empty(0))
    return np.array(_lar_path(rows, max(1, min(room, A.shape[1])), to_the_end=True).order, dtype=np.int64)


def lar_error(A: Array, y: Array, room: int) -> float:
    """Return the smallest leave-one-out error along the path of least-angle regression, blind to the picking."""
    rows = _Rows(A, y, np.empty((0, A.shape[1])), np.empty(0))
    return min(_lar_path(rows, max(1, min(room, A.shape[1]))).loo)


def _lar_path(rows: _Rows, room: int, *, to_the_end: bool = False) -> _Growing:
    A, y = rows.A, rows.y - rows.y.mean()
    centred = A - A.mean(axis=0)
    scale = np.linalg.norm(centred, axis=0)
    usable = scale > _DEPENDENT * np.sqrt(y.size)
    X = centred / np.where(usable, scale, 1.0)
    none = np.empty(0)
    fit, angles = _Growing(rows.y, rows.y_out, room), _Growing(y, none, room)
    fit.add(0, A[:, 0], rows.A_out[:, 0])
    signs = np.empty(0)
    correlation = X.T @ y
    start = float(np.abs(correlation).max())
    while usable.any() and not (fit.size == room if to_the_end else fit.finished()):
        j = int(np.argmax(np.where(usable, np.abs(correlation), -1.0)))
        top = abs(correlation[j])
        usable[j] = False
        if top <= 1e-14 * start or angles.add(j, X[:, j], none) is None:
            break
        if fit.add(j, A[:, j], rows.A_out[:, j]) is None:
            break
        signs = np.append(signs, np.sign(correlation[j]))
        k = angles.size
        inner = angles.R_inverse[:k, :k].T @ signs
        unit = 1.0 / float(np.linalg.norm(inner))
        direction = X.T @ (angles.Q[:, :k] @ (unit * inner))
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.concatenate([(top - correlation) / (unit - direction), (top + correlation) / (unit + direction)])
        steps = steps[np.tile(usable, 2) & np.isfinite(steps) & (steps > 1e-14 * top / unit)]
        correlation = correlation - (steps.min() if steps.size else top / unit) * direction
    return fit
