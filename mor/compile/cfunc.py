"""From functions in Python to C function pointers that the loop calls: compiled by numba, checked to be safe there."""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mor.compile import kept
from mor.compile.fingerprint import fingerprint
from mor.compile.llvm_check import check_safe_in_the_loop
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

if TYPE_CHECKING:
    from mor.compile.arrays import Arrays

ARGUMENTS = ("t", "x", "u", "p", "dx", "y")
IN_REGISTERS = 32
"""Up to so many derivatives and outputs are worth local arrays (measured on 9: 7 % faster, and on 101: 30 % slower)."""

Names = tuple[str, ...]
Entry = Callable[[Any], Callable[..., None]]
Rhs = Callable[[float, Array, Array, Array, Array, Array], None]


class Compiled(NamedTuple):
    """A compiled right-hand side; see `compile_rhs`."""

    function: Rhs
    checked: Rhs
    pointer: Any
    outputs_pointer: Any
    computed_at: str
    key: str | None


def compile_rhs(function: Rhs, of: str, names: tuple[Names, Names, Names, Names]) -> Compiled:
    """Compile `function(t, x, u, p, dx, y)`; names are those of the elements of x, u, p, y.

    Returns the numba function, its twin with bounds checks, the C function pointer, and that of the outputs alone,
    `g(t, x, u, p, y)`: the same text with nobody to read dx, so that the compiler leaves out what only dx needs; and
    the fingerprint under which they are kept for the next run, None when they are not.

    dx and y start as NaN, so that an element left unwritten stops the run. Short ones are local arrays, which the
    compiler keeps in registers, and whose NaN it drops wherever the function writes the element.
    """
    from numba import carray

    states, inputs, parameters, outputs = names
    arrays = {1: ("states", states), 2: ("inputs", inputs), 3: ("parameters", parameters)}
    written = {4: ("derivatives", states), 5: ("outputs", outputs)}
    n_x, n_u, n_p, n_y = (len(each) for each in names)
    rates, results, nans = _nan_array(n_x), _nan_array(n_y), _filled(0xFF)
    short = n_x + n_y <= IN_REGISTERS

    def whole(inner: Rhs) -> Callable[..., None]:
        def entry(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
            a = carray(rates() if short else nans(dx, n_x), (n_x,))
            b = carray(results() if short else nans(y, n_y), (n_y,))
            inner(t, carray(x, (n_x,)), carray(u, (n_u,)), carray(p, (n_p,)), a, b)
            if short:
                for i in range(n_x):
                    dx[i] = a[i]
                for i in range(n_y):
                    y[i] = b[i]

        return entry

    def only_outputs(inner: Rhs) -> Callable[..., None]:
        def entry(t, x, u, p, y):  # type: ignore[no-untyped-def]
            b = carray(results(), (n_y,))
            inner(t, carray(x, (n_x,)), carray(u, (n_u,)), carray(p, (n_p,)), carray(rates(), (n_x,)), b)
            for i in range(n_y):
                y[i] = b[i]

        return entry

    made = _Function(function, of, ARGUMENTS, arrays, written)
    pointer, outputs_pointer = made.pointers("rhs", (whole, 5), (only_outputs, 4))
    return Compiled(made.function, made.checked, pointer, outputs_pointer, made.computed_at, made.key)


class _Function:
    """A user's function on its way to C: with bounds checks, to prove it, and without, to run it.

    The compiler removes every bounds check that it can prove to hold (all constant indices, loops over ranges, clamped
    indices). When none is left, the function without checks is safe and runs. Otherwise it keeps those that are
    left: where one fails in the loop, the function ends and its results are NaN.
    """

    def __init__(
        self,
        function: Callable[..., None],
        of: str,
        arguments: tuple[str, ...],
        read: Mapping[int, tuple[str, Names]],
        written: Mapping[int, tuple[str, Names]],
        dimensions: int = 1,
        what: str = "Function",
    ) -> None:
        from mor.compile.arrays import Arrays, NamedArray

        given = tuple(inspect.signature(function).parameters)
        if len(given) != len(arguments):
            raise ConfigError(f"{what} of {of} must take ({', '.join(arguments)}), got ({', '.join(given)}).")
        self._function, self._of, self._what, self._written = function, of, what, len(written)
        self._arrays = {i: NamedArray(holds, names) for i, (holds, names) in read.items()}
        self._arrays |= {i: NamedArray(holds, names, True, dimensions) for i, (holds, names) in written.items()}
        self.found = Arrays(of, self._arrays, check_helpers=True)
        self.checked = self._numba(self.found, boundscheck=True)
        self._inner: Any = None
        self._guarded = False
        self.key: str | None = None

    @property
    def function(self) -> Any:
        """The numba function to call from elsewhere: without bounds checks where they are proven."""
        return self.checked if self._guarded else self._inner

    @property
    def computed_at(self) -> str:
        """Where indices are computed, as words."""
        lines = ", ".join(str(line) for line in sorted(self.found.computed_at))
        return f"; indices are computed in line {lines} of {self._function.__code__.co_filename}" if lines else ""

    def pointers(self, kind: str, *entries: tuple[Entry, int]) -> tuple[Any, ...]:
        """Return the C functions `entry(function)(t, *arrays)` of (entry, number of arrays), kept ones if there are."""
        names = [array.names for _, array in sorted(self._arrays.items())]
        self.key = fingerprint(self._function, names, f"{kind} {self._what}")
        found = kept.load(self.key)
        if found is None:
            made = [self._pointer(entry, arrays) for entry, arrays in entries]
            facts: dict[str, Any] = {"guarded": self._guarded, "checked": self._inner is self.checked}
            facts["computed_at"] = sorted(self.found.computed_at)
            found = kept.keep(self.key, made, [arrays for _, arrays in entries], facts)
            if found is None:
                self.key = None
                return tuple(made)
        if self._inner is None:
            self._guarded = found.facts["guarded"]
            self._inner = self.checked if found.facts["checked"] or self._guarded else self._unchecked()
            self.found.computed_at.update(found.facts["computed_at"])
        return found.machines

    def _pointer(self, entry: Entry, arrays: int) -> Any:
        """Compile `entry(function)(t, *arrays)` to a C function; the first time, prove or keep the bounds checks."""
        if self._inner is None:
            proof = self._compile(entry(self.checked), arrays)
            self._guarded = not _is_safe(proof, self._of)
            if not self._guarded and not self.found.loops:  # no check is left, and there is no loop to vectorise
                self._inner = self.checked
                return proof
            self._inner = self._unchecked()
            if self._guarded:
                check_safe_in_the_loop(self._compile(entry(self._inner), arrays).inspect_llvm(), self._of)
                self._inner = _nan_at_bounds(self.checked, self._written)
        made = self._compile(entry(self._inner), arrays)
        check_safe_in_the_loop(made.inspect_llvm(), self._of)
        return made

    def _unchecked(self) -> Any:
        return self._numba(replace(self.found, problems=[], computed_at=set(), check_helpers=False))

    def _numba(self, arrays: Arrays, **options: Any) -> Any:
        import numba

        from mor.compile.arrays import pipeline

        options = {"error_model": "numpy", "forceinline": True} | options
        return numba.njit(pipeline_class=pipeline(arrays), **options)(self._function)

    def _compile(self, entry: Callable[..., None], arrays: int) -> Any:
        import numba
        from numba import types

        pointer, said = None, ""
        try:
            signature = types.void(types.float64, *[types.CPointer(types.float64)] * arrays)
            pointer = numba.cfunc(signature, error_model="numpy")(entry)
        except Exception as error:  # numba reports some mistakes by its own errors, some by whatever came up on the way
            said = str(error)
        if self.found.problems:
            raise ConfigError.from_problems(f"{self._what} of {self._of}", self.found.problems)
        if pointer is None:
            raise ConfigError(_sentence(self._of, self._function, said))
        return pointer


def _is_safe(pointer: Any, of: str) -> bool:
    try:
        check_safe_in_the_loop(pointer.inspect_llvm(), of)
    except ConfigError:
        return False
    return True


def _nan_at_bounds(checked: Any, written: int) -> Any:
    """Return the function with bounds checks; where one fails, the last `written` arrays are filled with NaN."""
    import numba

    two = written == 2

    def guarded(*arguments):  # type: ignore[no-untyped-def]
        try:
            checked(*arguments)
        except Exception:
            arguments[-1][:] = math.nan
            if two:
                arguments[-2][:] = math.nan

    return numba.njit(error_model="numpy", forceinline=True)(guarded)


@cache
def _nan_array(n: int) -> Any:
    """Return a function for compiled code that sets n numbers aside on the stack, all NaN."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def local(context):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            number, size = context.get_value_type(types.float64), context.get_constant(types.intp, n)
            array = cgutils.alloca_once(builder, number, size=size)
            with cgutils.for_range(builder, size) as loop:
                builder.store(context.get_constant(types.float64, math.nan), builder.gep(array, [loop.index]))
            return array

        return types.CPointer(types.float64)(), code

    return local


@cache
def _filled(byte: int) -> Any:
    """Return a function for compiled code that fills n numbers with a byte (0xFF: NaN) and returns their address."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def filled(context, pointer, n):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            array, count = arguments
            cgutils.memset(builder, array, builder.mul(count, context.get_constant(types.intp, 8)), byte)
            return array

        return pointer(pointer, types.intp), code

    return filled


def compile_static(
    function: Callable[[Array, Array, Array], None], of: str, names: tuple[Names, Names, Names]
) -> tuple[Any, Any, str, str | None]:
    """Compile `function(u, p, y)` of a system without states; names are those of u, p, y.

    Returns the function with bounds checks, the C function pointer, where indices are computed, as words, and the
    fingerprint under which it is kept.
    """
    from numba import carray

    inputs, parameters, outputs = names
    n_u, n_p, n_y = (len(each) for each in names)
    results = _nan_array(n_y)

    def whole(inner: Any) -> Callable[..., None]:
        def entry(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
            b = carray(results(), (n_y,))
            inner(carray(u, (n_u,)), carray(p, (n_p,)), b)
            for i in range(n_y):
                y[i] = b[i]

        return entry

    read, written = {0: ("inputs", inputs), 1: ("parameters", parameters)}, {2: ("outputs", outputs)}
    made = _Function(function, of, ("u", "p", "y"), read, written)
    (pointer,) = made.pointers("static", (whole, 5))
    return made.checked, pointer, made.computed_at, made.key


def compile_jacobian(function: Callable[..., None], of: str, names: tuple[Names, Names, Names]) -> Any:
    """Compile `function(t, x, u, p, J)`, which writes J[i, j] = df_i/dx_j; names are those of x, u, p.

    J starts as zeros, so elements that are always 0 may be left out.
    """
    from numba import carray

    states, inputs, parameters = names
    n_x, n_u, n_p = (len(each) for each in names)
    zeros = _filled(0)

    def whole(inner: Any) -> Callable[..., None]:
        def entry(t, x, u, p, J):  # type: ignore[no-untyped-def]
            inner(t, carray(x, (n_x,)), carray(u, (n_u,)), carray(p, (n_p,)), carray(zeros(J, n_x * n_x), (n_x, n_x)))

        return entry

    read = {1: ("states", states), 2: ("inputs", inputs), 3: ("parameters", parameters)}
    written = {4: ("states", states)}
    made = _Function(function, of, ("t", "x", "u", "p", "J"), read, written, dimensions=2, what="Jacobian")
    return made.pointers("jacobian", (whole, 4))[0]


@cache
def states_pointer(n: int) -> Any:
    """Return the C function `g(t, x, u, p, y)` whose outputs are the n states."""
    import numba
    from numba import types

    def states(t, x, u, p, y):  # type: ignore[no-untyped-def]
        for i in range(n):
            y[i] = x[i]

    return numba.cfunc(types.void(types.float64, *[types.CPointer(types.float64)] * 4))(states)


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
