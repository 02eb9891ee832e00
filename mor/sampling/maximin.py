"""Spread the points of a Latin hypercube: swaps that enlarge the smallest distance.

Works on the whole-number ranks of the points (slice 0 .. n-1 on each axis), so that every distance is exact and the
same seed gives the same design on every machine.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

TRIES = 100
_FAR = np.iinfo(np.int64).max // 2


def spread_ranks(ranks: IntArray, rng: np.random.Generator, fixed: int = 0) -> IntArray:
    """Swap ranks of two points on one axis until no tried swap parts the closest pair.

    ranks: (n, d), each column without repetition among the points that may move; the first `fixed` points stay.
    A swap is taken when all distances from both swapped points then exceed the smallest distance: the smallest
    distance never falls, and the number of pairs that have it does.
    """
    ranks = ranks.astype(np.int64)
    n, d = ranks.shape
    if n - fixed < 2 or d < 2 or n < 3:
        return ranks
    squared = np.stack([((row - ranks) ** 2).sum(axis=1) for row in ranks])
    np.fill_diagonal(squared, _FAR)
    squared[:fixed, :fixed] = _FAR  # nothing can be done about these pairs
    nearest = squared.min(axis=1)
    for _ in range(20 * n * d):
        i = int(np.argmin(nearest))
        k = int(np.argmin(squared[i]))
        smallest = squared[i, k]
        movers = [p for p in (i, k) if p >= fixed]
        for _ in range(TRIES):
            p = movers[int(rng.integers(len(movers)))]
            j = fixed + int(rng.integers(n - fixed))
            axis = int(rng.integers(d))
            if j == p or _closest_after(ranks, squared, p, j, axis) <= smallest:
                continue
            ranks[[p, j], axis] = ranks[[j, p], axis]
            for q in (p, j):
                _renew(ranks, squared, q)
            nearest = squared.min(axis=1)
            break
        else:
            break
    return ranks


def _closest_after(ranks: IntArray, squared: IntArray, p: int, j: int, axis: int) -> int:
    """Smallest squared distance from p or j to the others after swapping their ranks on one axis."""
    column = ranks[:, axis]
    to_p, to_j = (column - column[p]) ** 2, (column - column[j]) ** 2
    change = to_j - to_p
    others = np.ones(len(ranks), dtype=bool)
    others[[p, j]] = False
    near_p = (squared[p] + change)[others].min()
    near_j = (squared[j] - change)[others].min()
    return int(min(near_p, near_j))


def _renew(ranks: IntArray, squared: IntArray, q: int) -> None:
    row = ((ranks[q] - ranks) ** 2).sum(axis=1)
    row[q] = _FAR
    squared[q], squared[:, q] = row, row


def extend_ranks(old: IntArray, n: int, rng: np.random.Generator) -> IntArray:
    """Choose ranks of n new points in slices of each axis that no old point is in, spread against all.

    old: (m, d) ranks of the old points among m + n slices. Returns (n, d).
    """
    total = len(old) + n
    columns = []
    for axis in range(old.shape[1]):
        empty = np.setdiff1d(np.arange(total), old[:, axis])
        chosen = np.sort(rng.permutation(empty)[:n]) if len(empty) > n else empty
        columns.append(rng.permutation(chosen))
    ranks = np.vstack([old, np.column_stack(columns)])
    return spread_ranks(ranks, rng, fixed=len(old))[len(old) :]
