"""Reduced models with memory: any static reduced model as the one-step map of a discrete-time system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mor.gate import Gate
from mor.ports import Port
from mor.reduced import Array, Arrays, Header, ReducedModel, frozen, header_gate, header_ports, rebuild
from rt_runtime.errors import ConfigError


def regressor_ports(
    signals: tuple[Port, ...], outputs: tuple[Port, ...], input_lags: int, output_lags: int
) -> tuple[Port, ...]:
    """Name the inputs of a one-step map: u now, u one step ago, ..., y one step ago, y two steps ago, ..."""
    now = list(signals)
    past_u = [Port(f"{p.name}_lag{lag}", p.unit) for lag in range(1, input_lags + 1) for p in signals]
    past_y = [Port(f"{p.name}_lag{lag}", p.unit) for lag in range(1, output_lags + 1) for p in outputs]
    return tuple(now + past_u + past_y)


@dataclass(frozen=True, eq=False)
class Memory(ReducedModel):
    """A model with memory, bounded for every input:

        x_k = (u_k, u_{k-1}, ..., u_{k-n}, y_{k-1}, ..., y_{k-m}),    y_k = clip(f(clip(x_k, domain)), bounds)

    with f = `step` (any static reduced model), n = `input_lags`, m = `output_lags`, one step = `dt` seconds. Within a
    lag the ports stand in the order of `signals` and `outputs`. The state is what is remembered, (u_{k-1}, ...,
    u_{k-n}, y_{k-1}, ..., y_{k-m}); it starts as `initial` (zeros: at rest, zero output). `predict`, `jacobian`,
    `inputs` and `domain` speak of the one-step map (rows are regressors x_k), `rollout` of the free run, where only u
    is given. Behind a `gate` its outputs, after their bounds, are multiplied by c = clip((x_j - closed) / (span -
    closed), 0, 1) with x_j one of the regressors; the others, states of the memory, are not touched.
    """

    kind: ClassVar[str] = "memory"
    step: ReducedModel
    signals: tuple[Port, ...]
    dt: float
    input_lags: int
    output_lags: int
    bounds: tuple[Array, Array]
    initial: Array
    gate: Gate | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.dt) and self.dt > 0.0):
            raise ConfigError(f"dt of a model with memory must be positive, got {self.dt:g} s.")
        if self.input_lags < 0 or self.output_lags < 0 or self.input_lags + self.output_lags == 0:
            raise ConfigError(
                "Lags of a model with memory must not be negative and at least one must be positive, "
                f"got input_lags={self.input_lags}, output_lags={self.output_lags}."
            )
        if self.step.gate is not None:
            raise ConfigError(
                "Step of a model with memory must have no gate: what is remembered would vanish as well; give it to "
                "the model itself."
            )
        need = len(self.signals) * (1 + self.input_lags) + len(self.outputs) * self.output_lags
        if len(self.step.inputs) != need:
            raise ConfigError(
                f"Step of a model with memory must have {need} inputs for {self.input_lags} input and "
                f"{self.output_lags} output lags of {len(self.signals)} signals and {len(self.outputs)} outputs, "
                f"got {len(self.step.inputs)}."
            )
        lower, upper = (frozen(np.broadcast_to(b, (len(self.outputs),))) for b in self.bounds)
        if not np.all(lower < upper) or not (np.all(np.isfinite(lower)) and np.all(np.isfinite(upper))):
            raise ConfigError(
                "Bounds of the outputs of a model with memory must be finite with lower < upper, "
                f"got {lower.tolist()} and {upper.tolist()}."
            )
        initial = frozen(self.initial)
        size = need - len(self.signals)
        if initial.shape != (size,):
            raise ConfigError(
                f"Initial state of a model with memory must have {size} values, got shape {initial.shape}."
            )
        if self.gate is not None:
            self.gate.check_memory(self.inputs, self.domain[1], self.outputs, (lower, upper))
        object.__setattr__(self, "bounds", (lower, upper))
        object.__setattr__(self, "initial", initial)

    @classmethod
    def around(
        cls,
        step: ReducedModel,
        signals: tuple[Port, ...],
        *,
        dt: float,
        input_lags: int,
        output_lags: int,
        bounds: tuple[ArrayLike, ArrayLike],
        gate: Gate | None = None,
    ) -> Self:
        """Wrap a static model as one-step map that starts from rest; outputs stay in `bounds` = (lower, upper)."""
        size = len(signals) * input_lags + len(step.outputs) * output_lags
        low, high = np.asarray(bounds[0], float), np.asarray(bounds[1], float)
        return cls(step, signals, float(dt), input_lags, output_lags, (low, high), np.zeros(size), gate)

    @property
    def inputs(self) -> tuple[Port, ...]:  # type: ignore[override]
        """The regressors x_k of one step."""
        return self.step.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:  # type: ignore[override]
        """What comes out of each step."""
        return self.step.outputs

    @property
    def domain(self) -> tuple[Array, Array]:  # type: ignore[override]
        """The range of the regressors; outside of it they are held at its edge."""
        return self.step.domain

    @property
    def cost(self) -> int:
        """Multiply-adds of one step."""
        return self.step.cost + self.gate_cost

    def _predict(self, X: Array) -> Array:
        clipped: Array = np.clip(self.step._predict(np.clip(X, *self.domain)), *self.bounds)
        return clipped

    def _jacobian(self, x: Array) -> Array:
        lower, upper = self.domain
        inside = np.clip(x, lower, upper)
        y = self.step._predict(inside[None, :])[0]
        free = (y > self.bounds[0]) & (y < self.bounds[1])
        slope: Array = self.step._jacobian(inside) * free[:, None] * ((x >= lower) & (x <= upper))
        return slope

    def _behind_gate(self, rows: Array) -> Array:
        y = self._predict(rows)
        if self.gate is not None:
            share = self.gate.share(rows, self.inputs)[:, None]
            y = np.where(self.gate.gated(self.outputs), y * share, y)
        return y

    def _slope_behind_gate(self, point: Array) -> Array:
        slope = self._jacobian(point)
        if self.gate is not None:
            gated, j = self.gate.gated(self.outputs), self.gate.column(self.inputs)
            slope[gated] *= self.gate.share(point[None, :], self.inputs)
            if self.gate.closed < point[j] < self.gate.span:  # on the edges it is the slope outside
                slope[gated, j] += self._predict(point[None, :])[0, gated] / self.gate.width
        return slope

    def rollout(self, u: ArrayLike, *, state: ArrayLike | None = None) -> Array:
        """Run freely over `u` (n_steps, n_signals) -> (n_steps, n_out) from `state` (default: `initial`)."""
        nothing = np.empty((0, 0))
        return self._run(u, state, nothing, np.empty(0, dtype=np.int64))

    def one_step(self, u: ArrayLike, measured: ArrayLike, *, names: Sequence[str] | None = None) -> Array:
        """Predict each step of a run from its true past, from `initial` on: (n_steps, n) of the outputs `names`.

        measured: (n_steps, n) what the named outputs (default: all) truly were; the others run freely.
        """
        own = [p.name for p in self.outputs]
        wanted = own if names is None else list(names)
        truth = np.ascontiguousarray(measured, dtype=np.float64)
        if not set(wanted) <= set(own) or truth.shape != (len(np.asarray(u)), len(wanted)):
            raise ConfigError(
                f"measured of Memory.one_step must have a row per step and a column per name out of {', '.join(own)}, "
                f"got shape {truth.shape} for {', '.join(wanted)}."
            )
        at = np.array([own.index(name) for name in wanted], dtype=np.int64)
        return self._run(u, None, truth, at)[:, at]

    def _run(self, u: ArrayLike, state: ArrayLike | None, truth: Array, at: NDArray[np.int64]) -> Array:
        inputs = np.ascontiguousarray(u, dtype=np.float64)
        if inputs.ndim != 2 or inputs.shape[1] != len(self.signals):
            raise ConfigError(
                f"u of Memory.rollout must have {len(self.signals)} columns "
                f"({', '.join(p.name for p in self.signals)}), got shape {inputs.shape}."
            )
        start = self.initial if state is None else np.asarray(state, dtype=np.float64)
        if start.shape != self.initial.shape:
            raise ConfigError(f"State of Memory.rollout must have {self.initial.size} values, got shape {start.shape}.")
        evaluate, parameters = self.step.kernel()
        x = np.concatenate([np.zeros(len(self.signals)), start])
        y = np.empty((len(inputs), len(self.outputs)))
        n_past_u = len(self.signals) * self.input_lags
        gate = gate_numbers(self.gate, self.inputs, self.outputs)
        _runner()(evaluate, parameters, inputs, x, n_past_u, *self.domain, *self.bounds, *gate, y, truth, at)
        return y

    def outside_run(self, u: ArrayLike) -> NDArray[np.bool_]:
        """Tell for each instant of `u` (n_steps, n_signals) whether the signals themselves leave the domain."""
        rows = np.atleast_2d(np.asarray(u, dtype=np.float64))
        lower, upper = (b[: len(self.signals)] for b in self.domain)
        inside: NDArray[np.bool_] = np.all((rows >= lower) & (rows <= upper), axis=1)
        return ~inside

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the step (prefix "step.") beside lags, dt, bounds and initial state."""
        own = {
            "dt": np.array([self.dt]),
            "lags": np.array([self.input_lags, self.output_lags], dtype=np.int64),
            "bounds": np.stack(self.bounds),
            "initial": self.initial,
        }
        return own | {f"step.{name}": array for name, array in self.step.arrays().items()}

    def header(self) -> dict[str, Any]:
        """Return kind, signals, outputs, the gate if any, and the header of the step."""
        return {
            "kind": self.kind,
            "signals": [[p.name, p.unit] for p in self.signals],
            "outputs": [[p.name, p.unit] for p in self.outputs],
            "step": self.step.header(),
        } | ({} if self.gate is None else {"gate": self.gate.plain()})

    @classmethod
    def from_arrays(cls, arrays: Arrays, header: Header) -> Self:
        """Rebuild the model and its step, bit for bit."""
        inner = {name.removeprefix("step."): a for name, a in arrays.items() if name.startswith("step.")}
        n_u, n_y = (int(n) for n in arrays["lags"])
        signals = header_ports(header, "signals")
        bounds = (arrays["bounds"][0], arrays["bounds"][1])
        step = rebuild(inner, header["step"])
        return cls(step, signals, float(arrays["dt"][0]), n_u, n_y, bounds, arrays["initial"], header_gate(header))

    def describe(self) -> dict[str, Any]:
        """Return the summary of the contract with dt, lags, bounds and the step's own summary."""
        return super().describe() | {
            "signals": [{"name": p.name, "unit": p.unit} for p in self.signals],
            "dt": self.dt,
            "input_lags": self.input_lags,
            "output_lags": self.output_lags,
            "bounds": [b.tolist() for b in self.bounds],
            "step": self.step.describe(),
        }

    def kernel(self) -> tuple[Callable[..., None], tuple[NDArray[Any], ...]]:
        """Return the compiled one-step map of the step; clipping and the gate are the caller's."""
        return self.step.kernel()


