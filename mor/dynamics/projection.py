"""Reduce large linear structures: M x'' + C x' + K x = F u, y = rows of x, x' and x'', with sparse matrices.

Every method projects onto a basis V, x = V q, and turns the small structure into state space. V is

Modes          the lowest modes and K^-1 F: the static answer to every input is exact (residual flexibility)
CraigBampton   constraint modes of boundary degrees of freedom and modes with the boundary held
FreeInterface  the lowest modes, the interface free, and K^-1 e of each interface freedom (residual attachment)
Balanced       modes as above, then the states that inputs reach and outputs see most (balanced truncation)

More of them: `mor.dynamics.krylov` (Krylov), and for those who have pyMOR `mor.dynamics.pymor_reduction` (Irka,
PymorBalanced).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.sparse.linalg import eigsh, splu

from mor.dynamics.transfer import StateSpaceMatrices
from rt_runtime.checks import Array, whole
from rt_runtime.errors import ConfigError

Sparse = Any  # scipy.sparse has no types


@dataclass(frozen=True)
class Modes:
    """Keep the `count` lowest modes and, unless `residual` is off, the static answer to each input."""

    count: int
    residual: bool = True

    def __post_init__(self) -> None:
        whole(self.count, "count", "Modes", 1)


@dataclass(frozen=True)
class CraigBampton:
    """Keep the degrees of freedom `boundary` as they are and `count` modes of the rest, held there."""

    boundary: tuple[int, ...]
    count: int

    def __init__(self, boundary: Sequence[int], count: int) -> None:
        object.__setattr__(self, "boundary", tuple(int(i) for i in boundary))
        object.__setattr__(self, "count", whole(count, "count", "CraigBampton", 1))
        if not self.boundary or len(set(self.boundary)) != len(self.boundary):
            raise ConfigError(f"boundary of CraigBampton must name different degrees of freedom, got {boundary}.")


@dataclass(frozen=True)
class FreeInterface:
    """Keep the `count` lowest modes and the static answer to a unit force at each freedom of `interface`."""

    interface: tuple[int, ...]
    count: int

    def __init__(self, interface: Sequence[int], count: int) -> None:
        object.__setattr__(self, "interface", tuple(int(i) for i in interface))
        object.__setattr__(self, "count", whole(count, "count", "FreeInterface", 1))
        if not self.interface or len(set(self.interface)) != len(self.interface):
            raise ConfigError(f"interface of FreeInterface must name different degrees of freedom, got {interface}.")


@dataclass(frozen=True)
class Balanced:
    """Take `modes` modes with residual flexibility, then keep `states` states by balanced truncation.

    Outputs get a direct term; in a coupled loop, where that costs a delay of one tick, prefer Modes.
    """

    states: int
    modes: int = 40

    def __post_init__(self) -> None:
        whole(self.states, "states", "Balanced", 1)
        whole(self.modes, "modes", "Balanced", 1)


class Reducer(Protocol):
    """A reduction of another kind: it knows how to reduce a structure."""

    def reduce(self, structure: SparseStructure) -> tuple[StateSpaceMatrices, Array | None]:
        """Return the state space, and T (n, k) of x = T q where it is a projection of x."""
        ...


Projection = Modes | CraigBampton | FreeInterface
Reduction = Projection | Balanced | Reducer


@dataclass(frozen=True, eq=False)
class SparseStructure:
    """Matrices (n, n) of a structure, loads F (n, m), and rows X, V, A (p, n) that read x, x' and x''."""

    M: Sparse
    C: Sparse
    K: Sparse
    F: Array
    X: Sparse
    V: Sparse
    A: Sparse

    @property
    def n(self) -> int:
        """Number of degrees of freedom."""
        return int(self.M.shape[0])


def reduce_structure(structure: SparseStructure, reduction: Reduction) -> tuple[StateSpaceMatrices, Array | None]:
    """Reduce the structure.

    Parameters
    ----------
    structure : matrices, loads and output rows.
    reduction : Modes, CraigBampton, FreeInterface, Balanced, Krylov, or one of `mor.dynamics.pymor_reduction`.

    Returns
    -------
    A, B, C, D and T (n, k): the state is [q; q'] with x = T q; T is None where x is not projected.
    """
    if isinstance(reduction, Balanced):
        full = state_space(structure, modal_basis(structure, Modes(reduction.modes)))
        return balanced_truncation(full, reduction.states), None
    if isinstance(reduction, Modes | CraigBampton | FreeInterface):
        T = basis(structure, reduction)
        return state_space(structure, T), T
    return reduction.reduce(structure)


