"""A gate: outputs of a reduced model vanish with one of its inputs, exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mor.data.ports import Port
from rt_runtime.errors import ConfigError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Gate:
    """How the outputs y of a reduced model f vanish with one of its inputs:

        y = c f(u with u_j raised to span),   c = clip((u_j - closed) / (span - closed), 0, 1)

    with u_j the input named `input`, `span` and `closed` (0 as a rule) in its unit. Without that input (u_j <= closed)
    there is exactly no output, from there to `span` it fades in linearly, above it y = f(u). f is never asked below
    `span`, where it was not fitted. A nan stays one.

    In a model with memory (`MemoryModel`) only `outputs` vanish, and what it remembers beside them does not:

        y = c clip(f(clip(x, domain)), bounds) for `outputs`,   c = clip((x_j - closed) / (span - closed), 0, 1)

    with x_j one of its regressors, such as V_rw_lag1. Nothing is raised there: x_j runs through that range on its own.
    A `MemorySpec` names the signal or state itself ("V_rw") and leaves `outputs` to its own.
    """

    input: str
    span: float
    closed: float = 0.0
    outputs: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.span) and self.span > 0.0):
            raise ConfigError(f"span of a gate must be positive and finite, got {self.span!r}.")
        if not 0.0 <= self.closed < self.span:
            raise ConfigError(f"closed of a gate must lie in [0, {self.span:g}), below its span, got {self.closed!r}.")
        object.__setattr__(self, "span", float(self.span))
        object.__setattr__(self, "closed", float(self.closed))
        if self.outputs is not None:
            object.__setattr__(self, "outputs", tuple(self.outputs))

    def column(self, inputs: Sequence[Port]) -> int:
        """Return which of `inputs` the gate looks at."""
        names = [port.name for port in inputs]
        if self.input not in names:
            raise ConfigError(f"input of a gate must be one of {', '.join(names)}, got '{self.input}'.")
        return names.index(self.input)

    def check(self, inputs: Sequence[Port], upper: Array) -> None:
        """Refuse a gate of a static model that names outputs, looks at none of `inputs`, or never opens below their
        upper bounds (n_in,)."""
        if self.outputs is not None:
            raise ConfigError(
                f"outputs of a gate must be left out for a model without memory, got {', '.join(self.outputs)}; "
                "all of its outputs vanish."
            )
        self._check_span(inputs, upper)

    def check_memory(
        self, inputs: Sequence[Port], upper: Array, outputs: Sequence[Port], bounds: tuple[Array, Array]
    ) -> None:
        """Refuse a gate that does not fit the regressors `inputs` (upper bounds `upper`) and the outputs with their
        bounds (lower, upper) of a model with memory."""
        self._check_span(inputs, upper)
        names = [port.name for port in outputs]
        if not self.outputs or not set(self.outputs) <= set(names):
            raise ConfigError(f"outputs of a gate must be some of {', '.join(names)}, got {self.outputs!r}.")
        for name, low, high in zip(names, *bounds, strict=True):
            if name in self.outputs and not low <= 0.0 <= high:
                raise ConfigError(f"Bounds of '{name}' behind a gate must contain 0, got [{low:g}, {high:g}].")

    def numbers(self, inputs: Sequence[Port]) -> Array:
        """Return the gate for a compiled loop: which of `inputs` it looks at, closed and span."""
        return np.array([self.column(inputs), self.closed, self.span])

    def gated(self, outputs: Sequence[Port]) -> NDArray[np.bool_]:
        """Tell which of `outputs` vanish."""
        return np.array([self.outputs is None or port.name in self.outputs for port in outputs])

    def _check_span(self, inputs: Sequence[Port], upper: Array) -> None:
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
        c: Array = np.clip((X[:, self.column(inputs)] - self.closed) / self.width, 0.0, 1.0)
        return c

    @property
    def width(self) -> float:
        """How far it is from closed to open, span - closed."""
        return self.span - self.closed

    def slope(self, x: Array, inputs: Sequence[Port], f: Array, slope: Array) -> Array:
        """Return dy/dx (n_out, n_in) at one point x (n_in,) from f (n_out,) and its `slope` (n_out, n_in) there.

        On the edges it is the slope outside: zero where the gate is closed, that of f where it is open.
        """
        j = self.column(inputs)
        out: Array = slope * self.share(x[None, :], inputs)
        if x[j] < self.span:
            out[:, j] = f / self.width if x[j] > self.closed else 0.0
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
        """Return input, span, closed (where not 0) and (with memory) outputs as plain values, ready for JSON."""
        later = {} if self.closed == 0.0 else {"closed": self.closed}
        named = {} if self.outputs is None else {"outputs": list(self.outputs)}
        return {"input": self.input, "span": self.span} | later | named


def gated_kernel(
    gate: Gate, inputs: Sequence[Port], kernel: tuple[Callable[..., None], tuple[NDArray[Any], ...]]
) -> tuple[Callable[..., None], tuple[NDArray[Any], ...]]:
    """Return the compiled `evaluate` and its parameters (see ReducedModel.kernel) behind a gate."""
    evaluate, parameters = kernel
    return _behind(evaluate), (*parameters, np.empty(len(inputs)), gate.numbers(inputs))


@cache
def _behind(evaluate: Callable[..., None]) -> Callable[..., None]:
    from numba import njit

    @njit
    def gated(x, y, parameters):  # type: ignore[no-untyped-def]
        raised, j, closed, span = parameters[-2], int(parameters[-1][0]), parameters[-1][1], parameters[-1][2]
        for i in range(x.size):
            raised[i] = x[i]
        c = (x[j] - closed) / (span - closed)
        if c < 1.0:  # neither branch for a nan, which stays one
            raised[j], c = span, max(c, 0.0)
        elif c > 1.0:
            c = 1.0
        evaluate(raised, y, parameters[:-2])
        for i in range(y.size):
            y[i] *= c

    return gated  # type: ignore[no-any-return]
