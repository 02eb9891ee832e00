"""Checks of arguments before the first tick; every failure is one sentence."""

from __future__ import annotations

import math
import numbers

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rt_runtime.errors import ConfigError

Array = NDArray[np.float64]
"""The float array of all packages."""


def finite_array(value: ArrayLike, which: str, of: str, shape: tuple[int | None, ...]) -> Array:
    """Return `value` as a contiguous float array of `shape` (None: any length) with finite numbers only."""
    try:
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ConfigError(f"{which} of {of} must be an array of numbers, got {value!r}.") from None
    if array.ndim == 0 and len(shape) > 0:  # ascontiguousarray makes 0-d arrays 1-d; keep the rule explicit
        array = array.reshape(1)
    fits = array.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))
    if not fits:
        wanted = "(" + ", ".join("any" if n is None else str(n) for n in shape) + ")"
        raise ConfigError(f"{which} of {of} must have shape {wanted}, got {array.shape}.")
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        where = ", ".join(str(int(i)) for i in bad[0])
        raise ConfigError(f"{which} of {of} must be finite, got {array[tuple(bad[0])]} at index ({where}).")
    return array


def positive(value: float, which: str, of: str) -> float:
    """Return `value` as a float if it is finite and positive."""
    if not isinstance(value, numbers.Real) or not math.isfinite(value) or value <= 0:
        raise ConfigError(f"{which} of {of} must be a positive number, got {value!r}.")
    return float(value)


def whole(value: int, which: str, of: str, least: int) -> int:
    """Return `value` as an int if it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ConfigError(f"{which} of {of} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def one_of(value: str, which: str, of: str, allowed: tuple[str, ...]) -> str:
    """Return `value` if it is one of the allowed words."""
    if value not in allowed:
        raise ConfigError(f"{which} of {of} must be one of {', '.join(map(repr, allowed))}, got {value!r}.")
    return value
