"""Substructures given by ordinary differential equations."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mor.code_hash import code_hash
from mor.ode import OdeSystem
from mor.stability import largest_rk4_step
from mor.substructure import Substructure, check_step
from rt_runtime import Ode
from rt_runtime._core import Block
from rt_runtime.checks import Floats, finite_array, whole
from rt_runtime.errors import ConfigError


class OdeSubstructure(Substructure):
    """A compiled ODE (`@ode`), integrated by RK4 with `substeps` in each tick.

    `direct` names the inputs an output follows within the same instant (default: all). `points` are (x, u) at which the
    model is stiffest; there the step is checked against the stability limit of RK4, at least at the initial state.
    `initial` may be a function of {parameter: value} that returns the initial state.
    """

    kind = "ode"

    def __init__(
        self,
        system: OdeSystem,
        *,
        name: str | None = None,
        substeps: int = 1,
        direct: Sequence[str] | None = None,
        points: Sequence[tuple[ArrayLike, ArrayLike]] = (),
        initial: Callable[[Mapping[str, float]], ArrayLike] | None = None,
    ) -> None:
        self._declare(name or system.name, system.inputs, system.outputs, system.parameters, direct)
        self.system = system
        self.substeps = whole(substeps, "substeps", self.of, 1)
        self._initial = initial
        n, m = len(system.states), len(system.inputs)
        self.points = tuple(
            (finite_array(x, "x of points", self.of, (n,)), finite_array(u, "u of points", self.of, (m,)))
            for x, u in points
        )
        self._check_direct()

    def initial(self, parameters: Mapping[str, float] | None = None) -> Floats:
        """Return the initial state for the named parameters."""
        if self._initial is None:
            return self.system.initial
        start = self._initial(self.parameter_values(parameters))
        return finite_array(start, "initial", self.of, (len(self.system.states),))

    def jacobian(self, x: ArrayLike, u: ArrayLike, parameters: Mapping[str, float] | None = None) -> Floats:
        """Return df/dx (n, n) at a point by central differences; its eigenvalues tell how stiff the model is there."""
        values = np.array(list(self.parameter_values(parameters).values()))
        x0, u0 = np.asarray(x, float), np.asarray(u, float)
        halves = np.diag(1e-6 * np.maximum(np.abs(x0), self._state_sizes()))
        columns = [
            (self._evaluate(x0 + half, u0, values)[0] - self._evaluate(x0 - half, u0, values)[0]) / (2 * half[j])
            for j, half in enumerate(halves)
        ]
        return np.column_stack(columns)

    def largest_step(self, parameters: Mapping[str, float] | None = None) -> float:
        """Return the largest step of RK4 in s that is stable at the initial state and at all `points`."""
        start = (self.initial(parameters), np.zeros(len(self.inputs)))
        return min(largest_rk4_step(self.jacobian(x, u, parameters)) for x, u in (start, *self.points))

    def _block(self, dt: float, values: dict[str, float], update: str, hold: str) -> Block:
        check_step(self.of, dt, self.substeps, self.largest_step(values))
        return Ode(
            self.system.address,
            n_in=len(self.inputs),
            n_out=len(self.outputs),
            initial=self.initial(values),
            parameters=list(values.values()),
            dt=dt,
            substeps=self.substeps,
            hold=hold,
            update=update,
            owner=self.system.pointer,
        )

    def _state_sizes(self) -> Floats:
        """Typical magnitude of each state: the largest of initial state and points, 1 where all are zero."""
        size = np.abs(np.array([self.system.initial, *[x for x, _ in self.points]])).max(axis=0)
        return np.where(size > 0, size, 1.0)

    def _evaluate(self, x: Floats, u: Floats, p: Floats) -> tuple[Floats, Floats]:
        """Call the C function at t = 0; return (dx/dt, y)."""
        dx, y = np.zeros(len(x)), np.zeros(len(self.outputs))
        arrays = [np.ascontiguousarray(a) for a in (x, u, p)] + [dx, y]
        pointer = ctypes.POINTER(ctypes.c_double)
        self.system.pointer.ctypes(0.0, *[a.ctypes.data_as(pointer) for a in arrays])
        return dx, y

    def _check_direct(self) -> None:
        """An input that is not declared direct must leave the outputs alone."""
        values = np.array([p.value for p in self.parameters])
        for x, u in ((self.system.initial, np.zeros(len(self.inputs))), *self.points):
            for j, port in enumerate(self.inputs):
                moved = u.copy()
                moved[j] += 1.0
                y, other = self._evaluate(x, u, values)[1], self._evaluate(x, moved, values)[1]
                if port.name not in self.direct and not np.array_equal(y, other):
                    changed = self.outputs[int(np.flatnonzero(y != other)[0])].name
                    raise ConfigError(
                        f"direct of {self.of} must name input '{port.name}', because output '{changed}' follows it "
                        "within the same instant."
                    )

    def _description(self) -> dict[str, Any]:
        source = code_hash(self.system.function)
        return {"source": source, "initial": self.initial().tolist(), "substeps": self.substeps}