def gate_numbers(
    gate: Gate | None, inputs: Sequence[Port], outputs: Sequence[Port]
) -> tuple[Array, NDArray[np.bool_]]:
    """Return a gate for a compiled loop: (which of `inputs` it looks at, closed, span), which of `outputs` vanish."""
    if gate is None:
        return np.array([0.0, 0.0, 1.0]), np.zeros(len(outputs), dtype=np.bool_)
    return gate.numbers(inputs), gate.gated(outputs)


def share_of(x: float, closed: float, span: float) -> float:
    """Return c = clip((x - closed) / (span - closed), 0, 1), nan for a nan; for compiled loops."""
    c = (x - closed) / (span - closed)
    if c < 0.0:
        return 0.0
    return 1.0 if c > 1.0 else c


@cache
def _runner() -> Callable[..., None]:
    """Compile the free run: clamp the regressors, evaluate, clamp the outputs, gate them, shift the state."""
    from numba import njit

    share = njit(share_of)

    @njit
    def run(  # type: ignore[no-untyped-def]
        evaluate, parameters, u, x, n_past_u, x_low, x_high, y_low, y_high, gate, gated, out, truth, at
    ):
        n_u, n_y = u.shape[1], out.shape[1]
        first_y = n_u + n_past_u
        inside = np.empty_like(x)
        y = np.empty(n_y)
        for k in range(u.shape[0]):
            for i in range(n_u):
                x[i] = u[k, i]
            for i in range(x.size):
                inside[i] = min(max(x[i], x_low[i]), x_high[i])
            evaluate(inside, y, parameters)
            c = share(x[int(gate[0])], gate[1], gate[2])
            for i in range(n_y):
                y[i] = min(max(y[i], y_low[i]), y_high[i])
                if gated[i]:
                    y[i] *= c
                out[k, i] = y[i]
            for i in range(at.size):
                y[at[i]] = truth[k, i]
            for i in range(x.size - 1, first_y + n_y - 1, -1):
                x[i] = x[i - n_y]
            if x.size > first_y:
                for i in range(n_y):
                    x[first_y + i] = y[i]
            for i in range(first_y - 1, n_u - 1, -1):
                x[i] = x[i - n_u]

    return run  # type: ignore[no-any-return]
