"""Exact motion of a linear structure under a harmonic load, by the matrix exponential of structure and load together."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from mor.dynamics.structure import LinearStructure


def harmonic_motion(
    structure: LinearStructure, amplitude: np.ndarray, w: float, time: np.ndarray, x0: np.ndarray, v0: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return x, v (len(time), n) for f(t) = amplitude sin(w t); the load is the state (sin, cos) of an oscillator."""
    n = structure.n
    A = np.zeros((2 * n + 2, 2 * n + 2))
    A[: 2 * n, : 2 * n] = structure.state_matrix()
    A[n : 2 * n, 2 * n] = np.linalg.solve(structure.M, amplitude)
    A[2 * n, 2 * n + 1], A[2 * n + 1, 2 * n] = w, -w
    z0 = np.concatenate([x0, v0, [0.0, 1.0]])
    z = np.array([linalg.expm(A * t) @ z0 for t in time])
    return z[:, :n], z[:, n : 2 * n]
