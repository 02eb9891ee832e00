"""The blocks of the core with checked arguments; what a block computes stands in core/blocks/*.hpp."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from rt_runtime import _core
from rt_runtime.blocks.discretise import Discrete, first_order_hold, runge_kutta, zero_order_hold
from rt_runtime.checks import Array, finite_array, one_of, positive, whole
from rt_runtime.errors import ConfigError

UPDATE = {"end": _core.Update.end, "start": _core.Update.start}


class StateSpace(_core.StateSpace):
    """Linear state space dx/dt = A x + B u, y = C x + D u, stepped every `dt` seconds.

    `method`: "zoh" (exact for an input held over the step), "foh" (exact for an input that runs linearly between
    ticks), "rk4" (classical Runge-Kutta with `substeps`), or "discrete" (A, B already belong to x[k+1] = A x + B u).
    `update`: "end" gives y[k] = C x[k] + D u[k] and then advances; "start" advances first with the inputs read now
    and gives y[k] = C x[k], for inputs that are last tick's values (D must be zero).

    Parameters
    ----------
    initial
        Initial state; zero by default.
    """

    def __init__(
        self,
        A: ArrayLike,
        B: ArrayLike,
        C: ArrayLike,
        D: ArrayLike | None = None,
        *,
        dt: float,
        method: str = "zoh",
        substeps: int = 1,
        initial: ArrayLike | None = None,
        update: str = "end",
    ) -> None:
        of = "StateSpace"
        a = finite_array(A, "A", of, (None, None))
        n = a.shape[0]
        a = finite_array(a, "A", of, (n, n))
        b = finite_array(B, "B", of, (n, None))
        c = finite_array(C, "C", of, (None, n))
        d = finite_array(np.zeros((len(c), b.shape[1])) if D is None else D, "D", of, (len(c), b.shape[1]))
        x0 = finite_array(np.zeros(n) if initial is None else initial, "initial", of, (n,))
        dt = positive(dt, "dt", of)
        one_of(method, "method", of, ("zoh", "foh", "rk4", "discrete"))
        one_of(update, "update", of, tuple(UPDATE))
        if update == "start" and (method == "foh" or d.any()):
            raise ConfigError(f"D of {of} must be zero and method not 'foh' when update is 'start'; use update='end'.")
        if method == "zoh":
            model = zero_order_hold(a, b, c, d, dt)
        elif method == "foh":
            model = first_order_hold(a, b, c, d, dt)
        elif method == "rk4":
            model = runge_kutta(a, b, c, d, dt, whole(substeps, "substeps", of, 1))
        else:
            model = Discrete(a, b, c, d, np.zeros_like(b))
        a, b, c, d, entry = (np.ascontiguousarray(matrix) for matrix in model)
        super().__init__(a, b, c, d, entry, x0, dt, UPDATE[update])


class Table(_core.Table):
    """Excitation from a table: linear interpolation in `times` (r), `values` (r) or (r, columns); held outside."""

    def __init__(self, times: ArrayLike, values: ArrayLike) -> None:
        of = "Table"
        t = finite_array(times, "times", of, (None,))
        columns = np.asarray(values)
        v = finite_array(columns.reshape(-1, 1) if columns.ndim == 1 else columns, "values", of, (len(t), None))
        if len(t) == 0:
            raise ConfigError(f"times of {of} must have at least one row, got none.")
        falls = np.flatnonzero(np.diff(t) <= 0)
        if len(falls):
            i = int(falls[0])
            raise ConfigError(
                f"times of {of} must increase strictly, got {t[i]:g} then {t[i + 1]:g} at row {i + 1}; sort the table."
            )
        self.duration = float(t[-1])
        super().__init__(t, v)


class Delay(_core.Delay):
    """Delay by `steps` ticks, whole or fractional (linear interpolation); `initial` is given out before the first.

    Parameters
    ----------
    channels
        Signals that are delayed alike.
    """

    def __init__(self, steps: float, *, channels: int = 1, initial: ArrayLike = 0.0) -> None:
        of = "Delay"
        n = whole(channels, "channels", of, 1)
        if not isinstance(steps, numbers.Real) or not 0 <= steps <= 1e7:
            raise ConfigError(f"steps of {of} must lie between 0 and 1e7, got {steps!r}.")
        start = np.full(n, initial) if np.ndim(initial) == 0 else initial
        super().__init__(float(steps), finite_array(start, "initial", of, (n,)))


class Gain(_core.Gain):
    """Weighted sums y = K u + c; `matrix` is a number, a row, or K (n_out, n_in).

    Parameters
    ----------
    offset
        c (n_out,); zero by default.
    """

    def __init__(self, matrix: ArrayLike, *, offset: ArrayLike | None = None) -> None:
        k = finite_array(np.atleast_2d(np.asarray(matrix, dtype=float)), "matrix", "Gain", (None, None))
        c = np.zeros(len(k)) if offset is None else np.atleast_1d(np.asarray(offset, dtype=float))
        super().__init__(k, finite_array(c, "offset", "Gain", (len(k),)))


class Sum(Gain):
    """Signed sum of scalar inputs, for example Sum("+-") for u0 - u1.

    Parameters
    ----------
    signs
        A + or - for each input.
    """

    def __init__(self, signs: str) -> None:
        if not signs or set(signs) - set("+-"):
            raise ConfigError(f"signs of Sum must be a text of + and -, got {signs!r}.")
        super().__init__([[1.0 if sign == "+" else -1.0 for sign in signs]])


def stable_sections(sections: ArrayLike, of: str) -> Array:
    """Return second-order sections (b0, b1, b2, a0, a1, a2) as rows b0, b1, b2, a1, a2 with a0 = 1, if stable."""
    sos = finite_array(sections, "sections", of, (None, 6))
    if len(sos) == 0 or (sos[:, 3] == 0).any():
        raise ConfigError(f"sections of {of} must have at least one row and a0 not zero, got {sos.tolist()}.")
    scaled = sos / sos[:, 3:4]
    for i, (a1, a2) in enumerate(scaled[:, 4:]):
        if not (abs(a2) < 1 and abs(a1) < 1 + a2):
            raise ConfigError(f"sections of {of} must be stable, row {i} has a pole on or outside the unit circle.")
    return np.ascontiguousarray(scaled[:, [0, 1, 2, 4, 5]])


class Filter(_core.Filter):
    """Cascade of second-order sections, rows (b0, b1, b2, a0, a1, a2) as scipy.signal gives them.

    Parameters
    ----------
    channels
        Signals that are filtered alike.
    """

    def __init__(self, sections: ArrayLike, *, channels: int = 1) -> None:
        super().__init__(stable_sections(sections, "Filter"), whole(channels, "channels", "Filter", 1))


class Noise(_core.Noise):
    """Independent Gaussian noise with standard deviation `std` per channel, the same for the same seed."""

    def __init__(self, std: ArrayLike, *, seed: int) -> None:
        deviation = finite_array(np.atleast_1d(np.asarray(std, dtype=float)), "std", "Noise", (None,))
        if (deviation < 0).any() or len(deviation) == 0:
            raise ConfigError(f"std of Noise must not be negative, got {deviation.tolist()}.")
        super().__init__(deviation, whole(seed, "seed", "Noise", 0))


class PythonBlock(_core.PythonBlock):
    """A Python function `f(t, u) -> outputs` as a block, for experiments; a paced loop refuses it.

    Parameters
    ----------
    n_in, n_out
        Numbers that the function reads and returns.
    """

    def __init__(self, function: Callable[[float, Array], Sequence[float]], *, n_in: int, n_out: int) -> None:
        if not callable(function):
            raise ConfigError(f"function of PythonBlock must be callable, got {function!r}.")
        super().__init__(function, whole(n_in, "n_in", "PythonBlock", 0), whole(n_out, "n_out", "PythonBlock", 0))
