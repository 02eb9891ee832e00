"""Two structures that share an interface, each with its own step: the physical side takes m sub-steps a coarse step.

Both are written as first-order systems with the generalised trapezoidal rule (gamma = 1/2) and tied by Lagrange
multipliers L, so that interface velocities agree at coarse steps (after Prakash and Hjelmstad, and Brun et al.):

    numerical, step dt       M_N a + C_N v + K_N u = f + l' L_{k+1}
    physical, sub-step j     M_P a + C_P v + K_P u = f - l' [(m - j)/m L_k + j/m L_{k+1}],   j = 1..m
    coupling                 l v_N = l v_P at the end of each coarse step

Linear sides first move freely, then the multipliers that close the gap are solved from H L_{k+1} = gap (H is constant),
then both sides are corrected by their stored answers to a unit multiplier. With a nonlinear side the whole coarse step
is repeated with corrected multipliers until the gap is closed; H then starts from the stiffness at rest and learns from
each gap (Broyden's rule).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mor.dynamics.integrators.motion import Motion, Restoring
from mor.dynamics.structure import LinearStructure
from rt_runtime.checks import Array, finite_array, positive, whole
from rt_runtime.errors import ConfigError

ITERATIONS = 50
CLOSED = 1e-11
"""A gap counts as closed below this part of the largest interface velocity so far."""


@dataclass(frozen=True, eq=False)
class PartitionedMotion:
    """Motion of the numerical side at coarse steps, of the physical side at sub-steps; multipliers (steps + 1, p)."""

    numerical: Motion
    physical: Motion
    multipliers: Array


class _Side:
    """One structure stepped by the trapezoidal rule: rows of state u, v and a."""

    def __init__(self, structure: LinearStructure, h: float, restoring: Restoring | None) -> None:
        self.structure, self.g, self.restoring = structure, 0.5 * h, restoring
        effective = structure.M + self.g * structure.C + self.g**2 * structure.K
        self.inverse = np.linalg.inv(effective)

    def step(self, state: Array, force: Array) -> Array:
        """Advance (3, n, ...) = u, v, a by one step under `force` at its end."""
        u, v, a = state
        u_free, v_free = u + self.g * v, v + self.g * a
        s = self.structure
        a_new = self.inverse @ (force - s.K @ (u_free + self.g * v_free) - s.C @ v_free)
        v_new = v_free + self.g * a_new
        if self.restoring is not None:
            return self._iterated(u_free, v_free, a_new, force)
        return np.stack([u_free + self.g * v_new, v_new, a_new])

    def _iterated(self, u_free: Array, v_free: Array, a: Array, force: Array) -> Array:
        """Solve M a + C v + r(u, v) = force by Newton's method from a first guess of a."""
        s = self.structure
        for _ in range(ITERATIONS):
            v = v_free + self.g * a
            u = u_free + self.g * v
            inner = s.C @ v + self._force(u, v)
            residual = force - s.M @ a - inner
            if np.abs(residual).max() <= 1e-12 * max(float(np.abs(force).max()), float(np.abs(inner).max()), 1e-12):
                break
            slope = s.M + self.g * s.C + self.g**2 * self._tangent(u, v)
            a = a + np.linalg.solve(slope, residual)
        else:
            raise ConfigError(
                f"A nonlinear side of partitioned must converge in {ITERATIONS} iterations, but did not; take a "
                "smaller dt or more substeps."
            )
        return np.stack([u, v, a])

    def _force(self, u: Array, v: Array) -> Array:
        assert self.restoring is not None
        return np.asarray(self.restoring(u, v), float)

    def _tangent(self, u: Array, v: Array) -> Array:
        """Derivative of the restoring force by the displacement, by differences."""
        step = 1e-7 * max(float(np.abs(u).max()), 1e-6)
        at = self._force(u, v)
        return np.column_stack([(self._force(u + step * e, v) - at) / step for e in np.eye(u.size)])


