"""Maximum conditional likelihood of the coefficients of a lambda model, for given terms.

The four rows l = (l1, ln l2, l3, l4) are l_k = A_k c_k at each point. With the slopes g (n, 4) of ln f, the score of
c_k is A_k' g_k, and the outer products J'J of the scores of single rows (J_k = A_k g_k row by row) are the
information. What is maximised is

    ln L - prior,   prior = sum over shapes ((c_0 - 0.10) / 0.15)^2 / 2 + sum over their slopes (c / 0.10)^2 / 2

The weak prior keeps shapes finite where few rows say anything about the tails. BFGS with backtracking starts from
the information; a step that leaves a row outside the support has likelihood 0 and is cut back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mor.reduced.lambda_model.distribution import log_likelihood
from mor.reduced.pce.basis import Ints
from rt_runtime.checks import Array

CENTRE, SPREAD, SLOPE = 0.10, 0.15, 0.10
SHAPES = (2, 3)
LOWEST, HIGHEST = -0.45, 2.0  # shapes a fit may reach at its rows
_ITERATIONS = 60
_PRECISION = 1e-6  # of ln L, where the optimiser stops


@dataclass(frozen=True)
class Found:
    """An optimum: columns taken of each matrix, their coefficients, ln L without prior, and scores of the rows."""

    columns: tuple[Ints, ...]
    coefficients: tuple[Array, ...]
    level: float
    slopes: Array
    scores: Array
    t: Array

    @property
    def terms(self) -> int:
        """Number of coefficients."""
        return sum(map(len, self.columns))


def prior_precision(columns: Sequence[Ints]) -> tuple[Array, Array]:
    """Return precision and centre of the prior of all coefficients, one after the other."""
    precision = [np.where(c == 0, SPREAD**-2, SLOPE**-2) if k in SHAPES else 0.0 * c for k, c in enumerate(columns)]
    centre = [np.where(c == 0, CENTRE, 0.0) if k in SHAPES else 0.0 * c for k, c in enumerate(columns)]
    return np.concatenate(precision), np.concatenate(centre)


class Problem:
    """ln L over coefficients for rows y and four matrices of candidate terms, the constant first in each."""

    def __init__(self, matrices: Sequence[Array], y: Array) -> None:
        self.matrices, self.y = tuple(matrices), y

    def _lambdas(self, A: Sequence[Array], c: Sequence[Array]) -> Array:
        return np.column_stack([a @ b for a, b in zip(A, c, strict=True)])

    def inside(self, columns: Sequence[Ints], start: Sequence[Array]) -> list[Array]:
        """Return the start with the scale l2 lowered until all rows lie inside the support."""
        A = [m[:, k] for m, k in zip(self.matrices, columns, strict=True)]
        c = [np.array(v, dtype=np.float64) for v in start]
        L = self._lambdas(A, c)
        distance = (self.y - L[:, 0]) * np.exp(L[:, 1])
        used = np.max(np.where(distance > 0.0, distance * L[:, 3], -distance * L[:, 2]), initial=0.0)
        if used > 0.95:
            c[1][0] -= np.log(used / 0.95)
        return c

    def maximise(self, columns: Sequence[Ints], start: Sequence[Array], t: Array | None = None) -> Found | None:
        """Maximise from `start`; None when no point inside the support was found."""
        A = [m[:, k] for m, k in zip(self.matrices, columns, strict=True)]
        cuts = np.cumsum([len(k) for k in columns])[:-1]
        precision, centre = prior_precision(columns)
        t = np.zeros(len(self.y)) if t is None else t.copy()

        def value(c: Array) -> tuple[float, float, Array, Array]:
            L = self._lambdas(A, np.split(c, cuts))
            shapes = L[:, 2:]
            if shapes.min() < LOWEST or shapes.max() > HIGHEST or np.abs(L[:, 1]).max() > 50.0:
                return -np.inf, -np.inf, t, t
            rows, slopes = log_likelihood(L, self.y, t)
            level = float(rows.sum())
            return level - 0.5 * float(precision @ (c - centre) ** 2), level, slopes, rows

        def gradient(c: Array, slopes: Array) -> Array:
            score = np.concatenate([a.T @ slopes[:, k] for k, a in enumerate(A)])
            return np.asarray(score - precision * (c - centre))

        def scores_of(slopes: Array) -> Array:
            return np.concatenate([a * slopes[:, k : k + 1] for k, a in enumerate(A)], axis=1)

        c = np.concatenate(list(start))
        here, level, slopes, _ = value(c)
        if not np.isfinite(here):
            return None
        g = gradient(c, slopes)
        H = _inverse(scores_of(slopes), precision)
        for _ in range(_ITERATIONS):
            step = H @ g
            gain = float(step @ g)
            if gain < 2.0 * _PRECISION:
                break
            size = 1.0
            while size > 1e-8:
                there, level_there, slopes_there, _ = value(c + size * step)
                if there >= here + 1e-4 * size * gain:
                    break
                size *= 0.5 if np.isfinite(there) else 0.25
            else:
                break
            g_there = gradient(c + size * step, slopes_there)
            H = _updated(H, size * step, g - g_there)
            c, here, level, slopes, g = c + size * step, there, level_there, slopes_there, g_there
        return Found(tuple(columns), tuple(np.split(c, cuts)), level, slopes, scores_of(slopes), t)


def _inverse(scores: Array, precision: Array) -> Array:
    """Return the inverse of information and prior, with a little added where the scores do not determine it."""
    information = scores.T @ scores + np.diag(precision)
    scale = np.sqrt(np.maximum(np.diag(information), 1e-12))
    inner = information / np.outer(scale, scale) + 1e-8 * np.eye(len(scale))
    return np.asarray(np.linalg.inv(inner) / np.outer(scale, scale))


def _updated(H: Array, step: Array, change: Array) -> Array:
    """Return the BFGS update of the inverse Hessian; `change` is the gradient before less that behind the step."""
    curvature = float(step @ change)
    if curvature <= 1e-12 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return H
    Hy = H @ change
    return np.asarray(
        H + np.outer(step, step) * (1.0 + float(change @ Hy) / curvature) / curvature
        - (np.outer(Hy, step) + np.outer(step, Hy)) / curvature
    )  # fmt: skip


def covariance(found: Found) -> Array:
    """Return the covariance of the coefficients, by outer products and prior."""
    return _inverse(found.scores, prior_precision(found.columns)[0])
