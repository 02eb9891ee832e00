"""Linear structures: mass, damping and stiffness matrices, their modes, and how to make damping and condense."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mor.dynamics.transfer import StateSpaceMatrices
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError


@dataclass(frozen=True, eq=False)
class Modes:
    """Natural frequencies in Hz (n), damping ratios (n) and mass-normalised shapes (n, n), one column a mode."""

    frequencies: Array
    ratios: Array
    shapes: Array


@dataclass(frozen=True, eq=False)
class LinearStructure:
    """Matrices of M x'' + C x' + K x = f - m_g a_g, with x relative to the ground.

    M, C, K (n, n) in kg, Ns/m, N/m; ground_mass m_g (n) in kg is what the ground acceleration a_g pulls at: M times
    the influence vector, M 1 when not given. A part cut out of a structure keeps the m_g of the whole.
    """

    M: Array
    C: Array
    K: Array
    ground_mass: Array

    def __init__(self, M: ArrayLike, C: ArrayLike, K: ArrayLike, ground_mass: ArrayLike | None = None) -> None:
        m, c, k = (np.atleast_2d(np.array(matrix, float)) for matrix in (M, C, K))
        n = m.shape[0]
        g = m.sum(axis=1) if ground_mass is None else np.atleast_1d(np.array(ground_mass, float))
        problems = [
            f"{name} of a structure must be a finite ({n}, {n}) matrix, got shape {matrix.shape}."
            for name, matrix in (("M", m), ("C", c), ("K", k))
            if matrix.shape != (n, n) or not np.isfinite(matrix).all()
        ]
        if g.shape != (n,) or not np.isfinite(g).all():
            problems.append(f"ground_mass of a structure must be {n} finite numbers, got shape {g.shape}.")
        if not problems and (not np.allclose(m, m.T) or np.linalg.eigvalsh(m)[0] <= 0):
            problems.append("M of a structure must be symmetric with positive eigenvalues: each mass must be positive.")
        if problems:
            raise ConfigError.from_problems("A structure", problems)
        for name, value in (("M", m), ("C", c), ("K", k), ("ground_mass", g)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return int(self.M.shape[0])

    def modes(self) -> Modes:
        """Solve K phi = w^2 M phi; damping ratio of mode i is phi_i' C phi_i / (2 w_i)."""
        w2, shapes = _vibration(self.K, self.M)
        w = np.sqrt(np.maximum(w2, 0.0))
        damping = np.einsum("ij,ik,kj->j", shapes, self.C, shapes)
        ratios = np.divide(damping, 2 * w, out=np.zeros_like(w), where=w > 0)
        return Modes(w / (2 * np.pi), ratios, shapes)

    def minus(self, dof: int, *, mass: float, damping: float, stiffness: float) -> LinearStructure:
        """Cut a spring-mass-dashpot out of degree of freedom `dof`; the ground still pulls at the whole mass."""
        if not 0 <= dof < self.n:
            raise ConfigError(f"dof of minus must be 0 to {self.n - 1}, got {dof}.")
        cut = np.zeros((self.n, self.n))
        cut[dof, dof] = 1.0
        return LinearStructure(self.M - mass * cut, self.C - damping * cut, self.K - stiffness * cut, self.ground_mass)

    def state_matrix(self) -> Array:
        """Return A (2n, 2n) of [x; v]' = A [x; v]."""
        zero, one = np.zeros((self.n, self.n)), np.eye(self.n)
        return np.block([[zero, one], [-np.linalg.solve(self.M, self.K), -np.linalg.solve(self.M, self.C)]])

    def state_space(self, force_dofs: Sequence[int] = ()) -> StateSpaceMatrices:
        """Return matrices with state [x; v], inputs [a_g, force at each of `force_dofs`] and outputs [x; v; x''].

        x'' is the acceleration relative to the ground.
        """
        n = self.n
        F = np.column_stack([-self.ground_mass, np.eye(n)[:, list(force_dofs)]])
        A = self.state_matrix()
        B = np.vstack([np.zeros((n, F.shape[1])), np.linalg.solve(self.M, F)])
        C = np.vstack([np.eye(2 * n), A[n:]])
        D = np.vstack([np.zeros((2 * n, F.shape[1])), B[n:]])
        return StateSpaceMatrices(A, B, C, D)

    def energy(self, x: ArrayLike, v: ArrayLike) -> Array:
        """Return kinetic plus strain energy in J, (v' M v + x' K x) / 2; x, v (..., n)."""
        x, v = np.asarray(x, float), np.asarray(v, float)
        kinetic = np.einsum("...i,ij,...j->...", v, self.M, v)
        return np.asarray(0.5 * (kinetic + np.einsum("...i,ij,...j->...", x, self.K, x)))


def modal_damping(M: ArrayLike, K: ArrayLike, ratios: ArrayLike) -> Array:
    """Return C = M Phi diag(2 zeta w) Phi' M: the given damping ratio (one, or one a mode) in every mode."""
    M = np.asarray(M, float)
    w2, shapes = _vibration(np.asarray(K, float), M)
    if w2[0] < -1e-9 * abs(w2[-1]):
        raise ConfigError(f"K of modal_damping must have no negative eigenvalue, got w^2 = {w2[0]:g} rad2/s2.")
    zeta = np.broadcast_to(np.asarray(ratios, float), w2.shape)
    if np.any(zeta < 0):
        raise ConfigError(f"Damping ratios must not be negative, got {zeta.min():g}.")
    half = M @ shapes
    return np.asarray((half * (2 * zeta * np.sqrt(np.maximum(w2, 0.0)))) @ half.T)


def rayleigh_damping(
    M: ArrayLike, K: ArrayLike, *, ratios: tuple[float, float], frequencies: tuple[float, float]
) -> Array:
    """Return C = a M + b K with the damping ratios at two frequencies in Hz: zeta = (a / w + b w) / 2."""
    w = 2 * np.pi * np.asarray(frequencies, float)
    if np.any(w <= 0) or w[0] == w[1]:
        raise ConfigError(f"Frequencies of rayleigh_damping must be two different positive numbers, got {frequencies}.")
    a, b = np.linalg.solve(0.5 * np.column_stack([1 / w, w]), np.asarray(ratios, float))
    return np.asarray(a * np.asarray(M, float) + b * np.asarray(K, float))


def condense(K: ArrayLike, keep: Sequence[int]) -> Array:
    """Condense a stiffness matrix statically onto the degrees of freedom `keep`: K_aa - K_ab K_bb^-1 K_ba."""
    K = np.asarray(K, float)
    drop = np.setdiff1d(np.arange(K.shape[0]), keep)
    a, b = np.asarray(keep, int), drop
    reduced = K[np.ix_(a, a)] - K[np.ix_(a, b)] @ np.linalg.solve(K[np.ix_(b, b)], K[np.ix_(b, a)])
    return np.asarray(0.5 * (reduced + reduced.T))


def _vibration(K: Array, M: Array) -> tuple[Array, Array]:
    """Solve K phi = w^2 M phi for w^2 (rising) and mass-normalised phi, by the Cholesky factor of M."""
    inverse = np.linalg.inv(np.linalg.cholesky(M))
    w2, vectors = np.linalg.eigh(inverse @ K @ inverse.T)
    return w2, inverse.T @ vectors
