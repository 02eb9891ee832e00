"""A gate: the outputs of a reduced model vanish with one of its inputs, exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mor.ports import Port
from rt_runtime.errors import ConfigError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Gate:
    """How the outputs y of a reduced model f vanish with one of its inputs:

        y = c f(u with u_j raised to span),   c = clip(u_j / span, 0, 1)

    with u_j the input named `input` and `span` in its unit. Without that input (u_j <= 0) there is exactly no output,
    from there to `span` it fades in linearly, above it y = f(u). f is never asked below `span`, where it was not
    fitted. A nan stays one.
    """

    input: str
    span: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.span) and self.span > 0.0):
            raise ConfigError(f"span of a gate must be positive and finite, got {self.span!r}.")
        object.__setattr__(self, "span", float(self.span))

    def column(self, inputs: Sequence[Port]) -> int:
        """Return which of `inputs` the gate looks at."""
        names = [port.name for port in inputs]
        if self.input not in names:
            raise ConfigError(f"input of a gate must be one of {', '.join(names)}, got '{self.input}'.")
        return names.index(self.input)

    def check(self, inputs: Sequence[Port], upper: Array) -> None:
        """Refuse a gate that looks at none of `inputs`, or never opens below their upper bounds (n_in,)."""
        top = upper[self.column(inputs)]
        if self.span > top:
            raise ConfigError(
                f"span of a gate must be at most the upper bound {top:g} of its input '{self.input}', "
                f"got {self.span:g}."
            )

    def raised(self, X: Array, inputs: Sequence[Port]) -> Array:
        """Return rows X (n, n_in) with u_j raised to span: what f is asked."""
        rows = X.copy()
        j = self.column(inputs)
        np.maximum(X[:, j], self.span, out=rows[:, j])
        return rows

    def share(self, X: Array, inputs: Sequence[Port]) -> Array:
        """Return c (n,) of rows X (n, n_in)."""
        c: Array = np.clip(X[:, self.column(inputs)] / self.span, 0.0, 1.0)
        return c

    def slope(self, x: Array, inputs: Sequence[Port], f: Array, slope: Array) -> Array:
        """Return dy/dx (n_out, n_in) at one point x (n_in,) from f (n_out,) and its `slope` (n_out, n_in) there.

        On the edges it is the slope outside: zero where the gate is closed, that of f where it is open.
        """
        j = self.column(inputs)
        out: Array = slope * self.share(x[None, :], inputs)
        if x[j] < self.span:
            out[:, j] = f / self.span if x[j] > 0.0 else 0.0
        return out

    def open_rows(self, X: Array, inputs: Sequence[Port], what: str, least: int) -> NDArray[np.bool_]:
        """Tell which rows of X (n, n_in) the model is free to fit: those with c = 1, at least `least` of them.

        A nan is no row to leave out silently: it counts as open, for the checks of the data to find.
        """
        free: NDArray[np.bool_] = ~(X[:, self.column(inputs)] < self.span)
        if np.count_nonzero(free) < least:
            raise ConfigError(
                f"{what} must have at least {least} rows with {self.input} of {self.span:g} or more, where its gate is "
                f"open, got {np.count_nonzero(free)} of {len(X)}; sample more or choose a smaller span."
            )
        return free

    def plain(self) -> dict[str, Any]:
        """Return input and span as plain values, ready for JSON."""
        return {"input": self.input, "span": self.span}


def gated_kernel(
    gate: Gate, inputs: Sequence[Port], kernel: tuple[Callable[..., None], tuple[NDArray[Any], ...]]
) -> tuple[Callable[..., None], tuple[NDArray[Any], ...]]:
    """Return the compiled `evaluate` and its parameters (see ReducedModel.kernel) behind a gate."""
    evaluate, parameters = kernel
    return _behind(evaluate), (*parameters, np.empty(len(inputs)), np.array([gate.column(inputs), gate.span]))


@cache
def _behind(evaluate: Callable[..., None]) -> Callable[..., None]:
    from numba import njit

    @njit
    def gated(x, y, parameters):  # type: ignore[no-untyped-def]
        raised, j, span = parameters[-2], int(parameters[-1][0]), parameters[-1][1]
        for i in range(x.size):
            raised[i] = x[i]
        c = x[j] / span
        if c < 1.0:  # neither branch for a nan, which stays one
            raised[j], c = span, max(c, 0.0)
        elif c > 1.0:
            c = 1.0
        evaluate(raised, y, parameters[:-2])
        for i in range(y.size):
            y[i] *= c

    return gated  # type: ignore[no-any-return]
