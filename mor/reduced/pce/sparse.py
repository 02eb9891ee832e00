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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rt_runtime.checks import Array

Ints = NDArray[np.int64]

_FULLEST = 0.75  # share of the rows that a path may use up
_DEPENDENT = 1e-10
_CANCELLED = 0.7  # what is left of the length of a column after which its direction is made orthogonal once more
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
    """A least-squares fit that takes one column after the other, A[:, active] = Q' R with the rows of Q orthonormal.

    After each column it has the error over the rows left out (`out`) where there are some, else that of leaving out
    one row at a time (`loo`), and the inverse of R.
    """

    def __init__(self, y: Array, y_out: Array, largest: int) -> None:
        n = y.size
        self.judged_outside = y_out.size > 0
        self.Q, self.Q_out = np.empty((largest, n)), np.empty((largest, y_out.size))
        self.R_inverse = np.zeros((0, 0) if self.judged_outside else (largest, largest))
        self.size, self.residual, self.leverage = 0, y.copy(), np.zeros(n)
        self.residual_out = y_out.copy()
        self.trace, self.variance = 0.0, float(np.var(y))
        self.best = 0  # the size with the smallest error, less one
        self.order: list[int] = []
        self.loo: list[float] = []
        self.out: list[float] = []

    def add(self, j: int, column: Array, column_out: Array) -> tuple[Array, float, float] | None:
        """Take column j in as a = Q's + l q, q a new direction; return s, l and q'y, or None when a depends on Q."""
        k = self.size
        Q = self.Q[:k]
        shares = Q @ column
        rest = column - shares @ Q
        before, length = math.sqrt(column @ column), math.sqrt(rest @ rest)
        if length < _CANCELLED * before:  # twice is enough for full orthogonality
            second = Q @ rest
            rest -= second @ Q
            shares += second
            length = math.sqrt(rest @ rest)
        if length <= _DEPENDENT * before:
            return None
        q = np.divide(rest, length, out=self.Q[k])
        z = float(q @ self.residual)
        self.residual -= z * q
        self.size = k + 1
        self.order.append(j)
        if self.judged_outside:
            q_out = np.divide(column_out - shares @ self.Q_out[:k], length, out=self.Q_out[k])
            self.residual_out -= z * q_out
            errors, error = self.out, float(self.residual_out @ self.residual_out)
        else:
            errors, error = self.loo, self._leave_one_out(q, shares, length)
        errors.append(error)
        if error < errors[self.best]:
            self.best = k
        return shares, length, z

    def _leave_one_out(self, q: Array, shares: Array, length: float) -> float:
        k, n = self.size - 1, self.residual.size
        self.R_inverse[:k, k] = self.R_inverse[:k, :k] @ shares / -length
        self.R_inverse[k, k] = 1.0 / length
        self.trace += float(np.sum(self.R_inverse[: k + 1, k] ** 2))
        self.leverage += q * q
        left = np.maximum(1.0 - self.leverage, 1e-12)
        factor = n / max(n - self.size, 1) * (1.0 + self.trace)
        return float(np.mean((self.residual / left) ** 2)) / self.variance * factor

    def finished(self) -> bool:
        """Tell whether there is no room left, or the error has been rising for long or is at the level of rounding."""
        return (
            self.size == len(self.Q)
            or self.size - self.best > max(20, 0.3 * self.best)
            or float(self.residual @ self.residual) < _ROUNDING * self.variance * self.residual.size
        )


def _folds(n: int) -> Ints:
    """Return the fold of each of n rows."""
    fold: Ints = np.random.default_rng(0).permutation(n) % _FOLDS
    return fold


def _chosen(path: Callable[[int, int], _Growing], y: Array, terms: int, beat: float) -> Fit:
    """Cut a path(fold left out or -1, room) over all rows at the length that predicts rows left out best."""
    n = y.size
    left_out = np.bincount(_folds(n), minlength=_FOLDS)
    curves = []
    for f in range(min(_FOLDS, n)):
        curves.append(path(f, max(1, min(terms, int(_FULLEST * (n - left_out[f]))))).out)
        first = float(min(curves[0]) / (left_out[0] * np.var(y)))
        if first > _HOPELESS * beat:
            return Fit(np.empty(0, dtype=np.int64), np.empty(0), first)
    # A fold that ended early keeps its last error: it had no reason to go on.
    longest = max(map(len, curves))
    curve = np.sum([np.append(c, np.full(longest - len(c), c[-1])) for c in curves], axis=0) / (n * np.var(y))
    best = int(np.argmin(curve)) + 1
    room = max(1, min(terms, int(best * _FOLDS / (_FOLDS - 1)), int(_FULLEST * n)))
    whole = path(-1, room)
    size = int(np.argmin(whole.loo)) + 1
    coefficients = whole.R_inverse[:size, :size] @ (whole.Q[:size] @ y)
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


