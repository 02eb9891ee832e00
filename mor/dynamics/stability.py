"""Stability before a test: the delay a hybrid loop can bear, and the largest step an explicit integrator can take."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mor.dynamics.structure import LinearStructure
from rt_runtime.checks import Array, one_of
from rt_runtime.errors import ConfigError


def critical_delay(
    numerical: LinearStructure,
    *,
    dof: int,
    mass: float,
    damping: float,
    stiffness: float,
    method: Literal["exact", "modal"] = "exact",
) -> float:
    """Return the smallest delay in s that makes the hybrid loop unstable; infinity when none does.

    The specimen m_e, c_e, k_e at degree of freedom `dof` follows the numerical side late by tau:

        M_n a + C_n v + K_n x = -gamma f_e(t),   f_e(t) = (m_e x'' + c_e x' + k_e x)(t - tau)

    Parameters
    ----------
    numerical : LinearStructure
        The numerical side, stable by itself.
    dof : int
        Degree of freedom where the specimen is attached.
    mass, damping, stiffness : float
        m_e, c_e and k_e of the specimen.
    method : {"exact", "modal"}
        "exact": the roots of 1 + L(s) exp(-s tau) first reach the imaginary axis where |L(iw)| = 1, at
        tau = (arg L(iw) + pi) / w modulo 2 pi / w, with L = (m_e s^2 + c_e s + k_e) times the receptance at `dof`.
        "modal": x(t - tau) ~ x - tau v and a(t - tau) ~ a + tau w^2 v in each mode (Galmez and Fermandois 2020).
    """
    one_of(method, "method", "critical_delay", ("exact", "modal"))
    if not 0 <= dof < numerical.n:
        raise ConfigError(f"dof of critical_delay must be 0 to {numerical.n - 1}, got {dof}.")
    at = np.zeros((numerical.n, numerical.n))
    at[dof, dof] = 1.0
    whole = LinearStructure(numerical.M + mass * at, numerical.C + damping * at, numerical.K + stiffness * at)
    eigenvalues = np.linalg.eigvals(whole.state_matrix())
    if eigenvalues.real.max() > 1e-9 * np.abs(eigenvalues).max():
        raise ConfigError("LinearStructure of critical_delay must be stable without delay, got a mode that grows.")
    specimen = np.array([mass, damping, stiffness])
    if method == "modal":
        return _modal_delay(numerical, whole, at, specimen)
    return _exact_delay(numerical, dof, specimen)


def _exact_delay(numerical: LinearStructure, dof: int, specimen: Array) -> float:
    from scipy.optimize import brentq

    def loop_gain(w: ArrayLike) -> NDArray[np.complex128]:
        s = 1j * np.asarray(w, float)[..., None, None]
        dynamic = numerical.M * s * s + numerical.C * s + numerical.K
        unit = np.eye(numerical.n)[:, dof : dof + 1]
        receptance = np.linalg.solve(dynamic, unit)[..., dof, 0]
        return np.asarray(np.polyval(specimen, s[..., 0, 0]) * receptance)

    def excess(w: float) -> float:
        return float(np.log(np.abs(loop_gain(w))))

    eigenvalues = np.abs(np.linalg.eigvals(numerical.state_matrix()))
    own = np.sqrt(specimen[2] / specimen[0]) if specimen[0] > 0 and specimen[2] > 0 else eigenvalues.max()
    top, bottom = 20 * max(eigenvalues.max(), own), 1e-3 * min(eigenvalues[eigenvalues > 0].min(), own)
    # |L| rises and falls steeply around a lightly damped mode: its own frequency belongs to the grid
    peaks = np.abs(np.linalg.eigvals(numerical.state_matrix()).imag) * (1 + 1e-9)
    grid = np.union1d(np.geomspace(bottom, top, 20000), peaks[peaks > bottom])
    values = np.log(np.abs(loop_gain(grid)))
    delays = []
    for i in np.flatnonzero(values[:-1] * values[1:] < 0):
        w = brentq(excess, grid[i], grid[i + 1], xtol=1e-12 * grid[i])
        delays.append(((np.angle(loop_gain(w)) + np.pi) % (2 * np.pi)) / w)
    return float(min(delays, default=np.inf))


def _modal_delay(numerical: LinearStructure, whole: LinearStructure, at: Array, specimen: Array) -> float:
    from scipy.optimize import brentq

    modes = whole.modes()
    w2 = (2 * np.pi * modes.frequencies) ** 2
    squared = modes.shapes @ np.diag(w2) @ np.linalg.inv(modes.shapes)
    mass, damping, stiffness = (value * at for value in specimen)

    def growth(delay: float) -> float:
        M = numerical.M + mass - damping * delay
        C = numerical.C + mass @ squared * delay + damping - stiffness * delay
        K = numerical.K + stiffness
        n = numerical.n
        A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
        return float(np.linalg.eigvals(A).real.max())

    shortest = 2 * np.pi / np.sqrt(w2.max())
    grid = np.linspace(0.0, 2 * np.pi / np.sqrt(w2.min()), max(200, int(50 * np.sqrt(w2.max() / w2.min()))))
    for before, after in pairwise(grid):
        if growth(after) > 0:
            if growth(before) >= 0:  # undamped: no delay is small enough
                return float(before)
            return float(brentq(growth, before, after, xtol=1e-9 * shortest))
    return float("inf")


def largest_rk4_step(A: ArrayLike) -> float:
    """Return the largest step in s with which RK4 keeps x' = A x bounded: |R(h l)| <= 1 for every eigenvalue l of A.

    R(z) = 1 + z + z^2/2 + z^3/6 + z^4/24; 2 sqrt(2) / w for an undamped mode, 2.785 / |l| for a real eigenvalue.
    Eigenvalues that grow by themselves are left out; infinity when nothing limits the step.
    """
    return _largest_step(A, _rk4_reach)


def largest_ab2_step(A: ArrayLike) -> float:
    """Return the largest step in s with which two-step Adams-Bashforth keeps x' = A x bounded.

    For every eigenvalue l of A both roots of r^2 - (1 + 3/2 z) r + z/2, z = h l, must stay within the unit circle:
    1 / |l| for a real eigenvalue, less for a swinging one, and an undamped mode w grows with any step, by w (w h)^3 / 4
    in a second. A mode counts as undamped, and bounds the step at 1.6e-3 / w, when its damping ratio is below 1e-9.
    """
    return _largest_step(A, _ab2_reach)


def _largest_step(A: ArrayLike, reach: Callable[[complex], float]) -> float:
    eigenvalues = np.linalg.eigvals(np.asarray(A, float))
    scale = float(np.abs(eigenvalues).max(initial=0.0))
    limits = [float("inf")]
    for value in eigenvalues:
        if value.imag >= 0 and abs(value) > 1e-12 * scale and value.real <= 1e-9 * abs(value):
            limits.append(reach(value / abs(value)) / abs(value))
    return min(limits)


def _rk4_reach(direction: complex) -> float:
    """How far from 0 the stability region of RK4 reaches in a direction of the left half plane.

    |R(r u)|^2 - 1 is a polynomial in r; in every such direction it is first positive beyond its root between 2 and 4.
    """
    u = complex(min(direction.real, 0.0), direction.imag)
    factors = np.array([u**4 / 24, u**3 / 6, u**2 / 2, u, 1.0])
    roots = np.roots(np.polymul(factors, factors.conj()).real[:-1])
    real = roots.real[np.abs(roots.imag) < 1e-6]
    return float(real[real > 1.0].min())


def _ab2_reach(direction: complex) -> float:
    """How far from 0 the stability region of AB2 reaches in a direction of the left half plane: at most 1.

    A ray from 0 leaves the region once, so the edge is found by bisection.
    """
    u = complex(min(direction.real, -1e-9), direction.imag)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        z = middle * u
        half, product = (1 + 1.5 * z) / 2, z / 2
        root = np.sqrt(half * half - product + 0j)
        inside = max(abs(half + root), abs(half - root)) <= 1.0
        low, high = (middle, high) if inside else (low, middle)
    return high
