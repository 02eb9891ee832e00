"""Substructures given by ordinary differential equations."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mor.code_hash import code_hash
from mor.compiled import compile_jacobian
from mor.ode import OdeSystem
from mor.stability import largest_ab2_step, largest_rk4_step
from mor.substructure import Reading, Substructure, check_step
from rt_runtime import AdamsBashforth, Ode, Rosenbrock
from rt_runtime._core import Block
from rt_runtime.checks import Floats, finite_array, one_of, positive, whole
from rt_runtime.errors import ConfigError

METHODS = ("rk4", "ab2", "rosenbrock")


class OdeSubstructure(Substructure):
    """A compiled ODE (`@ode`), integrated with `substeps` in each tick.

    method: "rk4" (classical Runge-Kutta, explicit), "ab2" (two-step Adams-Bashforth, explicit, a quarter of the work of
    RK4, for models that are far from stiff) or "rosenbrock" (ROS2, linearly implicit, for stiff models;
    `jacobian` is a function (t, x, u, p, J) that writes J[i, j] = df_i/dx_j, without it finite differences are taken).
    `direct` names the inputs an output follows within the same instant (default: all). `points` are (x, u) at which the
    model is stiffest; there and at the initial state an explicit step is checked against its stability limit. `sizes`
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
        self.method = one_of(method, "method", self.of, METHODS)
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
            n_p = len(self._numbers(p.value for p in self.parameters))
            self._slope = compile_jacobian(jacobian, self.of, (n, m, n_p))
            self._check_jacobian(self._slope)

    def integrated_by(self, method: str, substeps: int = 1) -> OdeSubstructure:
        """Return a copy with another method and number of sub-steps."""
        twin = copy.copy(self)
        twin.method = one_of(method, "method", self.of, METHODS)
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
        """Return the largest step in s of AB2, if that is the method, else of RK4, stable at the start and `points`."""
        start = (self.initial(parameters), np.zeros(len(self.inputs)))
        largest = largest_ab2_step if self.method == "ab2" else largest_rk4_step
        return min(largest(self.jacobian(x, u, parameters)) for x, u in (start, *self.points))

    def _block(self, dt: float, values: dict[str, float], reading: Reading) -> Block:
        system, slope = self.system, self._slope
        common: dict[str, Any] = {
            "n_in": len(self.inputs),
            "n_out": len(self.outputs),
            "initial": self.initial(values),
            "parameters": self._numbers(values.values()),
            "outputs": system.outputs_address,
            "dt": dt,
            "substeps": self.substeps,
            "hold": reading.hold,
            "update": reading.update,
            "owner": (system.pointer, system.outputs_pointer, slope),
        }
        if self.method == "rosenbrock":
            given = 0 if slope is None else int(slope.address)
            return Rosenbrock(system.address, jacobian=given, scales=self._state_sizes(), **common)
        check_step(self.of, dt, self.substeps, self.largest_step(values), self.method)
        if self.method == "rk4":
            return Ode(system.address, **common)
        fresh = [i for i, port in enumerate(self.inputs) if port.name in reading.fresh]
        return AdamsBashforth(system.address, fresh=fresh, **common)

    def _numbers(self, values: Iterable[float]) -> Floats:
        """What the C functions read as p: parameters in order and what the system derives from them."""
        return self.system.numbers(list(values))

    def _state_sizes(self) -> Floats:
        largest = np.abs(np.array([self.system.initial, *[x for x, _ in self.points]])).max(axis=0)
        return np.array(
            [
                self._sizes.get(state.name, size if size > 0 else 1.0)
                for state, size in zip(self.system.states, largest, strict=True)
            ]
        )

    def _evaluate(self, x: Floats, u: Floats, p: Floats) -> tuple[Floats, Floats]:
        """Call the C function at t = 0 with the parameters p; return (dx/dt, y)."""
        dx, y = np.zeros(len(x)), np.zeros(len(self.outputs))
        arrays = [np.ascontiguousarray(a) for a in (x, u, self._numbers(p))] + [dx, y]
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
        size, values = self._state_sizes(), self._numbers(p.value for p in self.parameters)
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
        function, derived = self.system.function, self.system.derived
        source = code_hash(function) if derived is None else code_hash(function, derived)
        method = {"method": self.method, "substeps": self.substeps}
        return {"source": source, "initial": self.initial().tolist()} | method
