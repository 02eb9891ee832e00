"""Write a right-hand side in Python, run it in the C++ loop: `@ode` compiles it to a C function pointer."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mor.compile.cfunc import Rhs, compile_rhs
from mor.compile.dry_run import dry_run
from mor.compile.held import Held
from mor.data.ports import Parameter, Port, as_ports, check_name
from rt_runtime import Ode
from rt_runtime.checks import Array, finite_array
from rt_runtime.errors import ConfigError

Derived = Callable[[Mapping[str, float]], Mapping[str, float]]


@dataclass(frozen=True)
class OdeSystem:
    """A compiled system dx/dt = f(t, x, u, p), y = g(t, x, u, p) with named states, inputs, outputs and parameters.

    `ode` makes it. `function` is the Python text, `compiled` the numba function, `address` the C function pointer
    `void f(double t, const double *x, const double *u, const double *p, double *dx, double *y)`, `outputs_address` that
    of its outputs alone, `void g(double t, const double *x, const double *u, const double *p, double *y)`.

    Parameters
    ----------
    name
        Name of the system.
    initial
        Initial state (n_states,).
    outputs_pointer
        Compiled function of the outputs alone, which has `outputs_address`.
    derived
        What is computed once from the parameters, if anything.
    held, held_pointer
        What is computed from the inputs while they are held, if anything, and its compiled function.
    """

    name: str
    states: tuple[Port, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    parameters: tuple[Parameter, ...]
    initial: Array
    function: Rhs = field(repr=False)
    compiled: Rhs = field(repr=False, compare=False)
    pointer: Any = field(repr=False, compare=False)
    outputs_pointer: Any = field(repr=False, compare=False)
    derived: Derived | None = field(default=None, repr=False)
    held: Held | None = field(default=None, repr=False)
    held_pointer: Any = field(default=None, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as Python text and compile again on arrival: another machine has other addresses."""
        ports = (self.states, self.inputs, self.outputs, self.parameters)
        return _arrive, (self.name, *ports, self.initial, self.function, self.derived, self.held)

    @property
    def address(self) -> int:
        """Where the C function is; valid as long as this object lives."""
        return int(self.pointer.address)

    @property
    def outputs_address(self) -> int:
        """Where the C function of the outputs alone is; valid as long as this object lives."""
        return int(self.outputs_pointer.address)

    def held_arguments(self) -> dict[str, int]:
        """Return what an integrator of the runtime takes as `held` and `n_held`."""
        if self.held is None:
            return {}
        return {"held": int(self.held_pointer.address), "n_held": len(self.held.names)}

    @property
    def owners(self) -> tuple[Any, ...]:
        """What the addresses live in."""
        return self.pointer, self.outputs_pointer, self.held_pointer

    def read(self, u: Array, p: Array) -> Array:
        """Return what the function reads as u: the inputs and what is held behind them; p as of `numbers`."""
        if self.held is None:
            return u
        given = np.ascontiguousarray(np.concatenate([u, np.full(len(self.held.names), np.nan)]))
        p = np.ascontiguousarray(p)
        pointer = ctypes.POINTER(ctypes.c_double)
        made = given[len(u) :]
        u_, p_, h_ = (a.ctypes.data_as(pointer) for a in (given, p, made))
        self.held_pointer.ctypes(0.0, None, u_, p_, None, h_)
        return given

    def numbers(self, values: Sequence[float] | Array) -> Array:
        """Return what the function reads as p: the values of all parameters and what is derived from them."""
        return _numbers(self.parameters, values, self.derived, f"ode '{self.name}'")

    def parameter_values(self, parameters: Mapping[str, float] | None = None) -> Array:
        """Return all parameters in order, the defaults replaced by the named values after a check of their range."""
        given = dict(parameters or {})
        values = []
        for default in self.parameters:
            value = float(given.pop(default.name, default.value))
            values.append(Parameter(default.name, value, default.unit, default.lower, default.upper).value)
        if given:
            known = ", ".join(parameter.name for parameter in self.parameters) or "none"
            raise ConfigError(f"Parameter '{next(iter(given))}' of ode '{self.name}' is unknown; it has {known}.")
        return np.array(values)

    def block(
        self,
        *,
        dt: float,
        parameters: Mapping[str, float] | None = None,
        initial: Sequence[float] | Array | None = None,
        substeps: int = 1,
        hold: str = "zoh",
        update: str = "end",
    ) -> Ode:
        """Make a block of the loop: RK4 with `substeps` per `dt` seconds; `hold` and `update` as in rt_runtime.Ode."""
        start = self.initial if initial is None else initial
        return Ode(
            self.address,
            n_in=len(self.inputs),
            n_out=len(self.outputs),
            initial=finite_array(start, "initial", f"ode '{self.name}'", (len(self.states),)),
            parameters=self.numbers(self.parameter_values(parameters)),
            outputs=self.outputs_address,
            **self.held_arguments(),
            dt=dt,
            substeps=substeps,
            hold=hold,
            update=update,
            owner=self.owners,
        )

    def evaluate(
        self, t: float, x: Sequence[float], u: Sequence[float] = (), parameters: Mapping[str, float] | None = None
    ) -> tuple[Array, Array]:
        """Return (dx/dt, y) at one point."""
        of = f"ode '{self.name}'"
        state = finite_array(x, "x", of, (len(self.states),))
        inputs = finite_array(u, "u", of, (len(self.inputs),))
        dx, y = np.zeros(len(self.states)), np.zeros(len(self.outputs))
        p = self.numbers(self.parameter_values(parameters))
        self.compiled(t, state, self.read(inputs, p), p, dx, y)
        return dx, y


