"""Reduced models with memory: any static reduced model as the one-step map of a discrete-time system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mor.compile.kept_loop import KeptLoop
from mor.data.ports import Port, as_ports
from mor.reduced.base import Arrays, Header, ReducedModel, frozen, header_ports, rebuild
from mor.reduced.hysteresis.front import Front
from mor.reduced.hysteresis.operators import Operator, operator_of
from mor.reduced.recursion import free_run
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

OUTSIDE = ("clip", "tangent", "trip")


def regressor_ports(
    signals: tuple[Port, ...],
    outputs: tuple[Port, ...],
    input_lags: int,
    output_lags: int,
    features: tuple[Port, ...] = (),
) -> tuple[Port, ...]:
    """Name the inputs of a one-step map: u now, u one step ago, ..., features, y one step ago, y two steps ago, ..."""
    now = list(signals)
    past_u = [Port(f"{p.name}_lag{lag}", p.unit) for lag in range(1, input_lags + 1) for p in signals]
    past_y = [Port(f"{p.name}_lag{lag}", p.unit) for lag in range(1, output_lags + 1) for p in outputs]
    return tuple([*now, *past_u, *features, *past_y])


@dataclass(frozen=True, eq=False, repr=False)
class MemoryModel(ReducedModel):
    """A model with memory, bounded for every input. Signals u go in, responses y come out:

        phi_k, p_k = operators(clip(u_k), p_{k-1})
        x_k = (u_k, u_{k-1}, ..., u_{k-n}, phi_k, z_{k-1}, ..., z_{k-m})
        z_k = clip(f(clip(x_k, domain of f)), bounds),    y_k the first of z_k

    with f = `step`, any static reduced model; what it puts out behind the responses are states that only come back.

    Parameters
    ----------
    step
        The one-step map; its inputs are x, its outputs z.
    inputs
        The signals u.
    bounds
        (lower, upper) of z.
    initial
        State at the start of a run: (u_{k-1}, ..., u_{k-n}, z_{k-1}, ..., z_{k-m}, p_{k-1}).
    dt
        Seconds a step; None where it does not matter (operators alone).
    input_lags, output_lags
        n and m.
    responses
        How many of z are outputs; None for all.
    operators
        Rate-independent memories and features of the signals; see `mor.reduced.hysteresis.operators`.
    outside_rule
        What happens outside the domain of the signals: "clip" holds them at its edge, "tangent" goes on with the
        constant `slope` (n_z, n_u) from there, "trip" clips and asks the engine to trip.
    """

    kind: ClassVar[str] = "memory"
    step: ReducedModel
    inputs: tuple[Port, ...]
    bounds: tuple[Array, Array]
    initial: Array
    dt: float | None = None
    input_lags: int = 0
    output_lags: int = 0
    responses: int | None = None
    operators: tuple[Operator, ...] = ()
    outside_rule: str = "clip"
    slope: Array | None = None

    def __post_init__(self) -> None:
        hold = object.__setattr__
        hold(self, "inputs", as_ports(self.inputs, "inputs of a model with memory"))
        hold(self, "operators", tuple(self.operators))
        hold(self, "initial", frozen(self.initial))
        n_z = len(self.step.outputs)
        hold(self, "responses", n_z if self.responses is None else self.responses)
        hold(self, "bounds", tuple(frozen(np.broadcast_to(b, (n_z,))) for b in self.bounds))
        hold(self, "slope", None if self.slope is None else frozen(self.slope))
        self._check()

    def _check(self) -> None:
        n_u, n_z = len(self.inputs), len(self.step.outputs)
        if self.input_lags < 0 or self.output_lags < 0 or self.input_lags + self.output_lags + len(self.operators) == 0:
            raise ConfigError(
                "Lags of a model with memory must not be negative and it must have lags or operators, "
                f"got input_lags={self.input_lags}, output_lags={self.output_lags}."
            )
        timed = self.input_lags + self.output_lags > 0 or any(operator.timed for operator in self.operators)
        if self.dt is None and timed:
            raise ConfigError("dt of a model with memory must be given: its lags and relaxations depend on it.")
        if self.dt is not None and not (np.isfinite(self.dt) and self.dt > 0.0):
            raise ConfigError(f"dt of a model with memory must be positive, got {self.dt:g} s.")
        need = n_u * (1 + self.input_lags) + len(self.front.features) + n_z * self.output_lags
        if len(self.step.inputs) != need:
            raise ConfigError(
                f"Step of a model with memory must have {need} inputs for {self.input_lags} input and "
                f"{self.output_lags} output lags of {n_u} signals and {n_z} outputs and {len(self.front.features)} "
                f"features of operators, got {len(self.step.inputs)}."
            )
        if not isinstance(self.responses, int) or not 1 <= self.responses <= n_z:
            raise ConfigError(f"responses of a model with memory must lie between 1 and {n_z}, got {self.responses!r}.")
        lower, upper = self.bounds
        if not np.all(lower < upper) or not (np.all(np.isfinite(lower)) and np.all(np.isfinite(upper))):
            raise ConfigError(
                "Bounds of the outputs of a model with memory must be finite with lower < upper, "
                f"got {lower.tolist()} and {upper.tolist()}."
            )
        if not self.states:
            raise ConfigError("A model with memory must have a state, got lags of none and operators without memory.")
        if self.initial.shape != (len(self.states),):
            raise ConfigError(
                f"Initial state of a model with memory must have {len(self.states)} values, "
                f"got shape {self.initial.shape}."
            )
        if self.outside_rule not in OUTSIDE:
            raise ConfigError(
                f"outside_rule of a model with memory must be one of {', '.join(OUTSIDE)}, got {self.outside_rule!r}."
            )
        if (self.slope is None) == (self.outside_rule == "tangent") or (
            self.slope is not None and (self.slope.shape != (n_z, n_u) or not np.all(np.isfinite(self.slope)))
        ):
            raise ConfigError(
                f"slope of a model with memory must have shape ({n_z}, {n_u}) and finite values with outside_rule "
                "'tangent', and be None otherwise."
            )
        self.step.check_step(self.bounds, self.slope)

    @classmethod
    def around(
        cls,
        step: ReducedModel,
        signals: Sequence[Port],
        *,
        dt: float | None,
        input_lags: int = 0,
        output_lags: int = 0,
        bounds: tuple[ArrayLike, ArrayLike],
        responses: int | None = None,
        operators: Sequence[Operator] = (),
        outside_rule: str = "clip",
        slope: Array | None = None,
    ) -> Self:
        """Wrap a static model as one-step map that starts from rest (a state of zeros); the rest as in the class."""
        states = len(Front(tuple(operators), tuple(signals), dt).states)
        size = len(signals) * input_lags + len(step.outputs) * output_lags + states
        low, high = np.asarray(bounds[0], float), np.asarray(bounds[1], float)
        return cls(
            step, tuple(signals), (low, high), np.zeros(size), None if dt is None else float(dt), input_lags,
            output_lags, responses, tuple(operators), outside_rule, slope,
        )  # fmt: skip

    @cached_property
    def front(self) -> Front:
        """The operators as one program."""
        return Front(self.operators, self.inputs, self.dt)

    @cached_property
    def outputs(self) -> tuple[Port, ...]:  # type: ignore[override]
        """The responses."""
        return self.step.outputs[: self.responses]

    @property
    def every_output(self) -> tuple[Port, ...]:
        """What the step puts out: the responses, then states behind them."""
        return self.step.outputs

    @cached_property
    def domain(self) -> tuple[Array, Array]:  # type: ignore[override]
        """The range of the signals."""
        n_u = len(self.inputs)
        return frozen(self.step.domain[0][:n_u]), frozen(self.step.domain[1][:n_u])

    @property
    def n_exogenous(self) -> int:
        """How many regressors follow from the signals alone: u, lags of u, features."""
        return len(self.inputs) * (1 + self.input_lags) + len(self.front.features)

    @cached_property
    def states(self) -> tuple[Port, ...]:  # type: ignore[override]
        """The state: lags of the signals, lags of what the step puts out, states of the operators."""
        regressors = self.step.inputs
        n_u, n_x = len(self.inputs), len(regressors)
        past_y = regressors[n_x - len(self.step.outputs) * self.output_lags :]
        return (*regressors[n_u : n_u * (1 + self.input_lags)], *past_y, *self.front.states)

    @cached_property
    def state_domain(self) -> tuple[Array, Array]:
        """Bounds (lower, upper) of the states."""
        n_u, n_x = len(self.inputs), len(self.step.inputs)
        first_y = n_x - len(self.step.outputs) * self.output_lags
        own = self.front.ranges(*self.domain)
        low, high = (
            frozen(np.concatenate([b[n_u : n_u * (1 + self.input_lags)], b[first_y:], o]))
            for b, o in zip(self.step.domain, own, strict=True)
        )
        return low, high

    @cached_property
    def meaning(self) -> tuple[str, ...]:
        """What each state is, in words."""
        outputs = self.step.outputs
        past_u = [f"{p.name}, {k} step ago" for k in range(1, self.input_lags + 1) for p in self.inputs]
        past_y = [f"{p.name}, {k} step ago" for k in range(1, self.output_lags + 1) for p in outputs]
        return (*past_u, *past_y, *self.front.meaning)

    @property
    def cost(self) -> int:
        """Multiply-adds of one step; an operator counts as two."""
        return self.step.cost + 2 * len(self.front.table)

    def with_map(self, change: Callable[[ReducedModel], ReducedModel]) -> Self:
        """Return the model with `change` of its one-step map."""
        return replace(self, step=change(self.step))

    def kinks(self) -> dict[str, Array]:
        """Return those of the one-step map."""
        return self.step.kinks()

    def facts(self) -> dict[str, Any]:
        """Return those of the one-step map."""
        return self.step.facts()

    # Running

    def start(self) -> Array:
        """Return a copy of `initial`."""
        return self.initial.copy()

    def rollout(self, u: ArrayLike, *, state: ArrayLike | None = None) -> Array:
        """Run freely over `u` (n_steps, n_signals) -> (n_steps, n_out) from `state` (default: `initial`)."""
        return self._run(u, self._start(state), np.empty((0, 0)), np.empty(0, dtype=np.int64))

    def advance(self, u: ArrayLike, state: ArrayLike) -> tuple[Array, Array]:
        """Take one step from each of several states: u (n, n_signals), state (n, n_state) -> y (n, n_out), next state.

        One row (n_signals,), (n_state,) is taken as n = 1.
        """
        now, before = np.atleast_2d(np.asarray(u, float)), np.atleast_2d(np.asarray(state, float))
        if len(now) != len(before) or before.shape[1] != len(self.states):
            raise ConfigError(
                f"state of MemoryModel.advance must have {len(self.states)} columns and a row per row of u, "
                f"got shape {before.shape}."
            )
        after = before.copy()
        nothing, nobody = np.empty((0, 0)), np.empty(0, dtype=np.int64)
        y = [self._run(now[i : i + 1], after[i], nothing, nobody) for i in range(len(now))]
        return np.concatenate(y) if y else np.empty((0, len(self.outputs))), after

    def one_step(self, u: ArrayLike, measured: ArrayLike, *, names: Sequence[str] | None = None) -> Array:
        """Predict each step of a run from its true past, from `initial` on: (n_steps, n) of the outputs `names`.

        measured: (n_steps, n) what the named outputs (default: all) truly were; the others run freely. States of the
        memory behind the outputs may be named as well.
        """
        own = [p.name for p in self.step.outputs]
        wanted = [p.name for p in self.outputs] if names is None else list(names)
        truth = np.ascontiguousarray(measured, dtype=np.float64)
        if not set(wanted) <= set(own) or truth.shape != (len(np.asarray(u)), len(wanted)):
            raise ConfigError(
                "measured of MemoryModel.one_step must have a row per step and a column per name out of "
                f"{', '.join(own)}, got shape {truth.shape} for {', '.join(wanted)}."
            )
        at = np.array([own.index(name) for name in wanted], dtype=np.int64)
        return self._run(u, self._start(None), truth, at, all_of_them=True)[:, at]

    def everything(self, u: ArrayLike) -> Array:
        """Run freely over `u` and return all the step puts out (n_steps, n_z): responses, then states behind them."""
        return self._run(u, self._start(None), np.empty((0, 0)), np.empty(0, dtype=np.int64), all_of_them=True)

    def _start(self, state: ArrayLike | None) -> Array:
        start = np.array(self.initial if state is None else state, dtype=np.float64)
        if start.shape != self.initial.shape:
            raise ConfigError(
                f"State of MemoryModel.rollout must have {self.initial.size} values, got shape {start.shape}."
            )
        return start

    def _run(self, u: ArrayLike, state: Array, truth: Array, at: NDArray[np.int64], all_of_them: bool = False) -> Array:
        """The one recursion: run over u from `state`, which is moved on; `truth` replaces the outputs `at`."""
        inputs = np.ascontiguousarray(u, dtype=np.float64)
        if inputs.ndim != 2 or inputs.shape[1] != len(self.inputs):
            raise ConfigError(
                f"u of MemoryModel.rollout must have {len(self.inputs)} columns "
                f"({', '.join(p.name for p in self.inputs)}), got shape {inputs.shape}."
            )
        z = np.empty((len(inputs), len(self.step.outputs)))
        self._free_run(inputs, state, z, truth, at)
        return z if all_of_them else np.ascontiguousarray(z[:, : self.responses])

    @cached_property
    def _free_run(self) -> KeptLoop:
        evaluate, parameters = self._kernel
        n_x, n_z = len(self.step.inputs), len(self.step.outputs)
        slope = np.empty((0, 0)) if self.slope is None else self.slope
        sizes = np.array([len(self.inputs) * self.input_lags, len(self.front.features)])
        free = (np.empty((0, len(self.inputs))), self.initial, np.empty((0, n_z)), slope, sizes)
        work = (np.empty(n_x), np.empty(n_x), np.empty(n_z))
        bound = (parameters, sizes, (self.front.table, self.front.numbers), self.step.domain, slope, self.bounds, work)
        return KeptLoop(free_run(evaluate), (*free, *bound), len(free))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_free_run"}  # an address here alone

    @cached_property
    def _kernel(self) -> tuple[Callable[..., None], tuple[NDArray[Any], ...]]:
        return self.step.kernel()

    # The contract: rows are instants of one run

    def _predict(self, X: Array) -> Array:
        return self.rollout(X)

    def _jacobian(self, x: Array) -> Array:
        """Differentiate the response to x (n_in,) at rest, by central differences: operators have kinks."""
        lower, upper = self.domain
        h = 1e-6 * (upper - lower)
        rows = np.concatenate([x + np.diag(h), x - np.diag(h)])
        y, _ = self.advance(rows, np.tile(self.initial, (len(rows), 1)))
        slope: Array = ((y[: len(h)] - y[len(h) :]) / (2.0 * h)[:, None]).T
        return slope

    def kernel(self) -> tuple[Callable[..., None], tuple[NDArray[Any], ...]]:
        """Return the compiled one-step map of the step; clipping and operators are those of the free run."""
        return self._kernel

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the step (prefix "step.") beside lags, dt, bounds and initial state."""
        own = {
            "dt": np.array([0.0 if self.dt is None else self.dt]),
            "lags": np.array([self.input_lags, self.output_lags], dtype=np.int64),
            "bounds": np.stack(self.bounds),
            "initial": self.initial,
        } | ({} if self.slope is None else {"slope": self.slope})
        return own | {f"step.{name}": array for name, array in self.step.arrays().items()}

    def header(self) -> dict[str, Any]:
        """Return kind, signals, outputs, operators and the header of the step."""
        return {
            "kind": self.kind,
            "signals": [[p.name, p.unit] for p in self.inputs],
            "outputs": [[p.name, p.unit] for p in self.outputs],
            "operators": [operator.plain() for operator in self.operators],
            "outside": self.outside_rule,
            "step": self.step.header(),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, header: Header) -> Self:
        """Rebuild the model and its step, bit for bit; files of version 0.1 name all that the step puts out."""
        inner = {name.removeprefix("step."): a for name, a in arrays.items() if name.startswith("step.")}
        n_u, n_y = (int(n) for n in arrays["lags"])
        bounds = (arrays["bounds"][0], arrays["bounds"][1])
        dt = float(arrays["dt"][0])
        return cls(
            rebuild(inner, header["step"]), header_ports(header, "signals"), bounds, arrays["initial"],
            dt if dt > 0.0 else None, n_u, n_y, len(header["outputs"]),
            tuple(operator_of(values) for values in header.get("operators", ())), header.get("outside", "clip"),
            arrays.get("slope"),
        )  # fmt: skip

    def describe(self) -> dict[str, Any]:
        """Return the summary of the contract with dt, states, lags, operators, bounds and the step's own summary."""
        return super().describe() | {
            "dt": self.dt,
            "states": [
                {"name": p.name, "unit": p.unit, "meaning": text}
                for p, text in zip(self.states, self.meaning, strict=True)
            ],
            "input_lags": self.input_lags,
            "output_lags": self.output_lags,
            "operators": [operator.plain() for operator in self.operators],
            "outside": self.outside_rule,
            "bounds": [b.tolist() for b in self.bounds],
            "step": self.step.describe(),
        }
