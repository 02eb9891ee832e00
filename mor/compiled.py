"""From functions in Python to C function pointers that the loop calls: compiled by numba, checked to be safe there."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from mor.generated_code import check_safe_in_the_loop
from rt_runtime.checks import Floats
from rt_runtime.errors import ConfigError

ARGUMENTS = ("t", "x", "u", "p", "dx", "y")
Rhs = Callable[[float, Floats, Floats, Floats, Floats, Floats], None]


def compile_rhs(function: Rhs, of: str, sizes: tuple[int, int, int, int]) -> tuple[Rhs, Any, Any]:
    """Compile `function(t, x, u, p, dx, y)`; sizes are those of x, u, p, y.

    Returns the numba function, the C function pointer, and that of the outputs alone, `g(t, x, u, p, y)`: the same text
    with nobody to read dx, so that the compiler leaves out what only dx needs.
    """
    from numba import carray

    inner = _inlined(function, of, ARGUMENTS)
    n_x, n_u, n_p, n_y = sizes
    local = _local_array(n_x)

    def whole(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
        inner(t, carray(x, (n_x,)), carray(u, (n_u,)), carray(p, (n_p,)), carray(dx, (n_x,)), carray(y, (n_y,)))

    def outputs(t, x, u, p, y):  # type: ignore[no-untyped-def]
        inner(t, carray(x, (n_x,)), carray(u, (n_u,)), carray(p, (n_p,)), carray(local(), (n_x,)), carray(y, (n_y,)))

    return inner, _pointer(whole, 5, of, function), _pointer(outputs, 4, of, function)


@cache
def _local_array(n: int) -> Any:
    """Return a function for compiled code that sets n numbers aside on the stack."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def local(context):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            number = context.get_value_type(types.float64)
            return cgutils.alloca_once(builder, number, size=context.get_constant(types.intp, n))

        return types.CPointer(types.float64)(), code

    return local


def _inlined(function: Callable[..., None], of: str, arguments: tuple[str, ...], what: str = "Function") -> Any:
    """Return the numba function, not compiled yet, after a check of its arguments."""
    import numba

    given = tuple(inspect.signature(function).parameters)
    if len(given) != len(arguments):
        raise ConfigError(f"{what} of {of} must take ({', '.join(arguments)}), got ({', '.join(given)}).")
    return numba.njit(error_model="numpy", forceinline=True)(function)


def _pointer(entry: Callable[..., None], arrays: int, of: str, written: Callable[..., None]) -> Any:
    """Compile `entry(t, *arrays)` to a C function; `written` is what the user wrote."""
    import numba
    from numba import types

    try:
        signature = types.void(types.float64, *[types.CPointer(types.float64)] * arrays)
        pointer = numba.cfunc(signature, error_model="numpy")(entry)
    except Exception as error:  # numba reports some mistakes by its own errors, some by whatever came up on the way
        raise ConfigError(_sentence(of, written, str(error))) from None
    check_safe_in_the_loop(pointer.inspect_llvm(), of)
    return pointer


def compile_static(function: Callable[[Floats, Floats, Floats], None], of: str, sizes: tuple[int, int, int]) -> Any:
    """Compile `function(u, p, y)` to the C function pointer of a system without states; sizes are those of u, p, y."""
    from numba import carray

    inner = _inlined(function, of, ("u", "p", "y"))
    n_u, n_p, n_y = sizes

    def whole(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
        inner(carray(u, (n_u,)), carray(p, (n_p,)), carray(y, (n_y,)))

    return _pointer(whole, 5, of, function)


def compile_jacobian(function: Callable[..., None], of: str, sizes: tuple[int, int, int]) -> Any:
    """Compile `function(t, x, u, p, J)`, which writes J[i, j] = df_i/dx_j; sizes are those of x, u, p."""
    from numba import carray

    inner = _inlined(function, of, ("t", "x", "u", "p", "J"), "Jacobian")
    n_x, n_u, n_p = sizes

    def entry(t, x, u, p, J):  # type: ignore[no-untyped-def]
        inner(t, carray(x, (n_x,)), carray(u, (n_u,)), carray(p, (n_p,)), carray(J, (n_x, n_x)))

    return _pointer(entry, 4, of, function)


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
