"""Leave out terms of a PCE with memory that its free runs do not miss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mor.data.dataset import Dataset
from mor.reduced.pce.basis import Ints, matrix, standardise, values
from mor.reduced.pce.model import Pce
from rt_runtime.checks import Array

Error = Callable[[Pce, float], float]


def pruned(step: Pce, tables: list[Dataset], error: Error, share: float) -> Pce:
    """Return the expansion with as few terms as its error allows: it grows by at most `share` of itself.

    The terms of each output are put in the order of backward elimination: the one goes next whose loss costs the
    least squares of the rows least, and the others are fitted again. How many may go is found by halving, output by
    output, on the error alone; the outputs share the allowance alike.

    Parameters
    ----------
    step
        The one-step map as fitted.
    tables
        For each output the rows it was fitted to.
    error
        error(candidate, most): its error in free run; anything larger once that is more than `most`.
    share
        How much the error may grow, relative to that of `step`.
    """
    best, allowed = step, error(step, np.inf)
    each = share / len(step.outputs) * allowed
    for o, table in enumerate(tables):
        allowed += each
        path = elimination(best, o, table)
        kept, cut = 0, len(path)  # path[0] is the output as it is
        while cut - kept > 1:
            middle = (kept + cut) // 2
            candidate = _with(best, o, *path[middle])
            if error(candidate, allowed) <= allowed:
                kept = middle
            else:
                cut = middle
        if kept > 0:
            best = _with(best, o, *path[kept])
    used = np.any(best.coefficients != 0.0, axis=1) | ~best.indices.any(axis=1)
    return replace(best, indices=best.indices[used], coefficients=best.coefficients[used])


def elimination(step: Pce, output: int, table: Dataset) -> list[tuple[Ints, Array]]:
    """Return the terms of an output and their coefficients after 0, 1, 2, ... of them are gone; the constant stays.

    Without term j the sum of squares grows by c_j^2 / B_jj, B the inverse of the Gram matrix of the terms that are
    left; c - (c_j / B_jj) B_j fits the others again, and B - B_j B_j' / B_jj is their inverse.
    """
    column = step.coefficients[:, output]
    at = np.flatnonzero((column != 0.0) | ~step.indices.any(axis=1))
    Z = standardise(table.X, step.location, step.scale, step.logarithm)
    A = matrix(values(Z, step.recurrence), step.indices[at])
    c, B = column[at].copy(), np.linalg.pinv(A.T @ A, rcond=1e-14, hermitian=True)
    movable = np.asarray(step.indices[at].any(axis=1))
    path = [(at, c)]
    while movable.any():
        size = np.where(np.diag(B) > 0.0, np.diag(B), np.inf)
        j = int(np.argmin(np.where(movable, c**2 / size, np.inf)))
        c = c - c[j] / B[j, j] * B[:, j]
        B = B - np.outer(B[:, j], B[:, j]) / B[j, j]
        left = np.delete(np.arange(len(at)), j)
        at, c, B, movable = at[left], c[left], B[np.ix_(left, left)], movable[left]
        path.append((at, c))
    return path


def _with(step: Pce, output: int, at: Ints, c: Array) -> Pce:
    coefficients = step.coefficients.copy()
    coefficients[:, output] = 0.0
    coefficients[at, output] = c
    return replace(step, coefficients=coefficients)
