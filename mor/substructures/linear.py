"""Linear substructures: state-space matrices, or mass, damping and stiffness with ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mor.dynamics.stability import largest_rk4_step
from mor.dynamics.structure import LinearStructure
from mor.substructures.base import InputTiming, ParameterSpec, PortSpec, Substructure, check_step
from rt_runtime import StateSpace
from rt_runtime._core import Block
from rt_runtime.checks import Array, finite_array, one_of, whole

Matrices = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]


class LinearSubstructure(Substructure):
    """Linear model dx/dt = A x + B u, y = C x + D u.

    `matrices` is (A, B, C, D), or a function of {parameter: value} that returns them. `method` as in
    rt_runtime.StateSpace: "zoh" and "foh" are exact for held and for linear inputs, "rk4" takes `substeps`.

    Parameters
    ----------
    name
        Name of the part.
    outputs
        Ports: {name: unit}, or a sequence of ports.
    parameters
        Names and values of what `matrices` is a function of.
    initial
        Initial state; zero by default.
    """

    kind = "linear"

    def __init__(
        self,
        name: str,
        matrices: Matrices | Callable[[Mapping[str, float]], Matrices],
        *,
        inputs: PortSpec,
        outputs: PortSpec,
        parameters: ParameterSpec = (),
        initial: ArrayLike | None = None,
        method: str = "zoh",
        substeps: int = 1,
    ) -> None:
        self._declare(name, inputs, outputs, parameters)
        self.method = one_of(method, "method", self.of, ("zoh", "foh", "rk4"))
        self.substeps = whole(substeps, "substeps", self.of, 1)
        self._make = matrices if callable(matrices) else lambda _: matrices
        self._initial = initial
        A, _, _, D = self.matrices()
        if initial is not None:
            self._initial = finite_array(initial, "initial", self.of, (len(A),))
        self.direct = frozenset(p.name for i, p in enumerate(self.inputs) if D[:, i].any())

    @classmethod
    def from_structure(
        cls,
        name: str,
        structure: LinearStructure,
        *,
        inputs: Mapping[str, tuple[str, ArrayLike]],
        outputs: Mapping[str, tuple[str, str, ArrayLike]],
        method: str = "zoh",
        substeps: int = 1,
    ) -> LinearSubstructure:
        """Make M x'' + C x' + K x = sum of load vectors times inputs, y = rows times x, x' or x''.

        inputs {port: (unit, load vector (n))}, for a ground acceleration minus `structure.ground_mass`; outputs
        {port: (unit, "x" | "v" | "a", row (n))}, where "a" is relative to the ground. The state is [x; x'].
        """
        of = f"substructure '{name}'"
        n = structure.n
        loads = [finite_array(load, f"load vector of input '{p}'", of, (n,)) for p, (_, load) in inputs.items()]
        A = structure.state_matrix()
        F = np.column_stack(loads) if loads else np.zeros((n, 0))
        B = np.vstack([np.zeros_like(F), np.linalg.solve(structure.M, F)])
        C, D = np.zeros((len(outputs), 2 * n)), np.zeros((len(outputs), F.shape[1]))
        for i, (port, (_, quantity, row)) in enumerate(outputs.items()):
            r = finite_array(row, f"row of output '{port}'", of, (n,))
            one_of(quantity, f"quantity of output '{port}'", of, ("x", "v", "a"))
            if quantity == "a":
                C[i], D[i] = r @ A[n:], r @ B[n:]
            else:
                C[i, :n] = r if quantity == "x" else 0.0
                C[i, n:] = r if quantity == "v" else 0.0
        return cls(
            name,
            (A, B, C, D),
            inputs={port: unit for port, (unit, _) in inputs.items()},
            outputs={port: unit for port, (unit, _, _) in outputs.items()},
            method=method,
            substeps=substeps,
        )

    def matrices(self, parameters: Mapping[str, float] | None = None) -> tuple[Array, Array, Array, Array]:
        """Return A, B, C, D for the named parameters."""
        A, B, C, D = self._make(self.parameter_values(parameters))
        a = finite_array(np.atleast_2d(np.asarray(A, float)), "A", self.of, (None, None))
        n, m, p = len(a), len(self.inputs), len(self.outputs)
        return (
            finite_array(a, "A", self.of, (n, n)),
            finite_array(np.asarray(B, float).reshape(n, -1), "B", self.of, (n, m)),
            finite_array(np.asarray(C, float).reshape(-1, n), "C", self.of, (p, n)),
            finite_array(np.asarray(D, float).reshape(p, -1) if m else np.zeros((p, 0)), "D", self.of, (p, m)),
        )

    def _block(self, dt: float, values: dict[str, float], reading: InputTiming) -> Block:
        A, B, C, D = self.matrices(values)
        method = "foh" if reading.hold == "foh" else self.method
        if method == "rk4":
            check_step(self.of, dt, self.substeps, largest_rk4_step(A))
        return StateSpace(
            A, B, C, D, dt=dt, method=method, substeps=self.substeps, initial=self._initial, update=reading.update
        )

    def _ramps(self) -> bool:
        return False  # a first-order hold of a linear model is exact without waiting for the next tick

    def _description(self) -> dict[str, Any]:
        initial = None if self._initial is None else np.asarray(self._initial).tolist()
        return {"matrices": [m.tolist() for m in self.matrices()], "method": self.method, "initial": initial}
