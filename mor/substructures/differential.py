"""Substructures given by ordinary differential equations."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mor.compile.cfunc import compile_jacobian, states_pointer
from mor.compile.code_hash import code_hash
from mor.compile.ode import OdeSystem, parameter_names
from mor.dynamics.stability import largest_ab2_step, largest_rk4_step
from mor.substructures.base import InputTiming, Substructure, check_step
from mor.substructures.step_halving import (
    LONGEST,
    TOLERANCE,
    StepLimit,
    Trial,
    corner_runs,
    excerpts,
    halving_error,
    largest_step_by_halving,
)
from rt_runtime import AdamsBashforth, Ode, Rosenbrock
from rt_runtime._core import Block
from rt_runtime.checks import Array, finite_array, one_of, positive, whole
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
    `initial` may be a function of {parameter: value} that returns the initial state. `ranges` is the operating range
    {input: (lower, upper)}: an explicit step is then also tried out over it, see `step_limit`.

    Parameters
    ----------
    system
        What `@ode` made.
    name
        Name of the part; that of the function by default.
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
        ranges: Mapping[str, tuple[float, float]] | None = None,
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
        self.ranges = self._checked_ranges(ranges or {})
        self._check_direct()
        self._slope = None
        if jacobian is not None:
            read = (*(port.name for port in system.inputs), *(system.held.names if system.held else ()))
            p_names = parameter_names(system.parameters, system.derived)
            self._slope = compile_jacobian(jacobian, self.of, (tuple(names), read, p_names))
            self._check_jacobian(self._slope)

    def integrated_by(self, method: str, substeps: int = 1) -> OdeSubstructure:
        """Return a copy with another method and number of sub-steps."""
        twin = copy.copy(self)
        twin.method = one_of(method, "method", self.of, METHODS)
        twin.substeps = whole(substeps, "substeps", self.of, 1)
        return twin

    def initial(self, parameters: Mapping[str, float] | None = None) -> Array:
        """Return the initial state for the named parameters."""
        if self._initial is None:
            return self.system.initial
        start = self._initial(self.parameter_values(parameters))
        return finite_array(start, "initial", self.of, (len(self.system.states),))

    def jacobian(self, x: ArrayLike, u: ArrayLike, parameters: Mapping[str, float] | None = None) -> Array:
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
        """Return the largest step in s of AB2, if that is the method, else of RK4; see `step_limit`."""
        return self.step_limit(parameters).step

    def step_limit(self, parameters: Mapping[str, float] | None = None) -> StepLimit:
        """Return the largest step in s of AB2, if that is the method, else of RK4, and how it was found.

        The linearisation at the start and at `points` bounds the step by stability. Where it says nothing, as of a
        hysteretic element, which is at rest there, and where `ranges` are given, the step is halved over the operating
        range until that changes no state by more than a tenth of its range. Without `ranges` each input is taken from
        -1 to 1 of its unit.
        """
        values = self.parameter_values(parameters)
        linear = self._linear_limit(values)
        at = f"stable at the start and {len(self.points)} points" if self.points else "stable at the start"
        if np.isfinite(linear) and not self.ranges:
            return StepLimit(linear, f"{at}, by linearisation")
        lower, upper = np.array([self.ranges.get(port.name, (-1.0, 1.0)) for port in self.inputs]).reshape(-1, 2).T
        found = largest_step_by_halving(self._trial(values), corner_runs(lower, upper))
        over = ", ".join(
            f"{port.name} {a:g} to {b:g} {port.unit}".rstrip() + ("" if port.name in self.ranges else " (assumed)")
            for port, a, b in zip(self.inputs, lower, upper, strict=True)
        )
        says = "the linearisation says nothing" if np.isinf(linear) else f"{at} up to {linear:.4g} s"
        tried = f"{says}; halving a longer step changes a state by more than {TOLERANCE:.0%} of its range"
        if np.isinf(found):
            tried = f"{says}; halving steps of up to {LONGEST:g} s changes no state"
        return StepLimit(min(linear, found), f"{tried}, over {over or 'no inputs'}")

    def _linear_limit(self, values: Mapping[str, float]) -> float:
        start = (self.initial(values), np.zeros(len(self.inputs)))
        largest = largest_ab2_step if self.method == "ab2" else largest_rk4_step
        return min(largest(self.jacobian(x, u, values)) for x, u in (start, *self.points))

    @property
    def step_is_unknown(self) -> bool:
        """Whether neither the linearisation nor `ranges` tell how long a step may be before the inputs are known."""
        return self.method != "rosenbrock" and not self.ranges and self._linearisation_is_silent

    @cached_property
    def _linearisation_is_silent(self) -> bool:
        """Whether steps matter though the linearisation bounds none; looked at once, with the default parameters."""
        values = self.parameter_values()
        if np.isfinite(self._linear_limit(values)):
            return False
        one = np.ones(len(self.inputs))
        return halving_error(self._trial(values), corner_runs(-one, one), LONGEST)[0] > 1e-9

    def _trial(self, values: dict[str, float]) -> Trial:
        n, states = len(self.system.states), states_pointer(len(self.system.states))

        def make(dt: float, substeps: int) -> Block:
            twin = self.integrated_by(self.method, substeps)
            shown = {"n_out": max(n, len(self.outputs)), "outputs": int(states.address)}
            return twin._make(dt, values, InputTiming("start"), shown)

        return Trial(make, n)

    def check_inputs(self, rows: Array, *, dt: float, parameters: Mapping[str, float] | None = None) -> None:
        """Refuse a step that must be halved where the inputs are largest, if the linearisation says nothing."""
        if self.step_is_unknown:
            values = self.parameter_values(parameters)
            self._check_halving(dt, values, excerpts(rows), "where its inputs are largest")

    def _simulate(self, rows: Array, dt: float, values: dict[str, float], hold: str, every: int) -> Array:
        self.check_inputs(rows, dt=dt, parameters=values)
        return super()._simulate(rows, dt, values, hold, every)

    def _check_halving(self, dt: float, values: dict[str, float], inputs: Sequence[Array], where: str) -> None:
        """Refuse a step that must be halved to get the states right; say how many sub-steps would do."""
        trial = self._trial(values)
        error, state = halving_error(trial, inputs, dt, self.substeps)
        if error <= TOLERANCE:
            return
        needed = next((n for n in (2**k * self.substeps for k in range(1, 11)) if _holds(trial, inputs, dt, n)), 0)
        advice = f"a smaller dt or {needed} sub-steps" if needed else "a smaller dt or method='rosenbrock'"
        size = f"by {error:.0%} of its range" if error < 10.0 else "without bound"
        raise ConfigError(
            f"dt of {self.of} must follow its motion, but halving the step of {dt / self.substeps:.4g} s changes "
            f"state '{self.system.states[state].name}' {size} {where}; take {advice}."
        )

    def _checked_ranges(self, ranges: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
        for name, given in ranges.items():
            one_of(name, "ranges", self.of, tuple(port.name for port in self.inputs))
            lower, upper = finite_array(given, f"range of '{name}'", self.of, (2,))
            if lower > upper:
                raise ConfigError(f"range of '{name}' of {self.of} must be (lower, upper), got ({lower:g}, {upper:g}).")
        return {name: (float(a), float(b)) for name, (a, b) in ranges.items()}

    def _block(self, dt: float, values: dict[str, float], reading: InputTiming) -> Block:
        if self.method != "rosenbrock":
            check_step(self.of, dt, self.substeps, self._linear_limit(values), self.method)
            if self.ranges:
                lower, upper = np.array([self.ranges.get(port.name, (0.0, 0.0)) for port in self.inputs]).T
                self._check_halving(dt, values, corner_runs(lower, upper), "over its ranges")
        return self._make(dt, values, reading, {})

    def _make(self, dt: float, values: dict[str, float], reading: InputTiming, other: Mapping[str, int]) -> Block:
        """Make the block without a check of the step; `other` replaces arguments."""
        system, slope = self.system, self._slope
        common: dict[str, Any] = {
            "n_in": len(self.inputs),
            "n_out": len(self.outputs),
            "initial": self.initial(values),
            "parameters": self._numbers(values.values()),
            "outputs": system.outputs_address,
            **system.held_arguments(),
            "dt": dt,
            "substeps": self.substeps,
            "hold": reading.hold,
            "update": reading.update,
            "owner": (*system.owners, slope),
        } | dict(other)
        if self.method == "rosenbrock":
            given = 0 if slope is None else int(slope.address)
            return Rosenbrock(system.address, jacobian=given, scales=self._state_sizes(), **common)
        if self.method == "rk4":
            return Ode(system.address, **common)
        fresh = [i for i, port in enumerate(self.inputs) if port.name in reading.fresh]
        return AdamsBashforth(system.address, fresh=fresh, **common)

    def _numbers(self, values: Iterable[float]) -> Array:
        """What the C functions read as p: parameters in order and what the system derives from them."""
        return self.system.numbers(list(values))

    def _state_sizes(self) -> Array:
        largest = np.abs(np.array([self.system.initial, *[x for x, _ in self.points]])).max(axis=0)
        return np.array(
            [
                self._sizes.get(state.name, size if size > 0 else 1.0)
                for state, size in zip(self.system.states, largest, strict=True)
            ]
        )

    def _evaluate(self, x: Array, u: Array, p: Array) -> tuple[Array, Array]:
        """Call the C function at t = 0 with the parameters p; return (dx/dt, y)."""
        dx, y = np.zeros(len(x)), np.zeros(len(self.outputs))
        numbers = self._numbers(p)
        arrays = [np.ascontiguousarray(a) for a in (x, self.system.read(u, numbers), numbers)] + [dx, y]
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
            arrays = [np.ascontiguousarray(a) for a in (x, self.system.read(u, values), values)] + [given]
            compiled.ctypes(0.0, *[a.ctypes.data_as(pointer) for a in arrays])
            numeric = self.jacobian(x, u)
            error = np.abs(given - numeric) * size / size[:, None]
            allowed = 1e-4 * np.abs(numeric * size / size[:, None]).max(axis=1, keepdims=True) + 1e-9
            if not (error <= allowed).all():
                i, j = np.argwhere(~(error <= allowed))[0]
                names = [state.name for state in self.system.states]
                raise ConfigError(
                    f"Jacobian of {self.of} must be the derivative of its right-hand side, but row '{names[i]}', "
                    f"column '{names[j]}' is {given[i, j]:g} where finite differences give {numeric[i, j]:g}."
                )

    def _description(self) -> dict[str, Any]:
        held = self.system.held.function if self.system.held else None
        sources = (self.system.function, self.system.derived, held)
        source = code_hash(*(each for each in sources if each is not None))
        method = {"method": self.method, "substeps": self.substeps}
        return {"source": source, "initial": self.initial().tolist()} | method


def _holds(trial: Trial, inputs: Sequence[Array], dt: float, substeps: int) -> bool:
    return halving_error(trial, inputs, dt, substeps)[0] <= TOLERANCE