def ode(
    *,
    states: Mapping[str, str] | Sequence[Port | str],
    inputs: Mapping[str, str] | Sequence[Port | str] = (),
    outputs: Mapping[str, str] | Sequence[Port | str],
    parameters: Mapping[str, Any] | Sequence[Parameter] = (),
    initial: Mapping[str, float] | None = None,
    derived: Derived | None = None,
    held: Held | None = None,
    name: str | None = None,
) -> Callable[[Rhs], OdeSystem]:
    """Compile `f(t, x, u, p, dx, y)` to a function that the C++ loop calls without entering the interpreter.

    The function reads the arrays x, u, p and writes every element of dx and y, by name (`u.force`) or index (`u[0]`).
    What would allocate, raise, call the interpreter or leave an array is refused here, with the line where it is.

    Parameters
    ----------
    states, inputs, outputs
        Ports {name: unit}.
    parameters
        {name: (value, unit)}, {name: (value, unit, lower, upper)} or `Parameter` objects.
    initial
        {state: value} of the states that do not start at zero.
    derived
        Makes constants {name: number} of {parameter: value} once before a run; they stand behind the parameters in p.
    held
        What depends on inputs and parameters alone and is computed once while the inputs are held, see `Held`; it
        stands behind the inputs in u.
    name
        Default: that of the function.

    Returns
    -------
    A decorator that turns the function into an `OdeSystem`.

    Examples
    --------

    >>> from mor import ode
    >>> @ode(states={"x": "m", "v": "m/s"}, inputs={"force": "N"}, outputs={"x": "m"},
    ...      parameters={"k": (100.0, "N/m"), "m": (2.0, "kg")})
    ... def oscillator(t, x, u, p, dx, y):
    ...     dx.x = x.v
    ...     dx.v = (u.force - p.k * x.x) / p.m
    ...     y.x = x.x
    >>> oscillator.evaluate(0.0, [0.1, 0.0], [20.0])
    (array([0., 5.]), array([0.1]))
    """

    def compile_it(function: Rhs) -> OdeSystem:
        label = check_name(name or getattr(function, "__name__", ""), "an ode")
        of = f"ode '{label}'"
        state_ports = as_ports(states, f"states of {of}")
        if not state_ports:
            raise ConfigError(f"states of {of} must name at least one state, got none.")
        input_ports = as_ports(inputs, f"inputs of {of}")
        output_ports = as_ports(outputs, f"outputs of {of}")
        numbers = as_parameters(parameters, of)
        start = _initial(initial or {}, state_ports, of)
        names = parameter_names(numbers, derived)
        read = (*input_ports, *(held.ports(input_ports, of) if held else ()))
        named = (_names(state_ports), _names(read), names, _names(output_ports))
        made = compile_rhs(function, of, named)

        def p_of(values: Sequence[float]) -> Array:
            return _numbers(numbers, values, derived, of)

        shown = (state_ports, read, output_ports)
        dry_run(made.checked, of, shown, start, numbers, p_of, made.computed_at, made.key)
        behind = held.compiled(of, input_ports, numbers, names, p_of) if held else None
        ports = (state_ports, input_ports, output_ports, numbers)
        compiled = (made.function, made.pointer, made.outputs_pointer)
        return OdeSystem(label, *ports, start, function, *compiled, derived, held, behind)

    return compile_it


