"""Which terms a lambda model has: forward steps by score tests, backward steps by Wald tests, judged by a criterion.

    criterion = -2 ln L + sum over the four rows of the price of their terms,    price = 2 n                     "aic"
                                                                                         n ln N                  "bic"
                                                                                         n ln N + 2 ln ways      "ebic"

n terms, N rows of data. With tens of candidates plain BIC admits a false term in most fits; the extended one (Chen and
Chen 2008) pays for the number of ways in which as many terms could have been picked: the highest degree among those
offered, and degree by degree n_q of the p_q candidates, (degrees) prod_q p_q! / (n_q! (p_q - n_q)!). A linear effect
need not pay for the many terms of high degree. Products of several inputs have few rows with large values, and in the
scale one such row can look like an effect: an interaction enters scale and shapes only when one of its inputs is there
already.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mor.reduced.lambda_model.likelihood import Found, Problem, covariance
from mor.reduced.pce.basis import Ints
from mor.reduced.pce.sparse import lar
from rt_runtime.checks import Array

CRITERIA = ("ebic", "bic", "aic")
START = 0.13  # shapes of a start
LOG_SPREAD = -0.635  # E ln|residual| of a normal variable of unit spread
UNIT_SPREAD = 0.375  # ln of the standard deviation of a lambda variable of l2 = 1 and both shapes 0.13
_STEPS = 60
_TRIED = 3  # candidates of the best score statistics that are refitted before a forward search ends


class Price:
    """What terms cost, given the multi-indices of the candidates of each row, the constant among them."""

    def __init__(self, criterion: str, rows: int, indices: Sequence[Ints]) -> None:
        self.each = 2.0 if criterion == "aic" else float(np.log(rows))
        self.extended = criterion == "ebic"
        self.degrees = [candidates.sum(axis=1) for candidates in indices]

    def next(self, k: int, columns: Ints) -> Array:
        """Return what each candidate of row k costs beside `columns`: "ebic" ln N + 2 ln((p_q - n_q) / (n_q + 1))."""
        degree = self.degrees[k]
        if not self.extended:
            return np.full(len(degree), self.each)
        offered = np.bincount(degree)
        taken = np.bincount(degree[columns], minlength=len(offered))
        ways = np.maximum(offered - taken, 1) / (taken + 1.0)
        if not taken[1:].any():
            ways[1:] *= len(offered)
        return np.asarray(self.each + 2.0 * np.log(ways[degree]))

    def last(self, k: int, columns: Ints) -> Array:
        """Return what each of the terms `columns` of row k costs beside the others."""
        return np.array([self.next(k, columns[columns != j])[j] for j in columns])

    def criterion(self, found: Found) -> float:
        """Return the criterion of an optimum."""
        price = sum(self.next(k, own[:i])[j] for k, own in enumerate(found.columns) for i, j in enumerate(own))
        return -2.0 * found.level + float(price)


def select(problem: Problem, indices: Sequence[Ints], criterion: str) -> Found | None:
    """Search the terms (rows of `indices`) of all four rows; None when not even the constant terms can be fitted."""
    cost = Price(criterion, len(problem.y), indices)
    best = _first(problem, indices, cost)
    if best is None:
        return None
    for _ in range(_STEPS):
        better = _backward(problem, best, cost) or _forward(problem, best, indices, cost)
        if better is None:
            return best
        best = better
    return best


def _first(problem: Problem, indices: Sequence[Ints], cost: Price) -> Found | None:
    """Start at least-angle fits of y and of -ln|residual|, and at constants; the better of the two."""
    y, none = problem.y, np.zeros(1, dtype=np.int64)
    one, first, second = np.ones(1), problem.matrices[0], problem.matrices[1]
    fit = lar(first, y)
    residual = y - first[:, fit.columns] @ fit.coefficients
    spread = float(np.std(residual))
    starts = [((fit.columns, none), (fit.coefficients, one * (UNIT_SPREAD - np.log(spread))))]
    floor = 1e-3 * spread
    narrow = -np.log(np.maximum(np.abs(residual), floor))
    alone = np.flatnonzero(_allowed(indices[1], none))
    scale = lar(second[:, alone], narrow)
    if scale.columns.size > 1:
        shifted = scale.coefficients.copy()
        shifted[0] += UNIT_SPREAD + LOG_SPREAD
        starts.append(((fit.columns, alone[scale.columns]), (fit.coefficients, shifted)))
    starts.append(((none, none), (one * y.mean(), one * (UNIT_SPREAD - np.log(y.std())))))
    found = []
    for columns, c in starts:
        whole = (*columns, none, none)
        start = problem.inside(whole, (*c, one * START, one * START))
        optimum = problem.maximise(whole, start)
        if optimum is not None:
            found.append(optimum)
        if len(found) == len(starts) - 1 or (found and len(starts) == 2):
            break
    return min(found, key=cost.criterion, default=None)


def _backward(problem: Problem, found: Found, cost: Price) -> Found | None:
    """Leave out the term whose Wald statistic lies farthest below its cost, if the criterion falls."""
    spread = np.diag(covariance(found))
    owner = np.repeat(np.arange(4), [len(k) for k in found.columns])
    column, c = np.concatenate(found.columns), np.concatenate(found.coefficients)
    price = np.concatenate([cost.last(k, own) for k, own in enumerate(found.columns)])
    surplus = np.where(column == 0, np.inf, c**2 / spread - price)
    worst = int(np.argmin(surplus))
    if not surplus[worst] < 0.5 * max(price[worst], cost.each):
        return None
    kept = np.arange(len(c)) != worst
    columns = tuple(column[kept & (owner == k)] for k in range(4))
    start = tuple(c[kept & (owner == k)] for k in range(4))
    return _if_better(problem, columns, start, found, cost)


def _forward(problem: Problem, found: Found, indices: Sequence[Ints], cost: Price) -> Found | None:
    """Take in the candidate whose score statistic lies farthest above its cost, if the criterion falls.

    Score s of a candidate against its variance given the terms inside: s^2 / (I_jj - I_ja I_aa^-1 I_aj), information
    by outer products.
    """
    inner = covariance(found)
    prices = [cost.next(k, own) for k, own in enumerate(found.columns)]
    tried: list[tuple[float, int, int]] = []
    for k, A in enumerate(problem.matrices):
        slopes = found.slopes[:, k]
        score = A.T @ slopes
        cross = (A * slopes[:, None]).T @ found.scores
        own = (A**2).T @ slopes**2
        left = own - np.einsum("ja,ab,jb->j", cross, inner, cross)
        usable = (left > 1e-6 * own) & (_allowed(indices[k], found.columns[k]) | (k == 0))
        usable[found.columns[k]] = False
        surplus = np.where(usable, score**2 / np.where(usable, left, 1.0) - prices[k], -np.inf)
        tried += [(float(surplus[j]), k, int(j)) for j in np.argsort(-surplus)[:_TRIED]]
    for surplus_j, k, j in sorted(tried, reverse=True)[:_TRIED]:
        if surplus_j < -0.5 * max(prices[k][j], cost.each):
            return None
        columns, start = list(found.columns), list(found.coefficients)
        columns[k], start[k] = np.append(columns[k], j), np.append(start[k], 0.0)
        better = _if_better(problem, tuple(columns), tuple(start), found, cost)
        if better is not None:
            return better
    return None


def _allowed(indices: Ints, columns: Ints) -> NDArray[np.bool_]:
    """Tell which terms have one input, or one that is among the inputs of the `columns` taken."""
    used = indices[columns].any(axis=0)
    return np.asarray((np.count_nonzero(indices, axis=1) <= 1) | (indices[:, used] > 0).any(axis=1))


def _if_better(
    problem: Problem, columns: Sequence[Ints], start: Sequence[Array], found: Found, cost: Price
) -> Found | None:
    inside = problem.inside(columns, start)
    new = problem.maximise(columns, inside, found.t)
    return new if new is not None and cost.criterion(new) < cost.criterion(found) - 1e-6 else None