class Products:
    """Products a_j'A of the columns of A over the rows without each fold, and over all rows; each is formed once.

    They are what a step of matching pursuit costs; the paths of all folds and outputs take in much the same columns.
    Those of `likely` columns are formed together, which takes a fraction of the time. Rows are put in the `order` of
    their folds.
    """

    def __init__(self, A: Array, likely: Sequence[int] = ()) -> None:
        fold = _folds(len(A))
        self.order = np.argsort(fold, kind="stable")
        self.columns = np.ascontiguousarray(A[self.order].T)
        self._edges = np.searchsorted(fold[self.order], np.arange(_FOLDS + 1))
        self._parts = [self.columns[:, a:b] for a, b in pairwise(self._edges)]
        self._seen: dict[int, Array] = {}  # over the rows of each fold, and over all
        self.taken: set[int] = set()
        if len(likely):
            together = np.empty((_FOLDS + 1, len(likely), A.shape[1]))
            for part, out in zip(self._parts, together, strict=False):
                np.matmul(part[likely], part.T, out=out)
            np.sum(together[:-1], axis=0, out=together[-1])
            self._seen = {j: together[:, i] for i, j in enumerate(likely)}
        self.squares = self._without(np.array([np.einsum("ij,ij->i", a, a) for a in self._parts]))

    def rows(self, fold: int) -> tuple[Ints, Ints]:
        """Return the rows that are fitted and those that are left out, in `order`; fold -1 leaves out none."""
        at = np.arange(self._edges[-1])
        out = at[:0] if fold < 0 else at[self._edges[fold] : self._edges[fold + 1]]
        return np.setdiff1d(at, out, assume_unique=True), out

    def with_column(self, j: int, fold: int) -> Array:
        """Return a_j'A (terms,) over the rows without a fold."""
        self.taken.add(j)
        if j not in self._seen:
            each = [part @ part[j] for part in self._parts]
            self._seen[j] = np.array([*each, sum(each)])
        *each, total = self._seen[j]
        product: Array = total if fold < 0 else total - each[fold]
        return product

    def with_values(self, y: Array) -> Array:
        """Return y'A (folds + 1, terms) for y in `order`."""
        pieces = np.split(y, self._edges[1:-1])
        return self._without(np.array([part @ piece for part, piece in zip(self._parts, pieces, strict=True)]))

    @staticmethod
    def _without(each: Array) -> Array:
        """Return sums (folds + 1, ...) of `each` fold over all others; the last one is over all."""
        total = each.sum(axis=0)
        return np.concatenate([total - each, total[None]])


def omp(A: Array, y: Array, *, beat: float = np.inf, products: Products | None = None) -> Fit:
    """Add the column that lowers the residual most and refit, as long as rows left out are predicted better.

    Orthogonal matching pursuit in its optimised form (orthogonal least squares, Chen et al. 1989): what counts is the
    part of a column that the chosen ones do not span yet. The first column of A is the constant and always taken.
    When the error will not be near `beat`, no columns come back. products: those of A, for several y.
    """
    products = Products(A) if products is None else products
    y = y[products.order]
    correlations = products.with_values(y)
    return _chosen(partial(_omp_path, products, y, correlations), y, A.shape[1], beat)


def _omp_path(products: Products, y: Array, correlations: Array, fold: int, room: int) -> _Growing:
    """Take columns in. With a_j = Q's + l q the products with a new direction follow: q'A = (a_j'A - s'QA) / l."""
    inside, out = products.rows(fold)
    terms = len(products.columns)
    fit = _Growing(y[inside], y[out], room)
    length, correlation = products.squares[fold], correlations[fold].copy()
    left = length.copy()  # what of each column is not spanned yet
    spanned = np.empty((room, terms))  # QA
    usable = np.ones(terms, dtype=bool)
    j = 0
    while True:
        column = products.columns[j]
        step = fit.add(j, column[inside], column[out])
        usable[j] = False
        if step is not None:
            shares, size, z = step
            k = shares.size
            spanned[k] = (products.with_column(j, fold) - shares @ spanned[:k]) / size
            left -= spanned[k] ** 2
            correlation -= spanned[k] * z
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
    fold = _folds(len(y))

    def path(left_out: int, room: int) -> _Growing:
        inside, out = fold != left_out, fold == left_out
        return _lar_path(_Rows(A[inside], y[inside], A[out], y[out]), room)

    return _chosen(path, y, A.shape[1], beat)


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
        direction = X.T @ ((unit * inner) @ angles.Q[:k])
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.concatenate([(top - correlation) / (unit - direction), (top + correlation) / (unit + direction)])
        steps = steps[np.tile(usable, 2) & np.isfinite(steps) & (steps > 1e-14 * top / unit)]
        correlation = correlation - (steps.min() if steps.size else top / unit) * direction
    return fit
