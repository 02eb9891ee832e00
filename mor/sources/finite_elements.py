"""Linear finite elements from sparse matrices of any origin: full order for reference, reduced for the loop."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

from mor.dynamics.projection import Reduction, SparseStructure, reduce_structure
from mor.dynamics.reduced_structure import Reduced, reduced
from mor.dynamics.sparse_newmark import Newmark
from mor.dynamics.transfer import StateSpaceMatrices
from mor.substructures.base import InputTiming, Substructure
from mor.substructures.linear import LinearSubstructure
from rt_runtime import PythonBlock
from rt_runtime._core import Block
from rt_runtime.checks import Array, finite_array, one_of
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class RayleighDamping:
    """C = mass M + stiffness K, in 1/s and s."""

    mass: float = 0.0
    stiffness: float = 0.0

    @classmethod
    def of_ratios(cls, ratio: float, low: float, high: float) -> RayleighDamping:
        """Give the damping ratio at two frequencies in Hz."""
        w1, w2 = 2 * np.pi * low, 2 * np.pi * high
        return cls(2 * ratio * w1 * w2 / (w1 + w2), 2 * ratio / (w1 + w2))


class ReducedPart(LinearSubstructure):
    """A finite-element part reduced to a few states, beside what it was reduced from.

    `reduction` has the full structure, the basis and the error over the band; it is None where only matrices were
    given.
    """

    reduction: Reduced | None = None

    @property
    def error(self) -> float:
        """Largest relative error of the frequency responses over the band of the reduction."""
        if self.reduction is None:
            raise ConfigError(f"error of {self.of} is not known: reduce it with reduced_to or judged.")
        return self.reduction.error


class FiniteElementSubstructure(Substructure):
    """M x'' + C x' + K x = sum of load vectors times inputs, outputs rows times x, x' or x''; sparse.

    Parameters
    ----------
    name : name of the substructure.
    M, K : (n, n) matrices, sparse or dense, from scikit-fem or any other program; supports already taken out.
    inputs : {port: (unit, load vector (n))}; for a ground acceleration the vector is -M times the influence vector.
    outputs : {port: (unit, "x" | "v" | "a", row (n))}.
    damping : RayleighDamping, or a matrix C; none by default.

    Notes
    -----
    The part itself is the full-order reference: Newmark's average acceleration with one sparse factorisation, the
    inputs linear between ticks. `reduced` gives the part for a real-time loop, with the same ports.
    """

    kind = "finite_elements"
    real_time = False

    def __init__(
        self,
        name: str,
        M: Any,
        K: Any,
        *,
        inputs: Mapping[str, tuple[str, ArrayLike]],
        outputs: Mapping[str, tuple[str, str, ArrayLike]],
        damping: RayleighDamping | Any = None,
    ) -> None:
        ports = {port: unit for port, (unit, _) in inputs.items()}
        self._declare(name, ports, {port: unit for port, (unit, _, _) in outputs.items()})
        m = _matrix(M, "M", self.of)
        n = m.shape[0]
        k = _matrix(K, "K", self.of, n)
        if damping is None or isinstance(damping, RayleighDamping):
            damping = damping or RayleighDamping()
            c = damping.mass * m + damping.stiffness * k
        else:
            c = _matrix(damping, "damping", self.of, n)
        loads = [finite_array(v, f"load vector of input '{p}'", self.of, (n,)) for p, (_, v) in inputs.items()]
        rows = {quantity: np.zeros((len(outputs), n)) for quantity in "xva"}
        for i, (port, (_, quantity, row)) in enumerate(outputs.items()):
            one_of(quantity, f"quantity of output '{port}'", self.of, ("x", "v", "a"))
            rows[quantity][i] = finite_array(row, f"row of output '{port}'", self.of, (n,))
        X, V, A = (scipy.sparse.csr_array(rows[quantity]) for quantity in "xva")
        self.structure = SparseStructure(m, c, k, np.column_stack(loads), X, V, A)

    def reduced(self, reduction: Reduction, *, method: str = "zoh") -> LinearSubstructure:
        """Return the part as a small linear model: Modes(10), CraigBampton(boundary, 20), Balanced(16, modes=40).

        Parameters
        ----------
        reduction : which states to keep.
        method : how the loop discretises, as in LinearSubstructure.
        """
        return self.small(reduce_structure(self.structure, reduction)[0], method=method)

    def reduced_to(
        self, error: float, band: tuple[float, float], *, balanced: bool = False, method: str = "zoh"
    ) -> ReducedPart:
        """Return the part as the smallest modal model (or balanced one) with at most this error over the band.

        `part.error` tells the error, `part.reduction.history_error(u, dt)` that of a history; `part.block(dt=dt)` is
        the block of a loop, and `linear_model(part, ...)` goes to a bundle.

        Parameters
        ----------
        error : largest relative error of the frequency responses.
        band : (lowest, highest) frequency in Hz.
        balanced : truncate further by balancing; outputs then have a direct term.
        method : how the loop discretises, as in LinearSubstructure.
        """
        return self.small(reduced(self.structure, band=band, error=error, balanced=balanced), method=method)

    def judged(self, reduction: Reduction | None = None, *, band: tuple[float, float], error: float = 1e-3) -> Reduced:
        """Return the reduced structure with its error over `band` and in histories; see `mor.dynamics.reduced`."""
        return reduced(self.structure, reduction, band=band, error=error)

    def small(self, system: StateSpaceMatrices | Reduced, *, method: str = "zoh") -> ReducedPart:
        """Return a reduced structure as a substructure with the ports of this one."""
        given = system.system if isinstance(system, Reduced) else system
        matrices = (given.A, given.B, given.C, given.D)
        part = ReducedPart(self.name, matrices, inputs=self.inputs, outputs=self.outputs, method=method)
        part.reduction = system if isinstance(system, Reduced) else None
        return part

    def _simulate(self, rows: Array, dt: float, values: dict[str, float], hold: str, every: int) -> Array:
        step = Newmark(self.structure, dt)
        return np.array([y for i, y in enumerate(map(step, rows)) if i % every == 0])

    def _block(self, dt: float, values: dict[str, float], reading: InputTiming) -> Block:
        step = Newmark(self.structure, dt)

        def tick(t: float, u: Array) -> list[float]:
            if t == 0.0:
                step.reset()
            y: list[float] = step(u).tolist()
            return y

        return PythonBlock(tick, n_in=len(self.inputs), n_out=len(self.outputs))

    def _ramps(self) -> bool:
        return False

    def _description(self) -> dict[str, Any]:
        s, digest = self.structure, hashlib.sha256(self.structure.F.tobytes())
        for matrix in (s.M, s.C, s.K, s.X, s.V, s.A):
            for part in (matrix.data, matrix.indices, matrix.indptr):
                digest.update(np.ascontiguousarray(part).tobytes())
        return {"matrices": digest.hexdigest()}


def _matrix(value: Any, name: str, of: str, n: int | None = None) -> Any:
    """Return a sparse square matrix after a check of size, finite numbers and symmetry."""
    matrix = scipy.sparse.csr_array(value)
    n = matrix.shape[0] if n is None else n
    if matrix.shape != (n, n):
        raise ConfigError(f"{name} of {of} must have shape ({n}, {n}), got {matrix.shape}.")
    if not np.isfinite(matrix.data).all():
        raise ConfigError(f"{name} of {of} must be finite.")
    if abs(matrix - matrix.T).max() > 1e-9 * abs(matrix).max():
        raise ConfigError(f"{name} of {of} must be symmetric.")
    return matrix
