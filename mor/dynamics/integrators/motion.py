"""What every integrator takes and gives: loads, initial state and restoring force in, motion out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mor.dynamics.structure import LinearStructure
from mor.excitation.sampled import Excitation
from rt_runtime.checks import Array, finite_array, positive, whole
from rt_runtime.errors import ConfigError

Load = ArrayLike | Callable[[float], ArrayLike] | None
Restoring = Callable[[Array, Array], ArrayLike]
Tangent = Callable[[Array, Array], ArrayLike]


@dataclass(frozen=True, eq=False)
class Motion:
    """Time (steps + 1) in s; displacement x, velocity v, acceleration a, each (steps + 1, n)."""

    time: Array
    x: Array
    v: Array
    a: Array


def ground_load(structure: LinearStructure, ground: Excitation) -> Array:
    """Return the load -m_g a_g of a ground acceleration, (samples, n) in N."""
    return np.asarray(-np.outer(ground.values, structure.ground_mass))


@dataclass(frozen=True, eq=False)
class Task:
    """A checked problem M a + C v + r(x, v) = f: step, loads at every step (steps + 1, n), start, restoring force."""

    structure: LinearStructure
    dt: float
    loads: Array
    x0: Array
    v0: Array
    restoring: Restoring | None

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.loads) - 1

    @property
    def time(self) -> Array:
        """Times of all steps in s."""
        return np.asarray(np.arange(self.steps + 1) * self.dt)

    def force(self, x: Array, v: Array) -> Array:
        """Return the restoring force r(x, v), K x when none was given."""
        if self.restoring is None:
            return np.asarray(self.structure.K @ x)
        return np.asarray(self.restoring(x, v), float)

    def start(self) -> Array:
        """Return the acceleration at t = 0 from the equation of motion."""
        s = self.structure
        return np.linalg.solve(s.M, self.loads[0] - s.C @ self.v0 - self.force(self.x0, self.v0))


def make_task(
    of: str,
    structure: LinearStructure,
    load: Load,
    dt: float,
    steps: int | None,
    initial: tuple[ArrayLike, ArrayLike] | None,
    restoring: Restoring | None,
) -> Task:
    """Check the arguments of integrator `of` and sample its load.

    load: (steps + 1, n) forces in N, or f(t) -> n forces, or None for free motion; the last two need `steps`.
    """
    dt, n = positive(dt, "dt", of), structure.n
    if load is None or callable(load):
        if steps is None:
            raise ConfigError(f"steps of {of} must be given when its load is a function or None.")
        count = whole(steps, "steps", of, 1) + 1
        rows = [np.zeros(n) if load is None else np.asarray(load(k * dt), float).reshape(-1) for k in range(count)]
        loads = finite_array(rows, "load", of, (count, n))
    else:
        array = np.asarray(load, float)
        loads = finite_array(array[:, None] if array.ndim == 1 and n == 1 else array, "load", of, (None, n))
        if len(loads) < 2 or (steps is not None and steps != len(loads) - 1):
            raise ConfigError(
                f"load of {of} must have one row for each of its {steps or 1} or more steps and one for t = 0, "
                f"got {len(loads)}."
            )
    start = (np.zeros(n), np.zeros(n)) if initial is None else initial
    x0, v0 = (finite_array(np.atleast_1d(np.asarray(value, float)), "initial", of, (n,)) for value in start)
    return Task(structure, dt, loads, x0, v0, restoring)


def highest_frequency(structure: LinearStructure) -> float:
    """Return the highest natural frequency in rad/s."""
    return float(2 * np.pi * structure.modes().frequencies[-1])


def refuse_unstable(of: str, dt: float, limit: float) -> None:
    """Raise when `dt` is not below the largest stable step, and name it."""
    if dt >= limit:
        raise ConfigError(
            f"dt of {of} must be below {limit:.6g} s, the largest stable step of this structure, got {dt:.6g} s; take "
            "a smaller step or an unconditionally stable integrator."
        )
