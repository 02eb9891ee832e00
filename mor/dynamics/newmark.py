"""Newmark's average acceleration rule as a discrete state space; degrees of freedom may have no mass."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mor.dynamics.transfer import StateSpaceMatrices
from rt_runtime.checks import finite_array, positive
from rt_runtime.errors import ConfigError


def newmark_matrices(M: ArrayLike, C: ArrayLike, K: ArrayLike, loads: ArrayLike, dt: float) -> StateSpaceMatrices:
    """Return the average acceleration rule (gamma 1/2, beta 1/4) for M a + C v + K x = loads u.

    With s = [x; v; a] of the last step and h = `dt`, at the present one:

        (M + h/2 C + h^2/4 K) a+ = loads u - C (v + h/2 a) - K (x + h v + h^2/4 a)
        v+ = v + h/2 (a + a+),   x+ = x + h v + h^2/4 (a + a+)

    Outputs are [x; v; a] of the present step, so u acts on them directly: the force of a tick is read before the step.

    Parameters
    ----------
    M, C, K
        Mass, damping and stiffness (n, n); M may be singular where C or K hold the motion.
    loads
        (n, m), where each input acts; -M iota for a ground acceleration.
    dt
        Step in s.
    """
    of = "newmark_matrices"
    m = finite_array(M, "M", of, (None, None))
    n = len(m)
    m, c, k = (finite_array(value, name, of, (n, n)) for value, name in ((m, "M"), (C, "C"), (K, "K")))
    force = finite_array(loads, "loads", of, (n, None))
    h = positive(dt, "dt", of)
    effective = m + h / 2 * c + h**2 / 4 * k
    scale = np.sqrt(np.abs(np.diag(effective)))
    if (scale == 0).any() or np.linalg.cond(effective / np.outer(scale, scale)) > 1e14:
        free = int(np.argmin(np.abs(np.diag(effective))))
        raise ConfigError(
            f"M, C and K of {of} must hold every degree of freedom: none may move without mass, damping and stiffness; "
            f"the weakest is number {free}."
        )
    acceleration = np.linalg.solve(effective, np.hstack([-k, -(c + h * k), -(h / 2 * c + h**2 / 4 * k), force]))
    one, zero = np.eye(n), np.zeros((n, n))
    old = np.block([[one, h * one, h**2 / 4 * one], [zero, one, h / 2 * one], [zero, zero, zero]])
    new = np.vstack([h**2 / 4 * one, h / 2 * one, one])
    A = old + new @ acceleration[:, : 3 * n]
    B = new @ acceleration[:, 3 * n :]
    return StateSpaceMatrices(A, B, A, B, h)
