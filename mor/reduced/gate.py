"""A gate around a reduced model: outputs vanish with one of its inputs, exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mor.data.dataset import Dataset
from mor.data.ports import Port
from mor.reduced.base import Arrays, Header, ReducedModel, frozen, rebuild
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

_STEPS = 21  # from a closed gate to an open one, both edges included


@dataclass(frozen=True)
class Gate:
    """How outputs vanish with the input u_j named `input`: they are multiplied by the share

        c = clip((u_j - closed) / (span - closed), 0, 1)

    with `span` and `closed` (0 as a rule) in its unit. Up to `closed` there is exactly no output, from there to `span`
    it fades in linearly, above it the model is as it was. A nan stays one.

    Fit a model to the rows where the gate is open and put the gate around it:

        model = gate.around(fit_pce(gate.open(data), space))

    Parameters
    ----------
    input
        Name of the input. A `MemorySpec` names a signal or state of the model ("V_rw") and fits the model behind it.
    outputs
        Those that vanish; None for all.
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

    def around(self, model: ReducedModel) -> ReducedModel:
        """Return `model` behind the gate; of a model with memory it stands around the one-step map."""
        return model.with_map(lambda inner: GatedModel(inner, self))

    def open(self, data: Dataset) -> Dataset:
        """Return the rows of `data` where the gate is open: what a model behind it is fitted to.

        A nan is no row to leave out silently: it counts as open, for the checks of a fit to find.
        """
        free = ~(data.X[:, self.column(data.inputs)] < self.span)
        if not free.any():
            raise ConfigError(
                f"Data behind a gate must have rows with {self.input} of {self.span:g} or more, where it is open, "
                f"got none of {len(data)}; sample more or choose a smaller span."
            )
        return data.take(free)

    def column(self, inputs: Sequence[Port]) -> int:
        """Return which of `inputs` the gate looks at."""
        names = [port.name for port in inputs]
        if self.input not in names:
            raise ConfigError(f"input of a gate must be one of {', '.join(names)}, got '{self.input}'.")
        return names.index(self.input)

    def vanishing(self, outputs: Sequence[Port]) -> NDArray[np.bool_]:
        """Tell which of `outputs` vanish."""
        return np.array([self.outputs is None or port.name in self.outputs for port in outputs])

    def share(self, X: Array, inputs: Sequence[Port]) -> Array:
        """Return c (n,) of rows X (n, n_in)."""
        c: Array = np.clip((X[:, self.column(inputs)] - self.closed) / self.width, 0.0, 1.0)
        return c

    @property
    def width(self) -> float:
        """How far it is from closed to open, span - closed."""
        return self.span - self.closed

    def plain(self) -> dict[str, Any]:
        """Return input, span, closed (where not 0) and outputs (where named) as plain values, ready for JSON."""
        later = {} if self.closed == 0.0 else {"closed": self.closed}
        named = {} if self.outputs is None else {"outputs": list(self.outputs)}
        return {"input": self.input, "span": self.span} | later | named


def gate_numbers(gate: Gate | None, inputs: Sequence[Port], outputs: Sequence[Port]) -> tuple[Array, NDArray[np.bool_]]:
    """Return a gate for a compiled loop: (which of `inputs` it looks at, closed, span), which of `outputs` vanish."""
    if gate is None:
        return np.array([0.0, 0.0, 1.0]), np.zeros(len(outputs), dtype=np.bool_)
    return np.array([gate.column(inputs), gate.closed, gate.span]), gate.vanishing(outputs)