def basis(structure: SparseStructure, reduction: Projection) -> Array:
    """Return the columns T (n, k) of x = T q for a reduction by projection."""
    if isinstance(reduction, Modes):
        return modal_basis(structure, reduction)
    if isinstance(reduction, CraigBampton):
        name, kept = "boundary", reduction.boundary
    else:
        name, kept = "interface", reduction.interface
    if min(kept) < 0 or max(kept) >= structure.n:
        raise ConfigError(
            f"{name} of {type(reduction).__name__} must lie from 0 to {structure.n - 1}, the freedoms of the "
            f"structure, got {min(kept)} to {max(kept)}."
        )
    if isinstance(reduction, CraigBampton):
        return craig_bampton_basis(structure, reduction)
    return free_interface_basis(structure, reduction)


def modal_basis(structure: SparseStructure, modes: Modes) -> Array:
    """Return the lowest modes and, where asked, K^-1 F made independent of them; columns orthonormal in M."""
    factor = _factor(structure.K, "K")
    V = lowest_modes(structure.K, structure.M, modes.count, factor)
    if modes.residual:
        R = factor.solve(np.ascontiguousarray(structure.F))
        R = R / np.maximum(np.linalg.norm(R, axis=0), 1e-300)
        V = np.column_stack([V, R])
    return independent(V, structure.M)


def free_interface_basis(structure: SparseStructure, reduction: FreeInterface) -> Array:
    """Return the lowest modes and K^-1 e of each interface freedom, made independent; columns orthonormal in M."""
    factor = _factor(structure.K, "K")
    V = lowest_modes(structure.K, structure.M, reduction.count, factor)
    unit = np.zeros((structure.n, len(reduction.interface)))
    unit[list(reduction.interface), np.arange(unit.shape[1])] = 1.0
    R = factor.solve(unit)
    return independent(np.column_stack([V, R / np.linalg.norm(R, axis=0)]), structure.M)


def craig_bampton_basis(structure: SparseStructure, reduction: CraigBampton) -> Array:
    """Return [I 0; -K_ii^-1 K_ib Phi] in the order of the structure's degrees of freedom."""
    b = np.array(reduction.boundary)
    i = np.setdiff1d(np.arange(structure.n), b)
    K, M = structure.K.tocsc(), structure.M.tocsc()
    factor = _factor(K[i][:, i], "K with the boundary held")
    V = np.zeros((structure.n, b.size + reduction.count))
    V[b, : b.size] = np.eye(b.size)
    V[i, : b.size] = -factor.solve(K[i][:, b].toarray())
    V[i, b.size :] = lowest_modes(K[i][:, i], M[i][:, i], reduction.count, factor)
    return V


def lowest_modes(K: Sparse, M: Sparse, count: int, factor: Any = None) -> Array:
    """Return the modes of K phi = w^2 M phi with the smallest w, (n, count), phi' M phi = 1.

    Degrees of freedom without mass follow statically.
    """
    n = K.shape[0]
    if count > n:
        raise ConfigError(f"A structure of {n} degrees of freedom has {n} modes, got a count of {count}.")
    if n <= 400 or count > n - 2:  # a dense solution is faster, and Lanczos' method cannot give all
        return _dense_modes(K.toarray(), M.toarray(), count)
    factor = factor if factor is not None else _factor(K, "K")
    inverse = scipy.sparse.linalg.LinearOperator(K.shape, matvec=factor.solve, dtype=float)
    start = np.random.default_rng(0).standard_normal(n)
    w2, shapes = eigsh(K, count, M, sigma=0.0, OPinv=inverse, v0=start)
    return np.asarray(shapes[:, np.argsort(w2)])


def _dense_modes(K: Array, M: Array, count: int) -> Array:
    try:
        return np.asarray(scipy.linalg.eigh(K, M, subset_by_index=[0, count - 1])[1])
    except scipy.linalg.LinAlgError:  # M is singular: M phi = mu K phi with mu = 1 / w^2
        mu, shapes = scipy.linalg.eigh(M, K)
    massive = int((mu > 1e-12 * mu[-1]).sum())
    if count > massive:
        raise ConfigError(
            f"A structure with mass at {massive} degrees of freedom has {massive} modes, got a count of {count}."
        )
    return np.asarray(shapes[:, ::-1][:, :count] / np.sqrt(mu[::-1][:count]))


def state_space(structure: SparseStructure, V: Array) -> StateSpaceMatrices:
    """Return the state space of the structure projected onto the columns of V, in the modes of the projection."""
    m, k, c = (V.T @ (matrix @ V) for matrix in (structure.M, structure.K, structure.C))
    w2, own = scipy.linalg.eigh(0.5 * (k + k.T), 0.5 * (m + m.T))
    V = V @ own
    n = w2.size
    F, damping = V.T @ structure.F, own.T @ c @ own
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.diag(w2), -damping]])
    B = np.vstack([np.zeros_like(F), F])
    acceleration = np.asarray(structure.A @ V)
    C = np.hstack([np.asarray(structure.X @ V), np.asarray(structure.V @ V)]) + acceleration @ A[n:]
    return StateSpaceMatrices(A, B, C, acceleration @ F)


