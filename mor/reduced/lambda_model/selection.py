"""Which terms a lambda model has: forward steps by score tests, backward steps by Wald tests, judged by a criterion.

    criterion = -2 ln L + sum of the costs of the terms,    cost = ln N             "bic"
                                                                   ln N + 2 ln p    "ebic"
                                                                   2                "aic"

With tens of candidates plain BIC admits a false term in most fits; the extended one (Chen and Chen 2008) does not. Its
p is the number of candidates of the degree of the term or lower, so that a linear effect need not pay for the many
terms of high degree. Products of several inputs have few rows with large values, and in the scale one such row can
look like an effect: an interaction enters scale and shapes only when one of its inputs is there already.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mor.reduced.base import Array
from mor.reduced.lambda_model.likelihood import Found, Problem, covariance
from mor.reduced.pce.basis import Ints
from mor.reduced.pce.sparse import lar

Costs = tuple[Array, ...]

CRITERIA = ("ebic", "bic", "aic")
START = 0.13  # shapes of a start
LOG_SPREAD = -0.635  # E ln|residual| of a normal variable of unit spread
UNIT_SPREAD = 0.375  # ln of the standard deviation of a lambda variable of l2 = 1 and both shapes 0.13
_STEPS = 60
_TRIED = 3  # candidates of the best score statistics that are refitted before a forward search ends


def costs(criterion: str, rows: int, indices: Sequence[Ints]) -> Costs:
    """Return the cost of each candidate term of each of the four rows, given their multi-indices."""
    if criterion == "aic":
        return tuple(np.full(len(i), 2.0) for i in indices)
    found = []
    for candidates in indices:
        degree = candidates.sum(axis=1)
        picked_from = np.searchsorted(np.sort(degree), degree, side="right")
        found.append(np.log(rows) + (2.0 * np.log(picked_from) if criterion == "ebic" else 0.0 * degree))
    return tuple(found)


def criterion_of(found: Found, cost: Costs) -> float:
    """Return the criterion of an optimum."""
    return -2.0 * found.level + float(sum(c[k].sum() for k, c in zip(found.columns, cost, strict=True)))


def select(problem: Problem, indices: Sequence[Ints], criterion: str) -> Found | None:
    """Search the terms (rows of `indices`) of all four rows; None when not even the constant terms can be fitted."""
    cost = costs(criterion, len(problem.y), indices)
    best = _first(problem, indices, cost)
    if best is None:
        return None
    for _ in range(_STEPS):
        better = _backward(problem, best, cost) or _forward(problem, best, indices, cost)
        if better is None:
            return best
        best = better
    return best


def _first(problem: Problem, indices: Sequence[Ints], cost: Costs) -> Found | None:
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
    return min(found, key=lambda f: criterion_of(f, cost), default=None)


def _backward(problem: Problem, found: Found, cost: Costs) -> Found | None:
    """Leave out the term whose Wald statistic lies farthest below its cost, if the criterion falls."""
    spread = np.diag(covariance(found))
    owner = np.repeat(np.arange(4), [len(k) for k in found.columns])
    column, c = np.concatenate(found.columns), np.concatenate(found.coefficients)
    price = np.concatenate([own[k] for own, k in zip(cost, found.columns, strict=True)])
    surplus = np.where(column == 0, np.inf, c**2 / spread - price)
    worst = int(np.argmin(surplus))
    if not surplus[worst] < 0.5 * price[worst]:
        return None
    kept = np.arange(len(c)) != worst
    columns = tuple(column[kept & (owner == k)] for k in range(4))
    start = tuple(c[kept & (owner == k)] for k in range(4))
    return _if_better(problem, columns, start, found, cost)


def _forward(problem: Problem, found: Found, indices: Sequence[Ints], cost: Costs) -> Found | None:
    """Take in the candidate whose score statistic lies farthest above its cost, if the criterion falls.

    Score s of a candidate against its variance given the terms inside: s^2 / (I_jj - I_ja I_aa^-1 I_aj), information
    by outer products.
    """
    inner = covariance(found)
    tried: list[tuple[float, int, int]] = []
    for k, A in enumerate(problem.matrices):
        slopes = found.slopes[:, k]
        score = A.T @ slopes
        cross = (A * slopes[:, None]).T @ found.scores
        own = (A**2).T @ slopes**2
        left = own - np.einsum("ja,ab,jb->j", cross, inner, cross)
        usable = (left > 1e-6 * own) & (_allowed(indices[k], found.columns[k]) | (k == 0))
        usable[found.columns[k]] = False
        surplus = np.where(usable, score**2 / np.where(usable, left, 1.0) - cost[k], -np.inf)
        tried += [(float(surplus[j]), k, int(j)) for j in np.argsort(-surplus)[:_TRIED]]
    for surplus_j, k, j in sorted(tried, reverse=True)[:_TRIED]:
        if surplus_j < -0.5 * cost[k][j]:
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
    problem: Problem, columns: Sequence[Ints], start: Sequence[Array], found: Found, cost: Costs
) -> Found | None:
    inside = problem.inside(columns, start)
    new = problem.maximise(columns, inside, found.t)
    return new if new is not None and criterion_of(new, cost) < criterion_of(found, cost) - 1e-6 else None
