"""A hash of the code behind a model, to notice on resume that it changed."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import numpy as np

PLAIN = (bool, int, float, complex, str, bytes, type(None))


def code_hash(*sources: Callable[..., Any] | type) -> str:
    """Return a short hash of functions and classes.

    Covers their source text (byte code where there is no text), default arguments, values they close over, and the
    functions, classes and constants (numbers, texts, tuples, arrays) of their own module that they use, and so on.
    What they use of other modules is not covered.
    """
    digest = hashlib.sha256()
    seen: set[int] = set()
    for source in sources:
        for part in _parts(source, seen):
            digest.update(part + b"\0")
    return digest.hexdigest()[:16]


def _parts(thing: Any, seen: set[int]) -> Iterator[bytes]:
    if isinstance(thing, PLAIN):
        yield repr(thing).encode()
    elif isinstance(thing, np.ndarray | np.generic):
        yield f"{np.shape(thing)} {thing.dtype}".encode() + np.ascontiguousarray(thing).tobytes()
    elif isinstance(thing, tuple):
        for item in thing:
            yield from _parts(item, seen)
    elif id(thing) not in seen:
        seen.add(id(thing))
        function = inspect.unwrap(getattr(thing, "py_func", thing)) if callable(thing) else None  # numba: py_func
        if isinstance(function, FunctionType):
            yield from _function_parts(function, seen)
        elif inspect.isclass(thing) or inspect.ismethod(thing):
            yield _text(thing)
        elif hasattr(thing, "func") and hasattr(thing, "keywords"):  # functools.partial
            yield from _parts(thing.func, seen)
            yield from _parts((*thing.args, *(x for pair in sorted(thing.keywords.items()) for x in pair)), seen)
        elif callable(thing):
            yield _text(type(thing))


def _function_parts(function: FunctionType, seen: set[int]) -> Iterator[bytes]:
    yield _text(function)
    yield from _parts(tuple(function.__defaults__ or ()), seen)
    yield from _parts(tuple((function.__kwdefaults__ or {}).values()), seen)
    for cell in function.__closure__ or ():
        try:
            yield from _parts(cell.cell_contents, seen)
        except ValueError:  # an empty cell
            continue
    for name in sorted(_names(function.__code__)):
        used = function.__globals__.get(name)
        if isinstance(used, (*PLAIN, tuple, np.ndarray)) or getattr(used, "__module__", "") == function.__module__:
            yield name.encode()
            yield from _parts(used, seen)


def _names(code: CodeType) -> set[str]:
    """Names a function and the functions inside it look up."""
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)


def _text(thing: Any) -> bytes:
    try:
        return inspect.getsource(thing).encode()
    except (OSError, TypeError):
        code = getattr(thing, "__code__", None)
        if code is None:
            return f"{thing.__module__}.{thing.__qualname__}".encode()
        constants = [c.co_code if isinstance(c, CodeType) else c for c in code.co_consts]
        return bytes(code.co_code) + repr((code.co_names, code.co_varnames, constants)).encode()
