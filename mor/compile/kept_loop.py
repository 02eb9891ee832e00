"""Compiled loops over arrays, kept between runs: loading one takes milliseconds, compiling it seconds."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mor.compile import kept
from mor.compile.fingerprint import fingerprint

Arrays = NDArray[Any] | tuple[NDArray[Any], ...]
"""An argument of a loop: an array, or a tuple of arrays."""

Types = tuple[tuple[tuple[np.dtype[Any], int], ...], ...]
"""Type and number of dimensions of each array of each argument."""

_alive: list[Any] = []  # what numba compiled: its code goes with the object


class KeptLoop:
    """`function(*arguments)` as machine code, for arguments of the types of `example`; it returns nothing.

    Arguments from `free` on are bound; a call gives the others, contiguous and row after row. It holds the lock of the
    interpreter, as a function of numba does, so that work space may be bound.

    Parameters
    ----------
    function
        What numba compiles.
    example
        Arguments; those from `free` on are bound.
    free
        How many arguments a call gives.
    """

    def __init__(self, function: Callable[..., None], example: tuple[Arrays, ...], free: int) -> None:
        self._name = function.__qualname__
        types = tuple(tuple((a.dtype, a.ndim) for a in _arrays(one)) for one in example)
        address = _address(function, types, tuple(isinstance(one, tuple) for one in example))
        self._kept = [np.asarray(a, order="C") for one in example[free:] for a in _arrays(one)]
        self._bound = [a.ctypes.data for a in self._kept]
        self._sizes = [n for a in self._kept for n in a.shape]
        self._shapes = [[(kind, n, True) for kind, n, _ in _kinds(one)] for one in example[:free]]
        arguments = len(self._bound) + sum(map(len, self._shapes))
        self._call = ctypes.PYFUNCTYPE(None, ctypes.c_double, *[ctypes.c_void_p] * (1 + arguments))(address)

    def __call__(self, *arguments: Arrays) -> None:
        """Run with the free arguments."""
        given = [a for one in arguments for a in _arrays(one)]
        if [_kinds(one) for one in arguments] != self._shapes:
            raise TypeError(f"arguments of a loop must be {self._shapes}, got {[_kinds(one) for one in arguments]}")
        sizes = np.array([0, *(n for a in given for n in a.shape), *self._sizes], dtype=np.int64)
        self._call(0.0, sizes.ctypes.data, *[a.ctypes.data for a in given], *self._bound)
        if sizes[0] != 1:  # numba ends a C function quietly where Python would raise
            raise ArithmeticError(f"{self._name} did not come to its end")


def _arrays(one: Arrays) -> Iterator[NDArray[Any]]:
    yield from one if isinstance(one, tuple) else (one,)


def _kinds(one: Arrays) -> list[tuple[str, int, bool]]:
    return [(a.dtype.str, a.ndim, a.flags.c_contiguous) for a in _arrays(one)]


@cache
def _address(function: Callable[..., None], types: Types, grouped: tuple[bool, ...]) -> int:
    """Load the machine code that was kept, or compile it and keep it; return where it is."""
    key = fingerprint(function, [], f"loop over {types} {grouped}")
    entry = kept.load(key)
    if entry is None:
        made = _compiled(function, types, grouped)
        _alive.append(made)
        entry = kept.keep(key, [made], [sum(map(len, types))], {})
        if entry is None:
            return int(made.address)
    return entry.machines[0].address


def _compiled(function: Callable[..., None], types: Types, grouped: tuple[bool, ...]) -> Any:
    """Compile to a C function (t, sizes, first element of each array, ...); sizes: 1 once it is done, all shapes."""
    import numba

    pointers: list[Any] = []
    arguments, at = [], 1
    for arrays, group in zip(types, grouped, strict=True):
        texts = []
        for dtype, dimensions in arrays:
            shape = "".join(f"n[{at + i}], " for i in range(dimensions))
            texts.append(f"carray(a{len(pointers)}, ({shape}))")
            pointers.append(numba.types.CPointer(numba.from_dtype(dtype)))
            at += dimensions
        arguments.append(f"({''.join(f'{text}, ' for text in texts)})" if group else texts[0])
    names = ", ".join(f"a{i}" for i in range(len(pointers)))
    place: dict[str, Any] = {"inner": numba.njit(function), "carray": numba.carray}
    exec(f"def entry(t, n, {names}):\n    inner({', '.join(arguments)})\n    n[0] = 1\n", place)
    signature = numba.types.void(numba.types.float64, numba.types.CPointer(numba.types.int64), *pointers)
    return numba.cfunc(signature)(place["entry"])
