"""Write a right-hand side in Python, run it in the C++ loop: `@ode` compiles it to a C function pointer."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mor.generated_code import check_safe_in_the_loop
from mor.ports import Parameter, Port, as_ports, check_name
from rt_runtime import Ode
from rt_runtime.checks import Floats, finite_array
from rt_runtime.errors import ConfigError

ARGUMENTS = ("t", "x", "u", "p", "dx", "y")
Rhs = Callable[[float, Floats, Floats, Floats, Floats, Floats], None]


@dataclass(frozen=True)
class OdeSystem:
    """A compiled system dx/dt = f(t, x, u, p), y = g(t, x, u, p) with named states, inputs, outputs and parameters.

    `ode` makes it. `function` is the Python text, `compiled` the numba function, `address` the C function pointer
    `void f(double t, const double *x, const double *u, const double *p, double *dx, double *y)`.
    """

    name: str
    states: tuple[Port, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    parameters: tuple[Parameter, ...]
    initial: Floats
    function: Rhs = field(repr=False)
    compiled: Rhs = field(repr=False)
    pointer: Any = field(repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as Python text and compile again on arrival: another machine has other addresses."""
        ports = (self.states, self.inputs, self.outputs, self.parameters)
        return _arrive, (self.name, *ports, self.initial, self.function)

    @property
    def address(self) -> int:
        """Where the C function is; valid as long as this object lives."""
        return int(self.pointer.address)

    def parameter_values(self, parameters: Mapping[str, float] | None = None) -> Floats:
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
        initial: Sequence[float] | Floats | None = None,
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
            parameters=self.parameter_values(parameters),
            dt=dt,
            substeps=substeps,
            hold=hold,
            update=update,
            owner=self.pointer,
        )

    def evaluate(
        self, t: float, x: Sequence[float], u: Sequence[float] = (), parameters: Mapping[str, float] | None = None
    ) -> tuple[Floats, Floats]:
        """Return (dx/dt, y) at one point."""
        of = f"ode '{self.name}'"
        state = finite_array(x, "x", of, (len(self.states),))
        inputs = finite_array(u, "u", of, (len(self.inputs),))
        dx, y = np.zeros(len(self.states)), np.zeros(len(self.outputs))
        self.compiled(t, state, inputs, self.parameter_values(parameters), dx, y)
        return dx, y


