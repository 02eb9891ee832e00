"""Two structures that share an interface, each with its own step: the physical side takes m sub-steps a coarse step.

Both are written as first-order systems with the generalised trapezoidal rule (gamma = 1/2) and tied by Lagrange
multipliers L, so that interface velocities agree at coarse steps (after Prakash and Hjelmstad, and Brun et al.):

    numerical, step dt       M_N a + C_N v + K_N u = f + l' L_{k+1}
    physical, sub-step j     M_P a + C_P v + K_P u = f - l' [(m - j)/m L_k + j/m L_{k+1}],   j = 1..m
    coupling                 l v_N = l v_P at the end of each coarse step

Each side first moves freely, then the multipliers that close the gap are solved from H L_{k+1} = gap (H is constant),
then both sides are corrected by their stored answers to a unit multiplier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mor.integrators.motion import Motion
from mor.structure import Structure
from rt_runtime.checks import Floats, finite_array, positive, whole
from rt_runtime.errors import ConfigError


@dataclass(frozen=True, eq=False)
class PartitionedMotion:
    """Motion of the numerical side at coarse steps, of the physical side at sub-steps; multipliers (steps + 1, p)."""

    numerical: Motion
    physical: Motion
    multipliers: Floats


class _Side:
    """One structure stepped by the trapezoidal rule: rows of state u, v and of their rates v, a."""

    def __init__(self, structure: Structure, h: float) -> None:
        self.structure, self.g = structure, 0.5 * h
        effective = structure.M + self.g * structure.C + self.g**2 * structure.K
        self.inverse = np.linalg.inv(effective)

    def step(self, state: Floats, force: Floats) -> Floats:
        """Advance (3, n, ...) = u, v, a by one step under `force` at its end."""
        u, v, a = state
        u_free, v_free = u + self.g * v, v + self.g * a
        s = self.structure
        a_new = self.inverse @ (force - s.K @ (u_free + self.g * v_free) - s.C @ v_free)
        v_new = v_free + self.g * a_new
        return np.stack([u_free + self.g * v_new, v_new, a_new])


def partitioned(
    numerical: Structure,
    physical: Structure,
    *,
    interface: Sequence[tuple[int, int]],
    dt: float,
    substeps: int = 1,
    load_numerical: ArrayLike,
    load_physical: ArrayLike,
) -> PartitionedMotion:
    """Integrate both sides from rest.

    interface: pairs (degree of freedom of the numerical, of the physical side) that move together; dt: coarse step
    in s; substeps: m; load_numerical (steps + 1, n_N) in N at coarse steps, load_physical (m steps + 1, n_P) at all
    sub-steps.
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
    side_n, side_p = _Side(numerical, dt), _Side(physical, dt / m)
    unit_n = side_n.step(np.zeros((3, *to_n.shape)), to_n)
    unit_p = np.empty((m, 3, *to_p.shape))
    answer = np.zeros((3, *to_p.shape))
    for j in range(m):
        answer = unit_p[j] = side_p.step(answer, to_p * (j + 1) / m)
    close = np.linalg.inv(to_n.T @ unit_n[1] + to_p.T @ unit_p[-1, 1])

    moves_n = np.zeros((steps + 1, 3, numerical.n))
    moves_p = np.zeros((m * steps + 1, 3, physical.n))
    multipliers = np.zeros((steps + 1, len(pairs)))
    free_n, free_p = np.linalg.solve(numerical.M, outer[0]), np.linalg.solve(physical.M, inner[0])
    flexible_n, flexible_p = np.linalg.solve(numerical.M, to_n), np.linalg.solve(physical.M, to_p)
    start = np.linalg.solve(to_n.T @ flexible_n + to_p.T @ flexible_p, -(to_n.T @ free_n + to_p.T @ free_p))
    multipliers[0] = start
    moves_n[0, 2], moves_p[0, 2] = free_n + flexible_n @ start, free_p + flexible_p @ start

    for k in range(steps):
        free = side_n.step(moves_n[k], outer[k + 1])
        state = moves_p[m * k]
        for j in range(1, m + 1):
            known = to_p @ multipliers[k] * (m - j) / m
            state = moves_p[m * k + j] = side_p.step(state, inner[m * k + j] + known)
        multipliers[k + 1] = -close @ (to_n.T @ free[1] + to_p.T @ state[1])
        moves_n[k + 1] = free + unit_n @ multipliers[k + 1]
        moves_p[m * k + 1 : m * (k + 1) + 1] += unit_p @ multipliers[k + 1]

    def motion(moves: Floats, h: float) -> Motion:
        return Motion(np.asarray(np.arange(len(moves)) * h), moves[:, 0], moves[:, 1], moves[:, 2])

    return PartitionedMotion(motion(moves_n, dt), motion(moves_p, dt / m), multipliers)
