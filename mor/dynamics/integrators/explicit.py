"""Explicit integrators: central difference and classical Runge-Kutta."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mor.dynamics.integrators.motion import Load, Motion, Restoring, highest_frequency, make_task, refuse_unstable
from mor.dynamics.stability import largest_rk4_step
from mor.dynamics.structure import LinearStructure
from rt_runtime.checks import Array


def central_difference(
    structure: LinearStructure,
    load: Load,
    *,
    dt: float,
    steps: int | None = None,
    initial: tuple[ArrayLike, ArrayLike] | None = None,
    restoring: Restoring | None = None,
) -> Motion:
    """Step by central differences, stable below dt = 2 / w_max:

        (M / dt^2 + C / (2 dt)) x_{k+1} = f_k - r_k + M (2 x_k - x_{k-1}) / dt^2 + C x_{k-1} / (2 dt)

    restoring: r(x, v) in N in place of K x, called once a step with the displacement and the last difference as
    velocity; other arguments as `newmark`.
    """
    task = make_task("central_difference", structure, load, dt, steps, initial, restoring)
    dt = task.dt
    frequency = highest_frequency(structure)
    refuse_unstable("central_difference", dt, 2 / frequency if frequency > 0 else np.inf)
    inertia, damping = structure.M / dt**2, structure.C / (2 * dt)
    inverse = np.linalg.inv(inertia + damping)
    a0 = task.start()
    x = np.empty((task.steps + 3, structure.n))  # one row before the first and one after the last
    x[0], x[1] = task.x0 - dt * task.v0 + 0.5 * dt**2 * a0, task.x0
    velocity = task.v0
    for k in range(1, task.steps + 2):
        force = task.loads[k - 1] - task.force(x[k], velocity)
        x[k + 1] = inverse @ (force + inertia @ (2 * x[k] - x[k - 1]) + damping @ x[k - 1])
        velocity = (x[k + 1] - x[k]) / dt
    v = (x[2:] - x[:-2]) / (2 * dt)
    a = (x[2:] - 2 * x[1:-1] + x[:-2]) / dt**2
    return Motion(task.time, x[1:-1], v, a)


def rk4(
    structure: LinearStructure,
    load: Load,
    *,
    dt: float,
    steps: int | None = None,
    initial: tuple[ArrayLike, ArrayLike] | None = None,
    restoring: Restoring | None = None,
) -> Motion:
    """Step [x; v] by classical Runge-Kutta; a sampled load runs linearly between its samples; arguments as `newmark`.

    Fourth order for smooth loads given as functions; refused beyond the stability limit of the linear structure.
    """
    task = make_task("rk4", structure, load, dt, steps, initial, restoring)
    dt, n = task.dt, structure.n
    refuse_unstable("rk4", dt, np.nextafter(largest_rk4_step(structure.state_matrix()), np.inf))
    flexibility = np.linalg.inv(structure.M)

    def slope(z: Array, force: Array) -> Array:
        x, v = z[:n], z[n:]
        return np.concatenate([v, flexibility @ (force - structure.C @ v - task.force(x, v))])

    if callable(load):
        middles = np.array([np.asarray(load((k + 0.5) * dt), float).reshape(-1) for k in range(task.steps)])
    else:
        middles = 0.5 * (task.loads[1:] + task.loads[:-1])

    def step(z: Array, start: Array, middle: Array, end: Array) -> Array:
        first = slope(z, start)
        second = slope(z + 0.5 * dt * first, middle)
        third = slope(z + 0.5 * dt * second, middle)
        fourth = slope(z + dt * third, end)
        return z + dt / 6 * (first + 2 * second + 2 * third + fourth)

    z = np.empty((task.steps + 1, 2 * n))
    z[0] = np.concatenate([task.x0, task.v0])
    if restoring is None:  # the step is linear: find its matrices by unit vectors once
        one, none, rest = np.eye(n), np.zeros((n, n)), np.zeros((2 * n, n))
        A = step(np.eye(2 * n), *[np.zeros((n, 2 * n))] * 3)
        B = [step(rest, *loads) for loads in ((one, none, none), (none, one, none), (none, none, one))]
        driven = task.loads[:-1] @ B[0].T + middles @ B[1].T + task.loads[1:] @ B[2].T
        for k in range(task.steps):
            z[k + 1] = A @ z[k] + driven[k]
        a = (task.loads - z[:, n:] @ structure.C.T - z[:, :n] @ structure.K.T) @ flexibility.T
    else:
        for k in range(task.steps):
            z[k + 1] = step(z[k], task.loads[k], middles[k], task.loads[k + 1])
        a = np.array([slope(row, load)[n:] for row, load in zip(z, task.loads, strict=True)])
    return Motion(task.time, z[:, :n], z[:, n:], a)
