"""A reduced linear structure that tells its error: over a band of frequencies and in the histories that matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import splu

from mor.dynamics.projection import (
    Balancing,
    Modes,
    Reduction,
    SparseStructure,
    modal_basis,
    reduce_structure,
    state_space,
)
from mor.dynamics.sparse_newmark import Newmark
from mor.dynamics.transfer import StateSpaceMatrices
from rt_runtime import StateSpace
from rt_runtime.checks import Array, finite_array
from rt_runtime.errors import ConfigError


@dataclass(frozen=True, eq=False)
class Reduced:
    """A reduced structure beside its full one.

    Parameters
    ----------
    structure
        The full structure.
    system
        A, B, C, D of the reduced one.
    T
        Basis (n, k) of x = T q; None where the reduction is no projection of x.
    band
        (lowest, highest) frequency in Hz it is judged on.
    points
        How many frequencies besides the resonances in the band are looked at.
    """

    structure: SparseStructure
    system: StateSpaceMatrices
    T: Array | None
    band: tuple[float, float]
    points: int = 8

    def __post_init__(self) -> None:
        low, high = self.band
        if not 0 <= low < high < np.inf:
            raise ConfigError(f"band of a reduced structure must be 0 <= low < high in Hz, got {self.band}.")
        growth = np.linalg.eigvals(self.system.A)
        if growth.real.max() > 1e-7 * np.abs(growth).max():
            worst = growth[np.argmax(growth.real)]
            raise ConfigError(
                f"The reduction is unstable: it grows by {worst.real:.3g} 1/s at "
                f"{abs(worst.imag) / (2 * np.pi):.3g} Hz; keep more states, or reduce by Modes."
            )

    @property
    def states(self) -> int:
        """Number of states of the reduced structure."""
        return len(self.system.A)

    @cached_property
    def frequencies(self) -> Array:
        """Frequencies in Hz that are looked at: evenly over the band, and the resonances of the reduced structure."""
        low, high = self.band
        poles = np.abs(np.linalg.eigvals(self.system.A)) / (2 * np.pi)
        inside = np.unique(np.round(poles[(poles >= low) & (poles <= high)], 9))
        inside = inside[np.unique(np.linspace(0, len(inside) - 1, min(12, len(inside))).astype(int))]
        return np.unique(np.concatenate([np.linspace(low, high, self.points), inside]))

    @cached_property
    def response(self) -> Array:
        """H (frequencies, outputs, inputs) of the full structure."""
        return np.array([full_response(self.structure, f) for f in self.frequencies])

    @cached_property
    def error(self) -> float:
        """Largest |H - H_reduced| over the band, each pair of input and output over its own largest |H|."""
        return worst_difference(self.response, small_response(self.system, self.frequencies))

    def history_error(self, u: ArrayLike, dt: float) -> Array:
        """Return the NRMSE of each output under the inputs `u` (n_steps, n_in): full Newmark against the reduced one.

        Parameters
        ----------
        u
            Inputs at steps of `dt`, linear between them.
        dt
            Step in s, small enough for Newmark's rule on the full structure.
        """
        rows = finite_array(u, "u", "Reduced.history_error", (None, self.structure.F.shape[1]))
        step = Newmark(self.structure, dt)
        full = np.array([step(row) for row in rows])
        block = StateSpace(*_arrays(self.system), dt=dt, method="foh")
        small = np.array([block.step(k * dt, row) for k, row in enumerate(rows)])
        span = np.ptp(full, axis=0)
        if not np.all(span > 0):
            raise ConfigError("u of Reduced.history_error must move every output, got one that stays at rest.")
        return np.asarray(np.sqrt(np.mean((small - full) ** 2, axis=0)) / span)


def reduced(
    structure: SparseStructure,
    reduction: Reduction | None = None,
    *,
    band: tuple[float, float],
    error: float = 1e-3,
    balanced: bool = False,
) -> Reduced:
    """Reduce a structure, by a method of choice or to an error over a band.

    Parameters
    ----------
    structure
        Matrices, loads and output rows.
    reduction
        Modes, CraigBampton, FreeInterface, Balanced, or one of `mor.dynamics.pymor_reduction`; None takes modes with
        residual flexibility, as many as `error` asks for.
    band
        (lowest, highest) frequency in Hz.
    error
        Largest relative error of the frequency responses, without `reduction`.
    balanced
        Without `reduction`: truncate the modal model further by balancing, to the fewest states that keep `error`.
        Outputs then have a direct term.

    Returns
    -------
    Reduced
        With `error`, `history_error` and `system`.
    """
    if reduction is not None:
        return Reduced(structure, *reduce_structure(structure, reduction), band)
    if not 0 < error < 1:
        raise ConfigError(f"error of reduced must lie between 0 and 1, got {error!r}.")
    goal = error / 2 if balanced else error
    count, frequencies, full = 10, None, None
    while True:
        count = min(count, structure.n)
        T = modal_basis(structure, Modes(count))
        result = Reduced(structure, state_space(structure, T), T, band)
        if (result.states and _highest(result.system) > 1.2 * band[1]) or count == structure.n:
            if full is None or frequencies is None:
                frequencies, full = result.frequencies, result.response
            if worst_difference(full, small_response(result.system, frequencies)) <= goal or count == structure.n:
                break
        if count >= 640:
            raise ConfigError(
                f"A structure must reach an error of {error:g} up to {band[1]:g} Hz with 640 modes at most; choose a "
                "narrower band or a larger error."
            )
        count *= 2
    result = fewest_modes(result, count, frequencies, full, goal)
    if not balanced:
        return result
    modal, balancing = small_response(result.system, frequencies), Balancing(result.system)
    for states in range(2, result.states + 1, 2):
        small = balancing.truncated(states)
        if worst_difference(modal, small_response(small, frequencies)) <= error / 2:
            return Reduced(structure, small, None, band)
    return result


def fewest_modes(given: Reduced, count: int, frequencies: Array, full: Array, error: float) -> Reduced:
    """Leave out the modes that inputs do not reach or outputs do not see, as many as `error` allows.

    Modes are ordered by their largest share in a response, |x_i| |f_i| / (c_i w_i) at resonance within the band, beyond
    it by what is left of them besides their static answer.

    Parameters
    ----------
    given
        A modal reduction whose first `count` columns are modes.
    count
        Number of modes.
    frequencies, full
        Where the error is judged, and the responses of the full structure there.
    error
        Largest relative error.
    """
    s, T = given.structure, given.T
    if T is None or worst_difference(full, small_response(given.system, frequencies)) > error:
        return given
    V, rest = T[:, :count], T[:, count:]
    order = np.argsort(_shares(s, V, 2 * np.pi * given.band[1]))[::-1]
    for goal in (0.8 * error, 0.4 * error):
        low, high, best = 0, count, given
        while high - low > 1:
            middle = (low + high) // 2
            kept = np.column_stack([V[:, np.sort(order[:middle])], rest])
            system = state_space(s, kept)
            if worst_difference(full, small_response(system, frequencies)) <= goal:
                high, best = middle, Reduced(s, system, kept, given.band)
            else:
                low = middle
        if best.error <= error:  # at the resonances of the smaller model, too
            return best
    return given


def _shares(s: SparseStructure, V: Array, highest: float) -> Array:
    w2, c = (np.einsum("ij,ij->j", V, matrix @ V) for matrix in (s.K, s.C))
    w = np.sqrt(w2)
    beyond = highest**2 / (w2 * np.maximum(w2 - highest**2, 1e-9 * w2))
    gain = np.where(w > 1.1 * highest, beyond, 1 / np.maximum(c * w, 1e-6 * w2))
    seen = np.abs(s.X @ V) + w * np.abs(s.V @ V) + w2 * np.abs(s.A @ V)
    pairs = np.asarray(seen)[:, None, :] * np.abs(s.F.T @ V)[None, :, :] * gain
    size = pairs.max(axis=2, keepdims=True)
    return np.asarray((pairs / np.maximum(size, 1e-300)).max(axis=(0, 1)))


def full_response(structure: SparseStructure, frequency: float) -> Array:
    """Return H = (X + iw V - w^2 A) (K + iw C - w^2 M)^-1 F of the full structure, (outputs, inputs), complex."""
    w = 2 * np.pi * frequency
    s = structure
    x = splu((s.K + 1j * w * s.C - w**2 * s.M).tocsc()).solve(s.F.astype(complex))
    return np.asarray(s.X @ x + 1j * w * (s.V @ x) - w**2 * (s.A @ x))


def small_response(system: StateSpaceMatrices, frequencies: Sequence[float] | Array) -> Array:
    """Return H = C (iw - A)^-1 B + D of a state space, (frequencies, outputs, inputs), complex."""
    A, B, C, D = _arrays(system)
    one = np.eye(len(A))
    return np.array([C @ np.linalg.solve(2j * np.pi * f * one - A, B) + D for f in frequencies])


def worst_difference(full: Array, small: Array) -> float:
    """Return the largest |full - small| over frequencies, each pair (output, input) over its own largest |full|.

    A pair that hardly answers, a millionth of what both its output and its input do elsewhere, counts as that much.
    """
    size = np.abs(full).max(axis=0)
    least = 1e-6 * np.minimum(size.max(axis=0, keepdims=True), size.max(axis=1, keepdims=True))
    return float((np.abs(full - small).max(axis=0) / np.maximum(np.maximum(size, least), 1e-300)).max())


def _highest(system: StateSpaceMatrices) -> float:
    return float(np.abs(np.linalg.eigvals(system.A)).max() / (2 * np.pi))


def _arrays(system: StateSpaceMatrices) -> tuple[Array, Array, Array, Array]:
    return system.A, system.B, system.C, system.D
