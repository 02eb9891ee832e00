"""Rational Krylov spaces: a reduced structure that meets the frequency responses of the full one at chosen frequencies.

x = T q with T spanning (K + iw C - w^2 M)^-1 F and (K + iw C - w^2 M)^-1 of the output rows at each w: response and its
slope over the frequency are exact there. The projection is Galerkin's, so the small structure is as stable as the full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import splu

from mor.dynamics.projection import SparseStructure, independent, state_space
from mor.dynamics.transfer import StateSpaceMatrices
from rt_runtime.checks import Array, finite_array
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class Krylov:
    """Meet the frequency responses at each of `frequencies` in Hz; 0 makes the static answer exact."""

    frequencies: tuple[float, ...]

    def __init__(self, frequencies: Sequence[float]) -> None:
        given = finite_array(frequencies, "frequencies", "Krylov", (None,))
        if given.size == 0 or given.min() < 0 or np.unique(given).size != given.size:
            raise ConfigError(f"frequencies of Krylov must differ and not be negative, got {given.tolist()}.")
        object.__setattr__(self, "frequencies", tuple(given.tolist()))

    def reduce(self, structure: SparseStructure) -> tuple[StateSpaceMatrices, Array]:
        """Return the state space and T (n, k) of x = T q."""
        T = krylov_basis(structure, self.frequencies)
        return state_space(structure, T), T


def krylov_basis(structure: SparseStructure, frequencies: Sequence[float]) -> Array:
    """Return real columns that span the answers to all inputs, and of all outputs, at frequencies in Hz."""
    s = structure
    # The matrices are symmetric; factors iw and -w^2 before rows of x' and x'' do not change the space.
    sides = np.hstack([s.F, (s.X + s.V + s.A).toarray().T]).astype(complex)
    spaces = []
    for w in 2 * np.pi * np.asarray(frequencies):
        try:
            answer = splu((s.K + 1j * w * s.C - w**2 * s.M).tocsc()).solve(sides)
        except RuntimeError:  # exactly singular
            answer = np.full_like(sides, np.nan)
        if not np.isfinite(answer).all():
            raise ConfigError(
                "frequencies of Krylov must not be resonances of an undamped structure, nor 0 where nothing holds it, "
                f"got {w / (2 * np.pi):g} Hz."
            )
        spaces += [answer.real, answer.imag] if w > 0 else [answer.real]
    columns = np.hstack(spaces)
    return independent(columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300), s.M)
