"""Reductions of structures through pyMOR (extra `pymor`), to be given where Modes or Balanced may stand.

Irka           as many states as wanted, H2-optimal: the responses are met at the mirrored poles of the small model
               (iterative rational Krylov algorithm)
PymorBalanced  balanced truncation by pyMOR, without the direct term that Balanced adds

Both start from a projection, because Gramians of finite elements with their fastest modes are lost in rounding; inputs
and outputs are made comparable, whatever their units, before anything is left out.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from mor.dynamics.krylov import Krylov
from mor.dynamics.projection import Modes, SparseStructure, comparable, reduce_structure
from mor.dynamics.transfer import StateSpaceMatrices
from rt_runtime.checks import whole
from rt_runtime.errors import ConfigError, MissingExtra

START = Modes(40)
"""Modes with residual flexibility from which a reduction starts when no other projection is given."""


@dataclass(frozen=True)
class Irka:
    """Keep `states` states, H2-optimal among models of that size, of a structure projected by `start`.

    The algorithm need not settle within `iterations`; the last model then stands, and `Reduced.error` judges it.
    """

    states: int
    start: Modes | Krylov = START
    iterations: int = 100

    def __post_init__(self) -> None:
        if whole(self.states, "states", "Irka", 2) % 2:
            raise ConfigError(f"states of Irka must be even, as poles come in pairs, got {self.states}.")
        whole(self.iterations, "iterations", "Irka", 1)

    def reduce(self, structure: SparseStructure) -> tuple[StateSpaceMatrices, None]:
        """Return the state space; x itself is not projected."""
        wide = _Wide(structure, self.start, self.states, "Irka")
        from pymor.reductors.h2 import IRKAReductor

        with _quiet():
            found = IRKAReductor(wide.model).reduce(
                wide.largest(self.states), tol=1e-4, maxit=self.iterations, num_prev=3
            )
        return wide.back(found), None


@dataclass(frozen=True)
class PymorBalanced:
    """Keep the `states` largest Hankel singular values of a structure projected by `start`."""

    states: int
    start: Modes | Krylov = START

    def __post_init__(self) -> None:
        whole(self.states, "states", "PymorBalanced", 1)

    def reduce(self, structure: SparseStructure) -> tuple[StateSpaceMatrices, None]:
        """Return the state space; x itself is not projected."""
        wide = _Wide(structure, self.start, self.states, "PymorBalanced")
        from pymor.reductors.bt import BTReductor

        with _quiet():
            found = BTReductor(wide.model).reduce(self.states)
        return wide.back(found), None


class _Wide:
    """A structure projected by `start` as a model of pyMOR, with inputs and outputs of like size."""

    def __init__(self, structure: SparseStructure, start: Modes | Krylov, states: int, name: str) -> None:
        if find_spec("pymor") is None:
            raise MissingExtra(
                f"{name} needs pyMOR, which is not installed; install the 'pymor' extra, or reduce by Balanced."
            )
        from pymor.models.iosys import LTIModel

        system, _ = reduce_structure(structure, start)
        if np.linalg.eigvals(system.A).real.max() >= 0:
            raise ConfigError(f"{name} needs a damped structure; give damping, or reduce by Modes.")
        if states >= len(system.A):
            raise ConfigError(f"states of {name} must be below {len(system.A)}, those of its start, got {states}.")
        self.A, B, C, self.per_input, self.per_output = comparable(system)
        self.B, self.C, self.D = B * self.per_input, C * self.per_output[:, None], system.D
        with _quiet():
            self.model: Any = LTIModel.from_matrices(self.A, self.B, self.C)

    def largest(self, states: int) -> Any:
        """Return the pairs of states q, q' that answer most at their resonance, as a model of pyMOR."""
        from pymor.models.iosys import LTIModel

        n = len(self.A) // 2
        share = np.linalg.norm(self.C[:, :n], axis=0) + np.linalg.norm(self.C[:, n:], axis=0)
        share = share * np.linalg.norm(self.B[n:], axis=1) / np.abs(np.diag(self.A)[n:])
        kept = np.sort(np.argsort(share)[::-1][: states // 2])
        both = np.concatenate([kept, n + kept])
        with _quiet():
            return LTIModel.from_matrices(self.A[np.ix_(both, both)], self.B[both], self.C[:, both])

    def back(self, found: Any) -> StateSpaceMatrices:
        """Return a reduced model of pyMOR, E x' = A x + B u, in the units of the structure."""
        A, B, C, _, E = found.to_matrices(format="dense")
        if E is not None:
            A, B = np.linalg.solve(E, A), np.linalg.solve(E, B)
        return StateSpaceMatrices(A, B / self.per_input, C / self.per_output[:, None], self.D)


def _quiet() -> AbstractContextManager[None]:
    """Keep pyMOR's progress off the screen."""
    from pymor.core.logger import log_levels

    return log_levels({"pymor": "ERROR"})  # type: ignore[no-any-return]
