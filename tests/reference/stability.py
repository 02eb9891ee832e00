"""Stability warning and energy error of a whole record at once, by numpy's own trapezoidal sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def running_work(force: Array, x: Array) -> Array:
    """Trapezoidal int force' dx up to each row."""
    steps = 0.5 * (force[1:] + force[:-1]) * np.diff(x, axis=0)
    return np.concatenate([[0.0], np.cumsum(steps.sum(axis=1))])


def stability_warning(x: Array, v: Array, f: Array, damping: Array, interface: Array, margin: float) -> Array:
    work = -running_work(f, x @ interface.T)
    dissipated = running_work(v @ damping.T, x)
    return np.where(work > 0.0, work / (np.maximum(dissipated, 0.0) + margin), 0.0)


def energy_error(
    x: Array, p: Array, f: Array, x_m: Array, matrices: tuple[Array, Array, Array], e_most: float, dt: float
) -> Array:
    mass, damping, stiffness = matrices
    v = np.vstack([np.zeros(x.shape[1]), np.diff(x, axis=0) / dt])
    kinetic = 0.5 * np.einsum("ki,ij,kj->k", v, mass, v)
    dissipated = np.cumsum(np.einsum("ki,ij,kj->k", v, damping, v)) * dt
    strain = 0.5 * np.einsum("ki,ij,kj->k", x, stiffness, x)
    put_in = running_work(p, x)
    measured = -running_work(f, x_m)
    return (put_in - (kinetic + dissipated + strain - measured)) / (np.maximum(put_in, 0.0) + e_most)