def ode(
    *,
    states: Mapping[str, str] | Sequence[Port | str],
    inputs: Mapping[str, str] | Sequence[Port | str] = (),
    outputs: Mapping[str, str] | Sequence[Port | str],
    parameters: Mapping[str, Any] | Sequence[Parameter] = (),
    initial: Mapping[str, float] | None = None,
    name: str | None = None,
) -> Callable[[Rhs], OdeSystem]:
    """Compile `f(t, x, u, p, dx, y)` to a function that the C++ loop calls without entering the interpreter.

    The function reads the arrays x, u, p by index and writes every element of dx and y. Ports are {name: unit};
    a parameter is (value, unit), (value, unit, lower, upper) or a `Parameter`. `initial` names states that do not
    start at zero. What would allocate, raise or call the interpreter is refused here, with the line where it stands.

    >>> from mor import ode
    >>> @ode(states={"x": "m", "v": "m/s"}, inputs={"force": "N"}, outputs={"x": "m"},
    ...      parameters={"k": (100.0, "N/m"), "m": (2.0, "kg")})
    ... def oscillator(t, x, u, p, dx, y):
    ...     k, m = p[0], p[1]
    ...     dx[0] = x[1]
    ...     dx[1] = (u[0] - k * x[0]) / m
    ...     y[0] = x[0]
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
        sizes = (len(state_ports), len(input_ports), len(numbers), len(output_ports))
        compiled, pointer = _compile(function, of, sizes)
        return OdeSystem(label, state_ports, input_ports, output_ports, numbers, start, function, compiled, pointer)

    return compile_it


def _arrive(
    name: str,
    states: tuple[Port, ...],
    inputs: tuple[Port, ...],
    outputs: tuple[Port, ...],
    parameters: tuple[Parameter, ...],
    initial: Floats,
    function: Rhs,
) -> OdeSystem:
    start = {state.name: float(value) for state, value in zip(states, initial, strict=True)}
    make = ode(states=states, inputs=inputs, outputs=outputs, parameters=parameters, initial=start, name=name)
    return make(function)


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


def _initial(values: Mapping[str, float], states: tuple[Port, ...], of: str) -> Floats:
    names = [state.name for state in states]
    for name in values:
        if name not in names:
            raise ConfigError(f"initial of {of} names '{name}', which must be one of its states {', '.join(names)}.")
    return finite_array([values.get(name, 0.0) for name in names], "initial", of, (len(names),))


def _compile(
    function: Rhs, of: str, sizes: tuple[int, int, int, int], *, written: Callable[..., None] | None = None
) -> tuple[Rhs, Any]:
    """Compile with numba; sizes are those of x, u, p, y; `written` is what the user wrote, if not `function` itself."""
    import inspect

    import numba
    from numba import carray, types

    given = tuple(inspect.signature(function).parameters)
    if len(given) != len(ARGUMENTS):
        raise ConfigError(f"Function of {of} must take ({', '.join(ARGUMENTS)}), got ({', '.join(given)}).")
    n_x, n_u, n_p, n_y = sizes
    inner = numba.njit(error_model="numpy", forceinline=True)(function)
    pointers = [types.CPointer(types.float64)] * 5

    def entry(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
        inner(t, carray(x, (n_x,)), carray(u, (n_u,)), carray(p, (n_p,)), carray(dx, (n_x,)), carray(y, (n_y,)))

    try:
        pointer = numba.cfunc(types.void(types.float64, *pointers), error_model="numpy")(entry)
    except Exception as error:  # numba reports some mistakes by its own errors, some by whatever came up on the way
        raise ConfigError(_sentence(of, written or function, str(error))) from None
    check_safe_in_the_loop(pointer.inspect_llvm(), of)
    return inner, pointer


def compile_static(function: Callable[[Floats, Floats, Floats], None], of: str, sizes: tuple[int, int, int]) -> Any:
    """Compile `function(u, p, y)` to the C function pointer of a system without states; sizes are those of u, p, y."""
    import inspect

    import numba

    given = tuple(inspect.signature(function).parameters)
    if len(given) != 3:
        raise ConfigError(f"Function of {of} must take (u, p, y), got ({', '.join(given)}).")
    inner = numba.njit(error_model="numpy", forceinline=True)(function)

    def rhs(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
        inner(u, p, y)

    n_u, n_p, n_y = sizes
    return _compile(rhs, of, (0, n_u, n_p, n_y), written=function)[1]


def compile_jacobian(function: Callable[..., None], of: str, sizes: tuple[int, int, int]) -> Any:
    """Compile `function(t, x, u, p, J)`, which writes J[i, j] = df_i/dx_j; sizes are those of x, u, p."""
    import inspect

    import numba

    given = tuple(inspect.signature(function).parameters)
    if len(given) != 5:
        raise ConfigError(f"Jacobian of {of} must take (t, x, u, p, J), got ({', '.join(given)}).")
    n_x, n_u, n_p = sizes
    inner = numba.njit(error_model="numpy", forceinline=True)(function)
    pointers = [numba.types.CPointer(numba.types.float64)] * 4

    def entry(t, x, u, p, J):  # type: ignore[no-untyped-def]
        inner(
            t,
            numba.carray(x, (n_x,)),
            numba.carray(u, (n_u,)),
            numba.carray(p, (n_p,)),
            numba.carray(J, (n_x, n_x)),
        )

    try:
        pointer = numba.cfunc(numba.types.void(numba.types.float64, *pointers), error_model="numpy")(entry)
    except Exception as error:  # as in _compile
        raise ConfigError(_sentence(of, function, str(error))) from None
    check_safe_in_the_loop(pointer.inspect_llvm(), of)
    return pointer


def _sentence(of: str, function: Callable[..., None], text: str) -> str:
    """Make one sentence of numba's report: the line of the user's file and the reason."""
    code = function.__code__
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    named = re.findall(r" at (\S+) \((\d+)\)", plain) + re.findall(r'File "([^"]+)", line (\d+)', plain)
    own = {line for *_, line in code.co_lines()}
    lines = [int(n) for file, n in named if os.path.abspath(file) == code.co_filename and int(n) in own]
    where = f" at line {lines[0]} of {code.co_filename}" if lines else ""
    reasons = [line.strip() for line in plain.splitlines() if line.strip()]
    skip = ("Failed in nopython", "During: ", "File ", "-", "Invalid use of", "There are")
    reason = next((r for r in reasons if not r.startswith(skip) and " " in r), reasons[0] if reasons else "unknown")
    call = r"Function\(<(?:built-in )?function (\w+)[^>]*>\) found for signature:"
    reason = re.sub(call, r"'\1' for these types", reason)
    return (
        f"Function of {of} must compile{where}, got: {reason.rstrip('.')}; use scalars, loops, math functions and "
        "element assignments."
    )
