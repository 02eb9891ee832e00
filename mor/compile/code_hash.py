"""A hash of the code behind a model, to notice on resume that it changed."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

PLAIN = (bool, int, float, complex, str, bytes, type(None))
OURS = {"mor", "rt_runtime", "export", "training", "hmor"}
LIBRARIES = {*sys.stdlib_module_names, "numpy", "scipy", "numba", "torch"}
INSTALLED = {"site-packages", "dist-packages"}

_texts: WeakKeyDictionary[Any, bytes] = WeakKeyDictionary()


def code_hash(*sources: Callable[..., Any] | type) -> str:
    """Return a short hash of functions and classes.

    Covers their source text (byte code where there is no text), default arguments, values they close over, and the
    functions, compiled functions, classes and constants (numbers, texts, tuples, arrays, frozen dataclasses) that they
    use, and so on in these, whichever module they are imported from. Not covered: the standard library, installed
    packages other than this one, lists, dictionaries and other objects that may change while a program runs, and fields
    of dataclasses that do not compare, such as addresses of machine code.
    """
    digest = hashlib.sha256()
    seen: dict[int, Any] = {}  # by id; holding the objects keeps the ids from being used again
    for source in sources:
        for part in _parts(source, seen):
            digest.update(part + b"\0")
    return digest.hexdigest()[:16]


def _parts(thing: Any, seen: dict[int, Any]) -> Iterator[bytes]:
    if isinstance(thing, PLAIN):
        yield repr(thing).encode()
    elif isinstance(thing, np.ndarray | np.generic):
        yield f"{np.shape(thing)} {thing.dtype}".encode() + np.ascontiguousarray(thing).tobytes()
    elif isinstance(thing, tuple):
        for item in thing:
            yield from _parts(item, seen)
    elif id(thing) not in seen:
        seen[id(thing)] = thing
        function = inspect.unwrap(getattr(thing, "py_func", thing)) if callable(thing) else None  # numba: py_func
        if isinstance(function, FunctionType):
            yield from _function_parts(function, seen)
        elif inspect.isclass(thing):
            yield from _class_parts(thing, seen)
        elif inspect.ismethod(thing):
            yield from _parts(thing.__func__, seen)
        elif isinstance(thing, partial):
            yield from _parts(thing.func, seen)
            yield from _parts((*thing.args, *(x for pair in sorted(thing.keywords.items()) for x in pair)), seen)
        elif _is_frozen(thing):
            yield from _parts(type(thing), seen)
            yield from _parts(tuple(getattr(thing, field.name) for field in fields(thing) if field.compare), seen)
        elif callable(thing):
            yield from _class_parts(type(thing), seen)


def _function_parts(function: FunctionType, seen: dict[int, Any]) -> Iterator[bytes]:
    yield _text(function)
    yield from _parts(tuple(function.__defaults__ or ()), seen)
    yield from _parts(tuple((function.__kwdefaults__ or {}).values()), seen)
    for cell in function.__closure__ or ():
        try:
            closed = cell.cell_contents
        except ValueError:  # an empty cell
            continue
        if _counts(closed, function.__module__):
            yield from _parts(closed, seen)
    names = sorted(_names(function.__code__))
    for name in names:
        used = function.__globals__.get(name)
        if isinstance(used, ModuleType) and _is_covered(used.__name__, function.__module__):
            for attribute in (each for each in names if each in vars(used)):  # module.attribute
                yield from _named_parts(attribute, vars(used)[attribute], function.__module__, seen)
        else:
            yield from _named_parts(name, used, function.__module__, seen)


def _named_parts(name: str, used: Any, user: str, seen: dict[int, Any]) -> Iterator[bytes]:
    if _counts(used, user):
        yield name.encode()
        yield from _parts(used, seen)


def _class_parts(cls: type, seen: dict[int, Any]) -> Iterator[bytes]:
    """The text of a class, and what its methods and base classes use."""
    yield _text(cls)
    for base in cls.__bases__:
        if _is_covered(base.__module__, cls.__module__):
            yield from _parts(base, seen)
    for _, member in sorted(vars(cls).items()):
        method = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if isinstance(method, FunctionType) and _is_covered(method.__module__, cls.__module__):
            yield from _parts(method, seen)


def _counts(used: Any, user: str) -> bool:
    """Whether what a function of module ``user`` uses is a constant, or code that is covered."""
    if isinstance(used, (*PLAIN, tuple, partial, np.ndarray, np.generic)):
        return True
    return _is_covered(getattr(used, "__module__", None), user)


def _is_covered(module: str | None, user: str) -> bool:
    """Whether a module is the user's or ours: the same package, or not an installed one."""
    package = module.partition(".")[0] if isinstance(module, str) else ""
    if not package or package in LIBRARIES:
        return False
    if package in OURS or package == user.partition(".")[0]:
        return True
    file = getattr(sys.modules.get(str(module)), "__file__", None) or ""
    return INSTALLED.isdisjoint(Path(file).parts)


def _is_frozen(thing: Any) -> bool:
    return bool(getattr(getattr(thing, "__dataclass_params__", None), "frozen", False))


def _names(code: CodeType) -> set[str]:
    """Names a function and the functions inside it look up."""
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)


def _text(thing: Any) -> bytes:
    """Return the text of a function or class as it was when first asked for: looking it up takes milliseconds."""
    if thing not in _texts:
        _texts[thing] = _source(thing)
    return _texts[thing]


def _source(thing: Any) -> bytes:
    try:
        return inspect.getsource(thing).encode()
    except (OSError, TypeError):
        code = getattr(thing, "__code__", None)
        if code is None:
            return f"{thing.__module__}.{thing.__qualname__}".encode()
        constants = [c.co_code if isinstance(c, CodeType) else c for c in code.co_consts]
        return bytes(code.co_code) + repr((code.co_names, code.co_varnames, constants)).encode()
