"""The implicit family of Newmark: average acceleration, HHT-alpha, WBZ-alpha and generalized-alpha.

    x_1 = x_0 + dt v_0 + dt^2 [(1/2 - beta) a_0 + beta a_1],   v_1 = v_0 + dt [(1 - gamma) a_0 + gamma a_1]
    M [(1 - am) a_1 + am a_0] + (1 - af) [C v_1 + r_1] + af [C v_0 + r_0] = (1 - af) f_1 + af f_0

A linear problem is stepped by one constant matrix, a nonlinear one by Newton's method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mor.dynamics.integrators.motion import (
    Load,
    Motion,
    Restoring,
    Tangent,
    Task,
    highest_frequency,
    make_task,
    refuse_unstable,
)
from mor.dynamics.structure import LinearStructure
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

NEWTON_ITERATIONS = 50


@dataclass(frozen=True)
class Coefficients:
    """The four numbers that make a member of the family."""

    beta: float = 0.25
    gamma: float = 0.5
    am: float = 0.0
    af: float = 0.0


def hht_coefficients(alpha: float) -> Coefficients:
    """Hilber, Hughes and Taylor: af = -alpha, beta = (1 - alpha)^2 / 4, gamma = 1/2 - alpha, -1/3 <= alpha <= 0."""
    if not -1 / 3 <= alpha <= 0:
        raise ConfigError(f"alpha of hht_alpha must lie between -1/3 and 0, got {alpha:g}.")
    return Coefficients((1 - alpha) ** 2 / 4, 0.5 - alpha, 0.0, -alpha)


def wbz_coefficients(alpha: float) -> Coefficients:
    """Wood, Bossak and Zienkiewicz: am = alpha, beta = (1 - alpha)^2 / 4, gamma = 1/2 - alpha, -1 <= alpha <= 0."""
    if not -1 <= alpha <= 0:
        raise ConfigError(f"alpha of wbz_alpha must lie between -1 and 0, got {alpha:g}.")
    return Coefficients((1 - alpha) ** 2 / 4, 0.5 - alpha, alpha, 0.0)


def generalized_coefficients(rho_inf: float) -> Coefficients:
    """Chung and Hulbert: am = (2 r - 1) / (r + 1), af = r / (r + 1) for the spectral radius r at infinite frequency."""
    if not 0 <= rho_inf <= 1:
        raise ConfigError(f"rho_inf of generalized_alpha must lie between 0 and 1, got {rho_inf:g}.")
    am, af = (2 * rho_inf - 1) / (rho_inf + 1), rho_inf / (rho_inf + 1)
    return Coefficients((1 - am + af) ** 2 / 4, 0.5 - am + af, am, af)


def newmark(
    structure: LinearStructure,
    load: Load,
    *,
    dt: float,
    steps: int | None = None,
    beta: float = 0.25,
    gamma: float = 0.5,
    initial: tuple[ArrayLike, ArrayLike] | None = None,
    restoring: Restoring | None = None,
    tangent: Tangent | None = None,
) -> Motion:
    """Step by Newmark's method; the defaults (average acceleration) are stable for every step and do not damp.

    load: (steps + 1, n) forces in N, f(t), or None; dt in s; initial: (x, v) at t = 0; restoring: r(x, v) in N in place
    of K x, tangent: its derivative by x (without it K stays the iteration matrix).
    """
    task = make_task("newmark", structure, load, dt, steps, initial, restoring)
    if gamma < 0.5 or beta < 0:
        raise ConfigError(f"gamma of newmark must be at least 0.5 and beta not negative, got {gamma:g} and {beta:g}.")
    if beta < gamma / 2:
        refuse_unstable("newmark", task.dt, 1 / (np.sqrt(gamma / 2 - beta) * highest_frequency(structure)))
    return _integrate(task, Coefficients(beta, gamma), tangent)


def hht_alpha(
    structure: LinearStructure,
    load: Load,
    *,
    dt: float,
    steps: int | None = None,
    alpha: float = -0.05,
    initial: tuple[ArrayLike, ArrayLike] | None = None,
    restoring: Restoring | None = None,
    tangent: Tangent | None = None,
) -> Motion:
    """Step by the method of `hht_coefficients`: damps high modes more the lower alpha is; arguments as `newmark`."""
    task = make_task("hht_alpha", structure, load, dt, steps, initial, restoring)
    return _integrate(task, hht_coefficients(alpha), tangent)


def wbz_alpha(
    structure: LinearStructure,
    load: Load,
    *,
    dt: float,
    steps: int | None = None,
    alpha: float = -0.1,
    initial: tuple[ArrayLike, ArrayLike] | None = None,
    restoring: Restoring | None = None,
    tangent: Tangent | None = None,
) -> Motion:
    """Step by the method of `wbz_coefficients`: the inertia is averaged; arguments as `newmark`."""
    task = make_task("wbz_alpha", structure, load, dt, steps, initial, restoring)
    return _integrate(task, wbz_coefficients(alpha), tangent)


def generalized_alpha(
    structure: LinearStructure,
    load: Load,
    *,
    dt: float,
    steps: int | None = None,
    rho_inf: float = 0.8,
    initial: tuple[ArrayLike, ArrayLike] | None = None,
    restoring: Restoring | None = None,
    tangent: Tangent | None = None,
) -> Motion:
    """Step by the method of `generalized_coefficients`: the least damping of low modes for a wanted rho_inf."""
    task = make_task("generalized_alpha", structure, load, dt, steps, initial, restoring)
    return _integrate(task, generalized_coefficients(rho_inf), tangent)


def step_matrices(structure: LinearStructure, dt: float, c: Coefficients) -> tuple[Array, Array]:
    """Return A (3n, 3n) and B (3n, n) of [x; v; a]_1 = A [x; v; a]_0 + B f with f = (1 - af) f_1 + af f_0."""
    n, one = structure.n, np.eye(structure.n)
    zero = np.zeros((n, n))
    x_from = np.hstack([one, dt * one, dt**2 * (0.5 - c.beta) * one])
    v_from = np.hstack([zero, one, dt * (1 - c.gamma) * one])
    effective = (1 - c.am) * structure.M + (1 - c.af) * (c.gamma * dt * structure.C + c.beta * dt**2 * structure.K)
    old = np.hstack([c.af * structure.K, c.af * structure.C, c.am * structure.M])
    a_from = -np.linalg.solve(effective, old + (1 - c.af) * (structure.C @ v_from + structure.K @ x_from))
    a_load = np.linalg.inv(effective)
    A = np.vstack([x_from + c.beta * dt**2 * a_from, v_from + c.gamma * dt * a_from, a_from])
    return A, np.vstack([c.beta * dt**2 * a_load, c.gamma * dt * a_load, a_load])


def _integrate(task: Task, c: Coefficients, tangent: Tangent | None) -> Motion:
    n = task.structure.n
    z = np.empty((task.steps + 1, 3 * n))
    z[0] = np.concatenate([task.x0, task.v0, task.start()])
    weighted = (1 - c.af) * task.loads[1:] + c.af * task.loads[:-1]
    if task.restoring is None:
        A, B = step_matrices(task.structure, task.dt, c)
        driven = weighted @ B.T
        for k in range(task.steps):
            z[k + 1] = A @ z[k] + driven[k]
    else:
        _newton(task, c, tangent, weighted, z)
    return Motion(task.time, z[:, :n], z[:, n : 2 * n], z[:, 2 * n :])


def _newton(task: Task, c: Coefficients, tangent: Tangent | None, weighted: Array, z: Array) -> None:
    """Fill rows 1.. of z = [x, v, a]; the unknown of each step is its acceleration."""
    s, dt, n = task.structure, task.dt, task.structure.n
    by_x, by_v = c.beta * dt**2, c.gamma * dt
    fixed = (1 - c.am) * s.M + (1 - c.af) * by_v * s.C
    inverse = np.linalg.inv(fixed + (1 - c.af) * by_x * s.K)
    internal = s.C @ task.v0 + task.force(task.x0, task.v0)
    for k in range(task.steps):
        x, v, a = np.split(z[k], 3)
        x_free, v_free = x + dt * v + dt**2 * (0.5 - c.beta) * a, v + dt * (1 - c.gamma) * a
        rest = weighted[k] - c.af * internal - c.am * (s.M @ a)
        scale = max(float(np.abs(rest).max()), float(np.abs(internal).max()), 1e-12)
        found = False
        for _ in range(NEWTON_ITERATIONS):
            x_new, v_new = x_free + by_x * a, v_free + by_v * a
            new = s.C @ v_new + task.force(x_new, v_new)
            residual = rest - (1 - c.am) * (s.M @ a) - (1 - c.af) * new
            size = float(np.abs(residual).max())
            found = size <= 1e-10 * scale
            if found or not size < 1e12 * scale:
                break
            if tangent is None:
                a = a + inverse @ residual
            else:
                slope = np.asarray(tangent(x_new, v_new), float).reshape(n, n)
                a = a + np.linalg.solve(fixed + (1 - c.af) * by_x * slope, residual)
        if not found:
            raise ConfigError(
                f"Newton's method must converge in {NEWTON_ITERATIONS} iterations, but did not at t = "
                f"{(k + 1) * dt:g} s; take a smaller dt or give the tangent of the restoring force."
            )
        internal = new
        z[k + 1] = np.concatenate([x_new, v_new, a])