def _arrive(
    name: str,
    states: tuple[Port, ...],
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    parameters: tuple[Parameter, ...],
    initial: Array,
    function: Rhs,
    derived: Derived | None,
    held: Held | None,
) -> OdeSystem:
    start = {state.name: float(value) for state, value in zip(states, initial, strict=True)}
    make = ode(
        states=states, inputs=inputs, outputs=outputs, parameters=parameters, initial=start, derived=derived, held=held,
        name=name,
    )  # fmt: skip
    return make(function)


def _names(ports: Sequence[Port | Parameter]) -> tuple[str, ...]:
    return tuple(port.name for port in ports)


def parameter_names(parameters: Sequence[Parameter], derived: Derived | None) -> tuple[str, ...]:
    """Return the names of what a function reads as p: of the parameters, then of what is derived from them."""
    behind = derived({p.name: p.value for p in parameters}) if derived is not None else {}
    return (*_names(parameters), *behind)


def _numbers(
    parameters: Sequence[Parameter], values: Sequence[float] | Array, derived: Derived | None, of: str
) -> Array:
    given = [float(value) for value in values]
    if derived is None:
        return np.array(given)
    made = derived({p.name: value for p, value in zip(parameters, given, strict=True)})
    usual = derived({p.name: p.value for p in parameters})  # the compiled function reads as many places, in this order
    if list(made) != list(usual):
        raise ConfigError(
            f"derived of {of} must give {', '.join(usual)} for all parameters, in this order, got {', '.join(made)}."
        )
    return finite_array([*given, *made.values()], "derived", of, (None,))


def as_parameters(spec: Mapping[str, Any] | Sequence[Parameter], of: str) -> tuple[Parameter, ...]:
    """Turn {name: (value, unit[, lower, upper]) or value or Parameter} into parameters."""
    if not isinstance(spec, Mapping):
        found = tuple(spec)
    else:
        found = ()
        for name, entry in spec.items():
            values = entry if isinstance(entry, tuple | list) else (entry,)
            try:
                found += (entry if isinstance(entry, Parameter) else Parameter(name, *values),)
            except TypeError:
                raise ConfigError(
                    f"Parameter '{name}' of {of} must be (value, unit) or (value, unit, lower, upper), got {entry!r}."
                ) from None
    as_ports([parameter.name for parameter in found], f"parameters of {of}")
    return found


def _initial(values: Mapping[str, float], states: tuple[Port, ...], of: str) -> Array:
    names = [state.name for state in states]
    for name in values:
        if name not in names:
            raise ConfigError(f"initial of {of} names '{name}', which must be one of its states {', '.join(names)}.")
    return finite_array([values.get(name, 0.0) for name in names], "initial", of, (len(names),))
