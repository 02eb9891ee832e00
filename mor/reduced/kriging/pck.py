"""PC-Kriging: universal Kriging whose trend is a sparse polynomial chaos expansion (Schoebi, Sudret, Wiart 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from mor.data.dataset import Dataset
from mor.reduced.fit_data import space_of
from mor.reduced.kriging.fit import Fitted, Rows, kernel_pairs
from mor.reduced.kriging.kernels import FACTOR, Pairs, product
from mor.reduced.kriging.likelihood import solve_above
from mor.reduced.kriging.model import Kriging
from mor.reduced.kriging.search import Candidate, best_of, calmed, carried, refine, starts
from mor.reduced.pce.basis import Ints
from mor.reduced.pce.fit import term_order
from mor.reduced.pce.sparse import lar_order
from mor.sampling.space import ParameterSpace
from rt_runtime.checks import Array, one_of
from rt_runtime.errors import ConfigError

_AUTO = (("gaussian", False), ("matern52", False))
_FULLEST = 0.75  # share of the rows that the trend may use up
_SIZES = (1, 2, 3, 4, 5, 6, 8, 10)
_MORE = 20
_FOLDS = 5
_FEW = 60  # rows up to which two kernels and several orders of terms are followed through all sizes
_ORDERS = 3


def fit_pck(
    data: Dataset,
    space: ParameterSpace | None = None,
    *,
    method: str = "optimal",
    kernel: str | Sequence[str] = "auto",
    interactions: bool | str = False,
    noise: str = "auto",
    weights: ArrayLike | None = None,
    estimator: str = "likelihood",
    rounding: float | None = None,
    seed: int = 0,
) -> Kriging:
    """Fit a PC-Kriging model to all outputs of `data`.

    Parameters
    ----------
    data, space, noise, weights, estimator, rounding, seed
        As in `fit_kriging`; here "auto" is the likelihood, since sizes are compared by the leave-one-out error anyway.
    method : str
        "sequential": all terms of a sparse expansion (least-angle regression) are the trend. "optimal": terms enter in
        the order of least-angle regression (up to 60 rows in three orders, from the three best truncations), a Kriging
        model is fitted for each size, and the one with the smallest leave-one-out error is taken; for noisy rows the
        smallest error of rows left out by folds.
    kernel, interactions
        As in `fit_kriging`; "auto" compares the Gaussian and the Matern 5/2 kernel.

    Returns
    -------
    Kriging
        With the polynomials as its trend.
    """
    space = space_of(data, space, "fit_pck")
    one_of(method, "method", "fit_pck", ("optimal", "sequential"))
    pairs = list(_AUTO) if kernel == "auto" and interactions is False else kernel_pairs(kernel, interactions, "fit_pck")
    rows = Rows.of(data, space, noise, weights, "fit_pck", estimator, seed, rounding)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        best = method == "optimal"
        count = _ORDERS if best and len(data) <= _FEW else 1
        orders = term_order(data, space, room=int(_FULLEST * len(data)), whole=best, count=count)
        found = [_fit(rows, o, several, pairs, method) for o, several in enumerate(orders)]
    return rows.model(found, {"method": "pck", "trend": method})


def _fit(
    rows: Rows, o: int, orders: Sequence[tuple[Ints, Ints]], pairs: Sequence[tuple[str, bool]], method: str
) -> Fitted:
    order, terms = orders[0]
    if method == "sequential" or np.ptp(rows.data.Y[:, o]) == 0.0:
        return rows.fit(o, order[: len(rows.data) - 2], pairs)
    problem, location, scale = rows.problem(o, rows.trend(order[:1]))
    first = rows.search(problem, pairs)
    if not first:
        raise ConfigError(f"Rows of output '{rows.data.outputs[o].name}' of fit_pck give no positive definite matrix.")
    noisy, few = first[0].objective.learned, len(rows.data) <= _FEW
    tried: list[tuple[Ints, Candidate]] = [(order[:1], first[0])]
    for one, _ in orders[:1] if noisy else orders:
        for start in first[: 2 if few and not noisy else 1]:
            tried += _grown(rows.trend(one), one, start, Pairs.of(problem.Z), 15 if few else 6)
    if noisy:
        errors = _left_out([(len(trend), candidate) for trend, candidate in tried], rows.trend(terms))
    else:
        errors = [candidate.loo for _, candidate in tried]
    trend, candidate = tried[int(np.argmin(errors))]
    if noisy:
        return Fitted(trend, candidate, location, scale)
    again = best_of(candidate.objective, [candidate.p, *starts(candidate.objective, 16, rows.seed)], 1, 40)
    final = calmed(min((candidate, again), key=lambda c: c.loo), rows.rounding)
    return Fitted(trend, final, location, scale)


def _grown(F: Array, order: Ints, start: Candidate, pairs: Pairs, iterations: int) -> list[tuple[Ints, Candidate]]:
    """Follow one kernel through growing trends, each search begun where the one before ended."""
    found: list[tuple[Ints, Candidate]] = []
    candidate = start
    for size in _sizes(min(len(order), len(F) // 4) if start.objective.learned else len(order)):
        objective = replace(start.objective, F=np.ascontiguousarray(F[:, :size]), pairs=pairs)
        candidate = refine(objective, carried(candidate.p, candidate.objective, objective), iterations)
        found.append((order[:size], candidate))
    return found


def _left_out(tried: Sequence[tuple[int, Candidate]], A: Array) -> list[float]:
    """Return the mean squared error of rows left out by folds, with the order of the terms found anew without them.

    The leave-one-out error of noisy rows is blind to that: terms that were picked because they follow the noise make
    it small. A: all terms (N, terms) that the trends were picked from.
    """
    fold = np.random.default_rng(0).permutation(len(A)) % _FOLDS
    y = tried[0][1].objective.y
    squares = np.zeros(len(tried))
    for f in range(_FOLDS):
        out, rest = fold == f, fold != f
        order = lar_order(A[rest], y[rest], max(size for size, _ in tried))
        for k, (size, candidate) in enumerate(tried):
            objective = candidate.objective
            length, weight, nugget = objective.split(candidate.p)
            a = objective.pairs.h * (FACTOR[objective.kernel] / length)[:, None]
            R = objective.pairs.matrix(product(objective.kernel, a, weight))
            R += np.tril(R, -1).T
            F = A[:, order[:size]]
            solved = solve_above(R[np.ix_(rest, rest)], nugget * objective.spread[rest], F[rest], y[rest])
            guess = F[out] @ solved.coefficients() + R[np.ix_(out, rest)] @ solved.dual()
            squares[k] += float(np.sum((guess - y[out]) ** 2))
    return [float(total) / len(A) for total in squares]


def _sizes(terms: int) -> list[int]:
    more = np.linspace(_SIZES[-1], terms, _MORE + 1)[1:].round().astype(int).tolist() if terms > _SIZES[-1] else []
    return [k for k in dict.fromkeys([*_SIZES, *more]) if k <= terms]
