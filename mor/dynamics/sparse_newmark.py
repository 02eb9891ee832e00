"""Newmark's average acceleration on sparse matrices: the full-order reference of linear finite elements."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import splu

from mor.dynamics.projection import SparseStructure
from rt_runtime.checks import Array


class Newmark:
    """Average acceleration from rest: (4 M / dt^2 + 2 C / dt + K) x_{n+1} = known; the first call is at time zero.

    Inputs are linear between ticks. Where M is singular (lumped masses) the first acceleration is taken as zero.

    Parameters
    ----------
    structure
        Matrices, loads and output rows.
    dt
        Step in s.
    """

    def __init__(self, structure: SparseStructure, dt: float) -> None:
        self._s, self._dt = structure, dt
        self._factor = splu((4 / dt**2 * structure.M + 2 / dt * structure.C + structure.K).tocsc())
        try:
            self._mass = splu(structure.M.tocsc())
        except RuntimeError:  # singular
            self._mass = None
        self.reset()

    def reset(self) -> None:
        """Go back to rest at time zero."""
        self._x, self._v, self._a = (np.zeros(self._s.n) for _ in range(3))
        self._started = False

    def __call__(self, u: Array) -> Array:
        """Take one step with the inputs u at its end; return the outputs there."""
        s, dt, x, v, a = self._s, self._dt, self._x, self._v, self._a
        force = s.F @ u
        if not self._started:
            self._started = True
            self._a = np.zeros(s.n) if self._mass is None else self._mass.solve(force)
        else:
            inertia, friction = 4 / dt**2 * x + 4 / dt * v + a, 2 / dt * x + v
            self._x = self._factor.solve(force + s.M @ inertia + s.C @ friction)
            self._a = 4 / dt**2 * (self._x - x) - 4 / dt * v - a
            self._v = v + 0.5 * dt * (a + self._a)
        return np.asarray(s.X @ self._x + s.V @ self._v + s.A @ self._a)