def balanced_truncation(system: StateSpaceMatrices, states: int) -> StateSpaceMatrices:
    """Keep the `states` largest Hankel singular values by the square-root method; see `Balancing`."""
    return Balancing(system).truncated(states)


class Balancing:
    """The states of a system in the order in which inputs reach and outputs see them (square-root method).

    Inputs and outputs are weighted by their largest gains at the eigenfrequencies, so that their units do not count.

    Parameters
    ----------
    system
        A damped system.
    """

    def __init__(self, system: StateSpaceMatrices) -> None:
        if np.linalg.eigvals(system.A).real.max() >= 0:
            raise ConfigError("Balanced truncation needs a damped structure; give damping, or reduce by Modes.")
        A, B, C, per_input, per_output = comparable(system)
        by_input, by_output = B * per_input, C * per_output[:, None]
        self._reached = _root(scipy.linalg.solve_continuous_lyapunov(A, -by_input @ by_input.T))
        self._seen = _root(scipy.linalg.solve_continuous_lyapunov(A.T, -by_output.T @ by_output))
        self._left, self._values, self._right = np.linalg.svd(self._seen.T @ self._reached)
        self._system = StateSpaceMatrices(A, B, C, system.D)
        self._static = C @ np.linalg.solve(A, B)

    def truncated(self, states: int) -> StateSpaceMatrices:
        """Return the system of the first `states` states.

        The static answer of the others is kept as a direct term: outputs then follow inputs within a tick.
        """
        A, B, C, D = self._system.A, self._system.B, self._system.C, self._system.D
        if states > len(A):
            raise ConfigError(f"states of Balanced must be at most {len(A)}, twice the kept modes, got {states}.")
        keep = min(states, int((self._values > 1e-14 * self._values[0]).sum()))
        root = np.sqrt(self._values[:keep])
        T, W = self._reached @ self._right[:keep].T / root, self._seen @ self._left[:, :keep] / root
        a, b, c = W.T @ A @ T, W.T @ B, C @ T
        return StateSpaceMatrices(a, b, c, D + c @ np.linalg.solve(a, b) - self._static)


def comparable(system: StateSpaceMatrices) -> tuple[Array, Array, Array, Array, Array]:
    """Return A, B, C in states of like size, and factors that make the inputs and the outputs of like size.

    Displacements and velocities are balanced; after B times the first factors and C times the second, the largest gain
    of each input and of each output at the eigenfrequencies is about 1, whatever their units.
    """
    A, scale = scipy.linalg.matrix_balance(system.A, permute=False, separate=True)
    B, C = system.B / scale[0][:, None], system.C * scale[0]
    gains = _peak_gains(A, B, C)
    return A, B, C, 1 / gains.max(axis=0), 1 / (gains / gains.max(axis=0)).max(axis=1)


def _peak_gains(A: Array, B: Array, C: Array) -> Array:
    """Return the largest |C (iw - A)^-1 B| over the eigenfrequencies w and w = 0, never zero."""
    frequencies = np.unique(np.concatenate([[0.0], np.abs(np.linalg.eigvals(A).imag)]))
    answers = [np.abs(C @ np.linalg.solve(1j * w * np.eye(len(A)) - A, B)) for w in frequencies]
    return np.asarray(np.maximum(np.max(answers, axis=0), 1e-300))


def _root(gramian: Array) -> Array:
    """Return L with L L' = gramian, which may be nearly singular."""
    values, vectors = np.linalg.eigh(0.5 * (gramian + gramian.T))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def independent(V: Array, M: Sparse) -> Array:
    """Orthonormalise columns in M (twice Gram-Schmidt, for accuracy) and drop those that depend on the others."""
    kept: list[Array] = []
    for column in V.T:
        size = np.sqrt(column @ (M @ column))
        for _ in range(2):
            for other in kept:
                column = column - other * (other @ (M @ column))
        rest = np.sqrt(max(float(column @ (M @ column)), 0.0))
        if rest > 1e-7 * size:
            kept.append(column / rest)
    return np.column_stack(kept)


def _factor(K: Sparse, name: str) -> Any:
    try:
        return splu(K.tocsc())
    except RuntimeError as error:
        raise ConfigError(f"{name} of a structure must be regular ({error}); hold its rigid motions.") from None