@dataclass(frozen=True, eq=False, repr=False)
class GatedModel(ReducedModel):
    """A reduced model f behind a gate on its input u_j:

        y = c f(u with u_j raised to floor) for the outputs that vanish,   f(...) for the others

    with the share c of the `gate`. Where all outputs vanish, `floor` is its span: f is not used below, where it was
    not fitted. Where others go on, f is asked as it is, from the lower end of its domain on.

    Parameters
    ----------
    model
        f.
    bounds
        (lower, upper) of f in front of the gate; None for none. Models with memory of version 0.1 have them.
    """

    kind: ClassVar[str] = "gated"
    wraps: ClassVar[str] = "gate"
    model: ReducedModel
    gate: Gate
    bounds: tuple[Array, Array] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.model, GatedModel):
            raise ConfigError(
                f"Model behind a gate must have none of its own, got one on '{self.model.gate.input}'; take one gate."
            )
        if self.bounds is not None:
            object.__setattr__(self, "bounds", tuple(frozen(b) for b in self.bounds))
        top = self.model.domain[1][self.column]
        if self.gate.span > top:
            raise ConfigError(
                f"span of a gate must be at most the upper bound {top:g} of its input '{self.gate.input}', "
                f"got {self.gate.span:g}."
            )
        names = [port.name for port in self.model.outputs]
        if self.gate.outputs is not None and not (self.gate.outputs and set(self.gate.outputs) <= set(names)):
            raise ConfigError(f"outputs of a gate must be some of {', '.join(names)}, got {self.gate.outputs!r}.")

    @property
    def inputs(self) -> tuple[Port, ...]:  # type: ignore[override]
        """Those of f."""
        return self.model.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:  # type: ignore[override]
        """Those of f."""
        return self.model.outputs

    @cached_property
    def domain(self) -> tuple[Array, Array]:  # type: ignore[override]
        """That of f, and of u_j all from where the gate is closed."""
        lower, upper = self.model.domain
        down = lower.copy()
        down[self.column] = min(lower[self.column], self.gate.closed)
        return frozen(down), upper

    @cached_property
    def column(self) -> int:
        """Which input j is."""
        return self.gate.column(self.model.inputs)

    @cached_property
    def vanishing(self) -> NDArray[np.bool_]:
        """Which outputs vanish (n_out,)."""
        return self.gate.vanishing(self.model.outputs)

    @property
    def floor(self) -> float:
        """What u_j is raised to before f is asked, -inf for nothing."""
        if self.gate.outputs is None:
            return self.gate.span
        low = float(self.model.domain[0][self.column])
        return low if low > self.gate.closed else -np.inf

    @property
    def core(self) -> ReducedModel:
        """The model without anything around it."""
        return self.model.core

    def _raised(self, X: Array) -> Array:
        rows = X.copy()
        np.maximum(X[:, self.column], self.floor, out=rows[:, self.column])
        return rows

    def _bounded(self, y: Array) -> Array:
        return y if self.bounds is None else np.clip(y, *self.bounds)

    def _predict(self, X: Array) -> Array:
        y = self._bounded(self.model._predict(self._raised(X)))
        return np.where(self.vanishing, y * self.gate.share(X, self.inputs)[:, None], y)

    def _jacobian(self, x: Array) -> Array:
        """Apply the product rule; on the edges of the gate it is the slope outside."""
        j, asked = self.column, self._raised(x[None, :])
        free, slope = self.model._predict(asked)[0], self.model._jacobian(asked[0])
        y = self._bounded(free)
        slope[(y != free) & ~np.isnan(free)] = 0.0
        if x[j] < self.floor:
            slope[:, j] = 0.0
        out: Array = np.where(self.vanishing[:, None], slope * self.gate.share(x[None, :], self.inputs), slope)
        if self.gate.closed < x[j] < self.gate.span:
            out[:, j] += np.where(self.vanishing, y / self.gate.width, 0.0)
        return out

    def kernel(self) -> tuple[Callable[..., None], tuple[NDArray[Any], ...]]:
        """Return the compiled evaluation of f between its gate."""
        evaluate, parameters = self.model.kernel()
        numbers, vanishing = gate_numbers(self.gate, self.inputs, self.outputs)
        n = len(self.outputs)
        bounds = np.array([np.full(n, -np.inf), np.full(n, np.inf)] if self.bounds is None else self.bounds)
        work = np.empty(len(self.inputs))
        return _behind(evaluate), (*parameters, work, np.append(numbers, self.floor), vanishing, bounds)

    @property
    def cost(self) -> int:
        """Multiply-adds: those of f, one for the share and one for each output that vanishes."""
        return self.model.cost + 1 + int(self.vanishing.sum())

    def kinks(self) -> dict[str, Array]:
        """Return values of u_j from a closed gate to an open one."""
        return self.model.kinks() | {self.gate.input: np.linspace(self.gate.closed, self.gate.span, _STEPS)}

    def check_step(self, bounds: tuple[Array, Array], slope: Array | None) -> None:
        """Refuse a gate around all outputs of a one-step map, states included, and one that bounds or slope undo."""
        names = [port.name for port in self.outputs]
        if self.gate.outputs is None:
            raise ConfigError(f"outputs of a gate must be some of {', '.join(names)} in a model with memory, got None.")
        for i in np.flatnonzero(self.vanishing):
            if not bounds[0][i] <= 0.0 <= bounds[1][i]:
                raise ConfigError(
                    f"Bounds of '{names[i]}' behind a gate must contain 0, got [{bounds[0][i]:g}, {bounds[1][i]:g}]."
                )
            if slope is not None and slope[i].any():
                raise ConfigError(f"slope of '{names[i]}' behind a gate must be 0 outside of the domain.")

    def facts(self) -> dict[str, Any]:
        """Return the gate beside what f says."""
        return self.model.facts() | {"gate": self.gate.plain()}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of f."""
        return self.model.arrays()

    def header(self) -> dict[str, Any]:
        """Return the header of f with the gate in it."""
        bounds = {} if self.bounds is None else {"gate_bounds": [b.tolist() for b in self.bounds]}
        return self.model.header() | {"gate": self.gate.plain()} | bounds

    @classmethod
    def from_arrays(cls, arrays: Arrays, header: Header) -> Self:
        """Rebuild f and the gate around it; a model with memory of version 0.1 had it around its bounded step."""
        inner = rebuild(arrays, {key: value for key, value in header.items() if key not in ("gate", "gate_bounds")})
        bounds: Any = arrays["bounds"] if inner.states else header.get("gate_bounds")
        gate = Gate(**header["gate"])
        return inner.with_map(lambda f: cls(f, gate, bounds))  # type: ignore[return-value]

    def describe(self) -> dict[str, Any]:
        """Return the summary of f, with the gate, the domain and the cost of both."""
        return self.model.describe() | super().describe() | {"kind": self.core.kind}


@cache
def _behind(evaluate: Callable[..., None]) -> Callable[..., None]:
    from numba import njit

    @njit
    def gated(x, y, parameters):  # type: ignore[no-untyped-def]
        raised, vanishing, bounds = parameters[-4], parameters[-2], parameters[-1]
        column, closed, span, floor = parameters[-3]
        j = int(column)
        for i in range(x.size):
            raised[i] = x[i]
        if x[j] < floor:
            raised[j] = floor
        c = (x[j] - closed) / (span - closed)
        if c < 0.0:  # neither branch for a nan, which stays one
            c = 0.0
        elif c > 1.0:
            c = 1.0
        evaluate(raised, y, parameters[:-4])
        for i in range(y.size):
            y[i] = min(max(y[i], bounds[0, i]), bounds[1, i])
            if vanishing[i]:
                y[i] *= c

    return gated  # type: ignore[no-any-return]