def partitioned(
    numerical: LinearStructure,
    physical: LinearStructure,
    *,
    interface: Sequence[tuple[int, int]],
    dt: float,
    substeps: int = 1,
    load_numerical: ArrayLike,
    load_physical: ArrayLike,
    restoring_numerical: Restoring | None = None,
    restoring_physical: Restoring | None = None,
) -> PartitionedMotion:
    """Integrate both sides from rest.

    interface: pairs (degree of freedom of the numerical, of the physical side) that move together; dt: coarse step
    in s; substeps: m; load_numerical (steps + 1, n_N) in N at coarse steps, load_physical (m steps + 1, n_P) at all
    sub-steps; restoring_...: r(x, v) in N in place of K x of that side, zero at
    rest.
    """
    of = "partitioned"
    dt, m = positive(dt, "dt", of), whole(substeps, "substeps", of, 1)
    pairs = np.asarray(interface, int).reshape(-1, 2)
    valid = (pairs >= 0).all() and (pairs < [numerical.n, physical.n]).all()
    if not len(pairs) or not valid or any(len(set(column)) < len(pairs) for column in pairs.T.tolist()):
        raise ConfigError(
            f"interface of {of} must pair different degrees of freedom 0 to {numerical.n - 1} with 0 to "
            f"{physical.n - 1}, got {pairs.tolist()}."
        )
    outer = finite_array(load_numerical, "load_numerical", of, (None, numerical.n))
    steps = len(outer) - 1
    if steps < 1:
        raise ConfigError(f"load_numerical of {of} must have at least 2 rows, got {len(outer)}.")
    inner = finite_array(load_physical, "load_physical", of, (m * steps + 1, physical.n))

    to_n, to_p = np.eye(numerical.n)[:, pairs[:, 0]], -np.eye(physical.n)[:, pairs[:, 1]]
    side_n, side_p = _Side(numerical, dt, restoring_numerical), _Side(physical, dt / m, restoring_physical)
    at_rest = _Side(physical, dt / m, None)
    unit_n = _Side(numerical, dt, None).step(np.zeros((3, *to_n.shape)), to_n)
    unit_p = np.empty((m, 3, *to_p.shape))
    answer = np.zeros((3, *to_p.shape))
    for j in range(m):
        answer = unit_p[j] = at_rest.step(answer, to_p * (j + 1) / m)
    close = np.linalg.inv(to_n.T @ unit_n[1] + to_p.T @ unit_p[-1, 1])

    moves_n = np.zeros((steps + 1, 3, numerical.n))
    moves_p = np.zeros((m * steps + 1, 3, physical.n))
    multipliers = np.zeros((steps + 1, len(pairs)))
    free_n, free_p = np.linalg.solve(numerical.M, outer[0]), np.linalg.solve(physical.M, inner[0])
    flexible_n, flexible_p = np.linalg.solve(numerical.M, to_n), np.linalg.solve(physical.M, to_p)
    start = np.linalg.solve(to_n.T @ flexible_n + to_p.T @ flexible_p, -(to_n.T @ free_n + to_p.T @ free_p))
    multipliers[0] = start
    moves_n[0, 2], moves_p[0, 2] = free_n + flexible_n @ start, free_p + flexible_p @ start

    def coarse_step(k: int, trial: Array) -> Array:
        """Move both sides to step k + 1 under trial multipliers; return the gap of interface velocities."""
        moves_n[k + 1] = side_n.step(moves_n[k], outer[k + 1] + to_n @ trial)
        for j in range(1, m + 1):
            pull = to_p @ ((m - j) / m * multipliers[k] + j / m * trial)
            moves_p[m * k + j] = side_p.step(moves_p[m * k + j - 1], inner[m * k + j] + pull)
        return np.asarray(to_n.T @ moves_n[k + 1, 1] + to_p.T @ moves_p[m * k + m, 1])

    linear = restoring_numerical is None and restoring_physical is None
    fastest = 1e-300
    for k in range(steps):
        trial = np.zeros(len(pairs)) if linear else multipliers[k]
        gap = coarse_step(k, trial)
        if linear:
            trial = -close @ gap
            moves_n[k + 1] += unit_n @ trial
            moves_p[m * k + 1 : m * (k + 1) + 1] += unit_p @ trial
        else:
            for _ in range(ITERATIONS):
                fastest = max(fastest, float(np.abs(to_n.T @ moves_n[k + 1, 1]).max()))
                if np.abs(gap).max() <= CLOSED * fastest:
                    break
                change = -close @ gap
                before, trial = gap, trial + change
                gap = coarse_step(k, trial)
                answer = close @ (gap - before)
                close = close + np.outer(change - answer, change @ close) / (change @ answer)
            else:
                raise ConfigError(
                    f"Interface of partitioned must close in {ITERATIONS} iterations, but did not at t = "
                    f"{(k + 1) * dt:g} s; take a smaller dt."
                )
        multipliers[k + 1] = trial

    def motion(moves: Array, h: float) -> Motion:
        return Motion(np.asarray(np.arange(len(moves)) * h), moves[:, 0], moves[:, 1], moves[:, 2])

    return PartitionedMotion(motion(moves_n, dt), motion(moves_p, dt / m), multipliers)
