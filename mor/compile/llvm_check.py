"""Read the LLVM code of a compiled right-hand side and refuse what must not happen in a real-time loop."""

from __future__ import annotations

import re

from rt_runtime.errors import ConfigError

# Calls that neither allocate, lock, raise nor enter the interpreter: the mathematics of libm and LLVM.
_LIBM = (
    r"acosh?|asinh?|atan[2h]?|cbrt|ceil|copysign|cosh?|erfc?|exp[2]?|expm1|fabs|floor|fmax|fmin|fmod|frexp|hypot|ldexp|"
    r"lgamma|log|log10|log1p|log2|modf|nearbyint|pow|rint|round|sinh?|sqrt|tanh?|tgamma|trunc"
)
_ALLOWED = re.compile(rf"(llvm\..*|(numba_)?({_LIBM})f?|NRT_incref|NRT_decref)\Z")
_ALLOCATES = re.compile(r"NRT_(Mem|All|Real)|malloc|calloc")
_DEFINE = re.compile(r'^define [^@\n]*@"?([^"(\s]+)"?\((.*)$')
_CALL = re.compile(r'\b(?:call|invoke)\b[^@\n]*@"?([^"(\s]+)"?\(')


def check_safe_in_the_loop(llvm: str, of: str) -> None:
    """Raise ConfigError when the function behind a numba cfunc may allocate, raise or call the interpreter.

    numba compiles two functions: `cfunc.<name>`, which handles exceptions with the interpreter's help, and the native
    `<name>`, which does the work and returns a status. Only the latter (and all it calls) runs as long as the status is
    zero, so it must return nothing but zero and call nothing but mathematics.
    """
    bodies = _functions(llvm)
    wrapper = next((name for name in bodies if name.startswith("cfunc.")), None)
    native = wrapper.removeprefix("cfunc.") if wrapper else ""
    if wrapper is None:
        raise ConfigError(f"Function of {of} must compile to a C function, but its code was not found.")
    # When the native function was inlined into the wrapper the wrapper itself is what runs.
    waiting, seen = [native if native in bodies else wrapper], set()
    called: set[str] = set()
    raises = False
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        body = bodies[name]
        raises |= bool(re.search(r"^\s*ret i32 (?!0\b)", body, flags=re.M))
        for callee in _CALL.findall(body):
            if callee in bodies:
                waiting.append(callee)
            else:
                called.add(callee)
    if any(_ALLOCATES.search(name) for name in called | seen):
        raise ConfigError(
            f"Function of {of} must not allocate memory, but its compiled code does; replace array expressions, "
            "slices, lists and np.zeros by scalars and loops over elements."
        )
    bad = sorted(name for name in called if not _ALLOWED.match(name))
    if raises or bad:
        found = f"calls {', '.join(bad[:3])}" if bad else "can raise an exception"
        raise ConfigError(
            f"Function of {of} must not raise, print or call the interpreter, but its compiled code {found}; use "
            "scalars, math functions and element assignments only."
        )


def _functions(llvm: str) -> dict[str, str]:
    """Split the text of a module into {function name: body}."""
    bodies: dict[str, str] = {}
    name = ""
    for line in llvm.splitlines():
        if match := _DEFINE.match(line):
            name = match.group(1)
            bodies[name] = ""
        elif name:
            bodies[name] += line + "\n"
            if line == "}":
                name = ""
    return bodies
