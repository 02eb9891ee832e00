"""Substructures given by ordinary differential equations."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mor.code_hash import code_hash
from mor.ode import OdeSystem, compile_jacobian
from mor.stability import largest_rk4_step
from mor.substructure import Substructure, check_step
from rt_runtime import Ode, Rosenbrock
from rt_runtime._core import Block
from rt_runtime.checks import Floats, finite_array, one_of, positive, whole
from rt_runtime.errors import ConfigError


class OdeSubstructure(Substructure):
    """A compiled ODE (`@ode`), integrated with `substeps` in each tick.

    method: "rk4" (classical Runge-Kutta, explicit) or "rosenbrock" (ROS2, linearly implicit, for stiff models;
    `jacobian` is a function (t, x, u, p, J) that writes J[i, j] = df_i/dx_j, without it finite differences are taken).
    `direct` names the inputs an output follows within the same instant (default: all). `points` are (x, u) at which
    the model is stiffest; there and at the initial state a step of RK4 is checked against its stability limit. `sizes`
    gives the typical size of states for finite differences (default: the largest at the points, 1 where all are zero).
    `initial` may be a function of {parameter: value} that returns the initial state.
    """

    kind = "ode"

    def __init__(
        self,
        system: OdeSystem,
        *,
        name: str | None = None,
        method: str = "rk4",
        substeps: int = 1,
        jacobian: Callable[..., None] | None = None,
        direct: Sequence[str] | None = None,
        points: Sequence[tuple[ArrayLike, ArrayLike]] = (),
        sizes: Mapping[str, float] | None = None,
        initial: Callable[[Mapping[str, float]], ArrayLike] | None = None,
    ) -> None:
        self._declare(name or system.name, system.inputs, system.outputs, system.parameters, direct)
        self.system = system
        self.method = one_of(method, "method", self.of, ("rk4", "rosenbrock"))
        self.substeps = whole(substeps, "substeps", self.of, 1)
        self._initial = initial
        n, m = len(system.states), len(system.inputs)
        self.points = tuple(
            (finite_array(x, "x of points", self.of, (n,)), finite_array(u, "u of points", self.of, (m,)))
            for x, u in points
        )
        names = [state.name for state in system.states]
        self._sizes = {name: positive(size, f"size of '{name}'", self.of) for name, size in (sizes or {}).items()}
        unknown = [name for name in self._sizes if name not in names]
        if unknown:
            raise ConfigError(f"sizes of {self.of} names '{unknown[0]}', which must be one of its states {names}.")
        self._check_direct()
        self._slope = None
        if jacobian is not None:
            self._slope = compile_jacobian(jacobian, self.of, (n, m, len(system.parameters)))
            self._check_jacobian(self._slope)

    def integrated_by(self, method: str, substeps: int = 1) -> OdeSubstructure:
        """Return a copy with another method and number of sub-steps."""
        twin = copy.copy(self)
        twin.method = one_of(method, "method", self.of, ("rk4", "rosenbrock"))
        twin.substeps = whole(substeps, "substeps", self.of, 1)
        return twin

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
        address, n_in, n_out = self.system.address, len(self.inputs), len(self.outputs)
        start, numbers, owner = self.initial(values), list(values.values()), (self.system.pointer, self._slope)
        if self.method == "rk4":
            check_step(self.of, dt, self.substeps, self.largest_step(values))
            return Ode(
                address,
                n_in=n_in,
                n_out=n_out,
                initial=start,
                parameters=numbers,
                dt=dt,
                substeps=self.substeps,
                hold=hold,
                update=update,
                owner=owner,
            )
        return Rosenbrock(
            address,
            jacobian=0 if self._slope is None else int(self._slope.address),
            n_in=n_in,
            n_out=n_out,
            initial=start,
            scales=self._state_sizes(),
            parameters=numbers,
            dt=dt,
            substeps=self.substeps,
            hold=hold,
            update=update,
            owner=owner,
        )

    def _state_sizes(self) -> Floats:
        largest = np.abs(np.array([self.system.initial, *[x for x, _ in self.points]])).max(axis=0)
        return np.array(
            [
                self._sizes.get(state.name, size if size > 0 else 1.0)
                for state, size in zip(self.system.states, largest, strict=True)
            ]
        )

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

    def _check_jacobian(self, compiled: Any) -> None:
        """A given Jacobian must agree with finite differences at the points, in units of the states' typical sizes."""
        size, values = self._state_sizes(), np.array([p.value for p in self.parameters])
        pointer = ctypes.POINTER(ctypes.c_double)
        for x, u in ((self.initial(), np.zeros(len(self.inputs))), *self.points):
            given = np.zeros((len(x), len(x)))
            arrays = [np.ascontiguousarray(a) for a in (x, u, values)] + [given]
            compiled.ctypes(0.0, *[a.ctypes.data_as(pointer) for a in arrays])
            numeric = self.jacobian(x, u)
            error = np.abs(given - numeric) * size / size[:, None]
            allowed = 1e-4 * np.abs(numeric * size / size[:, None]).max(axis=1, keepdims=True) + 1e-9
            if (error > allowed).any():
                i, j = np.argwhere(error > allowed)[0]
                names = [state.name for state in self.system.states]
                raise ConfigError(
                    f"Jacobian of {self.of} must be the derivative of its right-hand side, but row '{names[i]}', "
                    f"column '{names[j]}' is {given[i, j]:g} where finite differences give {numeric[i, j]:g}."
                )

    def _description(self) -> dict[str, Any]:
        source = code_hash(self.system.function)
        method = {"method": self.method, "substeps": self.substeps}
        return {"source": source, "initial": self.initial().tolist()} | method
