"""Everything the machine code of a function depends on, as one text; nothing where that cannot be told for sure."""

from __future__ import annotations

import builtins
import dis
import hashlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_MODULES: tuple[ModuleType, ...] = (math, np)


class _UnknownError(Exception):
    """Something whose influence on the machine code cannot be told."""


def fingerprint(function: Callable[..., Any], arrays: Sequence[Sequence[str]], kind: str) -> str | None:
    """Return a text that differs whenever the compiled code of a function could; None when that cannot be told.

    Parameters
    ----------
    function
        The Python function: its byte code, constants, defaults, what it closes over and the global numbers, arrays and
        compiled functions it uses count, and so on in these.
    arrays
        Names of the elements of its array arguments; a name counts if the code reads an attribute of that name.
    kind
        How it is compiled.

    Notes
    -----
    Python, numpy, numba, LLVM, the processor and this package's own compiler count as well. A function that uses
    anything else, such as an object or a value of another module, has no fingerprint.
    """
    seen: dict[int, int] = {}
    attributes: set[str] = set()
    digest = hashlib.sha256(repr((kind, _surroundings())).encode())
    try:
        for part in _function(function, seen, attributes):
            digest.update(len(part).to_bytes(8, "little") + part)
    except _UnknownError:
        return None
    named = [[name if name in attributes else "" for name in names] for names in arrays]
    digest.update(repr(named).encode())
    return digest.hexdigest()


@cache
def _surroundings() -> tuple[str, ...]:
    import llvmlite
    import numba
    from numba.core.registry import cpu_target

    ours = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    own = hashlib.sha256(ours).hexdigest()
    processor = repr(cpu_target.target_context.codegen().magic_tuple())
    return (sys.version, np.__version__, numba.__version__, llvmlite.__version__, str(numba.config.OPT), processor, own)


def _function(function: Any, seen: dict[int, int], attributes: set[str]) -> Iterator[bytes]:
    if not isinstance(function, FunctionType):
        raise _UnknownError
    yield from _code(function.__code__, attributes)
    closed = function.__closure__ or ()
    values = [cell.cell_contents for cell in closed if not _is_empty(cell)]
    if len(values) < len(closed):
        raise _UnknownError
    values += [function.__defaults__, tuple(sorted((function.__kwdefaults__ or {}).items()))]
    for value in values:
        yield from _value(value, seen, attributes)
    for name in sorted(_globals_of(function.__code__)):
        yield name.encode()
        if name in function.__globals__:
            yield from _value(function.__globals__[name], seen, attributes)
        elif not hasattr(builtins, name):
            raise _UnknownError


def _is_empty(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


def _code(code: CodeType, attributes: set[str]) -> Iterator[bytes]:
    attributes.update(code.co_names)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, code.co_flags, code.co_firstlineno)
    yield code.co_code + getattr(code, "co_exceptiontable", b"")
    yield repr((names, counts)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant, attributes)
        else:
            yield _constant(constant)


def _constant(value: Any) -> bytes:
    if not isinstance(value, (*_PLAIN, tuple, frozenset, type(...))):
        raise _UnknownError
    return f"{type(value).__name__} {value!r}".encode()


def _globals_of(code: CodeType) -> set[str]:
    """Return the global names that a function and those inside it look up."""
    own = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return own.union(*(_globals_of(c) for c in code.co_consts if isinstance(c, CodeType)))


def _value(value: Any, seen: dict[int, int], attributes: set[str]) -> Iterator[bytes]:
    from numba.core.dispatcher import Dispatcher

    if isinstance(value, _PLAIN):
        yield _constant(value)
    elif isinstance(value, np.ndarray | np.generic):
        if value.dtype.hasobject:
            raise _UnknownError
        layout = (type(value).__name__, np.shape(value), np.asarray(value).flags.c_contiguous)
        yield f"{value.dtype!r} {value.dtype.isalignedstruct} {layout}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, tuple):
        if type(value) is not tuple and not hasattr(value, "_fields"):
            raise _UnknownError
        yield f"tuple {len(value)} {getattr(value, '_fields', ())!r}".encode()
        for item in value:
            yield from _value(item, seen, attributes)
    elif isinstance(value, Dispatcher | FunctionType) and _name_of(value) is None:
        known = id(value) in seen
        yield f"{type(value).__name__} {seen.setdefault(id(value), len(seen))}".encode()
        if not known:  # a plain function is compiled with the one that calls it
            yield from (_function if isinstance(value, FunctionType) else _dispatcher)(value, seen, attributes)
    else:
        name = _name_of(value)
        if name is None:
            raise _UnknownError
        yield name.encode()


def _dispatcher(value: Any, seen: dict[int, int], attributes: set[str]) -> Iterator[bytes]:
    from numba.core.compiler import Compiler

    options = value.targetoptions
    own_compiler = value._compiler.pipeline_class is not Compiler
    if own_compiler or any(not isinstance(option, _PLAIN) for option in options.values()):
        raise _UnknownError
    yield repr(sorted(options.items())).encode()
    yield repr(sorted((name, str(kind)) for name, kind in value.locals.items())).encode()
    if not value._can_compile:  # declared signatures alone, to which numbers are converted
        yield repr([str(signature) for signature in value.nopython_signatures]).encode()
    yield from _function(value.py_func, seen, attributes)


def _name_of(value: Any) -> str | None:
    """Return the name of something of Python, math or numpy, whose versions count; None of anything else."""
    if isinstance(value, ModuleType):
        return f"module {value.__name__}" if value in _MODULES else None
    if isinstance(value, BuiltinFunctionType | FunctionType | np.ufunc | type):
        name = value.__name__
        for place in (*_MODULES, builtins):
            if getattr(place, name, None) is value:
                return f"{place.__name__}.{name}"
    return None
