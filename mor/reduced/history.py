"""What a model with memory remembers: lagged inputs and outputs, first-order filters, operators for hysteresis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mor.data.dataset import Dataset
from mor.data.ports import Port, check_name
from mor.reduced.base import ReducedModel
from mor.reduced.gate import Gate
from mor.reduced.hysteresis.front import Front
from mor.reduced.hysteresis.operators import Operator
from mor.reduced.memory import regressor_ports
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class LowPassMemory:
    """A fading memory of one signal v: z_k = a z_{k-1} + (1 - a) v_k with a = exp(-dt / time_constant).

    `of` names an input, an output, or a product of two such as "tau_rw*w_rw" (the friction power that heats a disc).
    The pole a lies inside the unit circle and z inside the range of v: such a memory is stable whatever is fitted to
    it. A bank of them with a static map behind approximates every system whose memory fades (Boyd and Chua, 1985).
    """

    of: str
    time_constant: float

    def __post_init__(self) -> None:
        for part in self.factors:
            check_name(part, "a signal of a filter")
        if len(self.factors) > 2:
            raise ConfigError(f"Signal of a filter must be a name or a product of two, got {self.of!r}.")
        if not (math.isfinite(self.time_constant) and self.time_constant > 0.0):
            raise ConfigError(
                f"Time constant of the filter of '{self.of}' must be positive, got {self.time_constant:g} s."
            )

    @property
    def factors(self) -> tuple[str, ...]:
        """The names in the product."""
        return tuple(part.strip() for part in self.of.split("*"))

    @property
    def learned(self) -> bool:
        """True when a fit must learn what drives the filter beside the outputs: a product is not at hand otherwise."""
        return len(self.factors) > 1


@dataclass(frozen=True)
class State(LowPassMemory):
    """An inner state s of the full-order model, carried along by the reduced one: z_k = a z_{k-1} + (1 - a) q_k.

    What drives it is learned: q_k = (s_k - a s_{k-1}) / (1 - a), about s + time_constant ds/dt, as a function of the
    inputs and of z itself. That is the model's own differential equation ds/dt = (q - s) / time_constant; any constant
    of the size of the state's own pace will do. `of` names one of the `hidden` signals of a `MemorySpec`.
    """

    @property
    def learned(self) -> bool:
        """Always true."""
        return True


@dataclass(frozen=True)
class MemorySpec:
    """The structure of a model with memory, sampled every `dt` seconds (None where only operators remember).

    `signals` are the inputs u, `outputs` what the model gives; it remembers `input_lags` values of each input,
    `output_lags` of each output, the state of each filter and the states of the `operators`. Filters appear as further
    outputs of the one-step map (`states`), which is how they are remembered from step to step. `hidden` are signals of
    the full-order model that stand behind the outputs in the data, for filters to follow.

    Behind a `gate` the outputs vanish with one thing the model sees: with a signal, a filter or state by its name
    ("V_rw", as it was one step ago), or any other of the `features` (one of its own outputs never opens it from rest,
    which a fit refuses). States and filters go on as they are; one that
    follows an output, alone or in a product, learns what drives it from the data, where the output vanishes by itself.
    """

    signals: tuple[Port, ...]
    outputs: tuple[Port, ...]
    dt: float | None = None
    input_lags: int = 0
    output_lags: int = 0
    filters: tuple[LowPassMemory, ...] = ()
    hidden: tuple[Port, ...] = ()
    operators: tuple[Operator, ...] = ()
    gate: Gate | None = None

    def __post_init__(self) -> None:
        for name in ("signals", "outputs", "filters", "hidden", "operators"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        problems = []
        if self.dt is None and (self.input_lags + self.output_lags + len(self.filters) or self.timed):
            problems.append("dt of a memory with lags or filters must be given, got None.")
        if self.dt is not None and not (math.isfinite(self.dt) and self.dt > 0.0):
            problems.append(f"dt of a history must be positive, got {self.dt:g} s.")
        if min(self.input_lags, self.output_lags) < 0:
            problems.append(
                f"Lags of a history must not be negative, got input_lags={self.input_lags}, "
                f"output_lags={self.output_lags}."
            )
        if self.input_lags + self.output_lags + len(self.filters) + len(self.operators) == 0:
            problems.append(
                "A history must have lags, filters or operators, got none; without memory fit a static model."
            )
        hidden = [p.name for p in self.hidden]
        known = [p.name for p in (*self.signals, *self.outputs)]
        for f in self.filters:
            for name in f.factors:
                if isinstance(f, State) and name not in hidden:
                    problems.append(f"State '{f.of}' must be one of the hidden signals ({', '.join(hidden)}).")
                elif not isinstance(f, State) and name not in known:
                    problems.append(f"Filter of '{f.of}' must follow one of {', '.join(known)}, got '{name}'.")
            if self.dt is not None and f.time_constant < self.dt:
                problems.append(
                    f"Time constant of the filter of '{f.of}' must be at least dt = {self.dt:g} s, "
                    f"got {f.time_constant:g} s."
                )
        problems += [
            f"Operator of '{operator.of}' must follow one of {', '.join(p.name for p in self.signals)}, got '{name}'."
            for operator in self.operators
            for name in operator.signals
            if name not in [p.name for p in self.signals]
        ]
        if not problems and self.gate is not None:
            seen = [p.name for p in self.features]
            if self.gate.input not in seen and f"{self.gate.input}_lag1" not in seen:
                problems.append(
                    f"input of the gate of a history must be one of {', '.join(seen)}, got '{self.gate.input}'."
                )
            if self.gate.outputs is not None:
                problems.append("outputs of the gate of a history must be left out: all of its outputs vanish.")
        if problems:
            raise ConfigError.from_problems("Memory", problems)

    @cached_property
    def states(self) -> tuple[Port, ...]:
        """One port a filter: F_br_f1, tau_rw_w_rw_f2, ...; a `State` has the name of what it is."""
        unit = {p.name: p.unit for p in (*self.signals, *self.outputs, *self.hidden)}
        return tuple(
            Port(f.of, unit[f.of]) if isinstance(f, State)
            else Port(f"{'_'.join(f.factors)}_f{i}", " ".join(unit[name] for name in f.factors if unit[name]))
            for i, f in enumerate(self.filters, 1)
        )  # fmt: skip

    @cached_property
    def sources(self) -> tuple[Port, ...]:
        """What drives products and states; a fit must learn it beside the outputs."""
        return tuple(
            Port("_".join(f.factors) if len(f.factors) > 1 else f"{port.name}_drive", port.unit)
            for port, f, learned in zip(self.states, self.filters, self.learned, strict=True)
            if learned
        )

    @property
    def learned(self) -> tuple[bool, ...]:
        """For each filter, whether a fit must learn what drives it: a map in front of a gate is not its output."""
        gated = () if self.gate is None else tuple(p.name for p in self.outputs)
        return tuple(f.learned or f.of.strip() in gated for f in self.filters)

    @property
    def memory_gate(self) -> Gate | None:
        """The gate of the one-step map: the regressor it looks at, and the outputs that vanish."""
        if self.gate is None:
            return None
        seen = self.gate.input in [p.name for p in self.features]
        at = self.gate.input if seen else f"{self.gate.input}_lag1"
        return replace(self.gate, input=at, outputs=tuple(p.name for p in self.outputs))

    def behind_gate(self, step: ReducedModel) -> ReducedModel:
        """Return the one-step map behind the gate, if any."""
        return step if self.memory_gate is None else self.memory_gate.around(step)

    @property
    def lags(self) -> int:
        """Steps the one-step map remembers of its outputs (at least one where there are filters)."""
        return max(self.output_lags, 1 if self.filters else 0)

    @property
    def feedback(self) -> bool:
        """True when what the model puts out comes back to it, so that errors of a step reach later ones."""
        inputs = {p.name for p in self.signals}
        return self.output_lags > 0 or any(not set(f.factors) <= inputs for f in self.filters)

    @property
    def poles(self) -> Array:
        """The factor a of each filter."""
        if self.dt is None:
            return np.empty(0)
        return np.exp([-self.dt / f.time_constant for f in self.filters])

    @cached_property
    def front(self) -> Front:
        """The operators as one program."""
        return Front(self.operators, self.signals, self.dt)

    @property
    def timed(self) -> bool:
        """True when one of the operators depends on the step."""
        return any(operator.timed for operator in self.operators)

    @property
    def n_exogenous(self) -> int:
        """How many features follow from the signals alone: u, lags of u, features of operators; they stand first."""
        return len(self.signals) * (1 + self.input_lags) + len(self.front.features)

    def resolved(self, data: Dataset) -> MemorySpec:
        """Return it with the numbers that its operators leave to the data."""
        self.check(data)
        runs, names = split_runs(data), [p.name for p in self.signals]
        return replace(
            self,
            operators=tuple(
                operator.resolved([run.X[:, names.index(operator.signals[0])] for run in runs])
                for operator in self.operators
            ),
        )

    @property
    def features(self) -> tuple[Port, ...]:
        """What a fitted map sees: u now, u before, operators, y before, the state of the filters one step ago."""
        lagged = regressor_ports(self.signals, self.outputs, self.input_lags, self.output_lags, self.front.features)
        return (*lagged, *(Port(f"{p.name}_lag1", p.unit) for p in self.states))

    @property
    def targets(self) -> tuple[Port, ...]:
        """What a fitted map gives: y now, and what drives products and states."""
        return (*self.outputs, *self.sources)

    def table(self, data: Dataset, *, rows: int | None = None, seed: int = 0) -> Dataset:
        """Return (features, targets) of the runs in `data`, at most `rows` instants drawn with `seed` (None: all).

        Half of them are drawn evenly over time, half evenly along the way the signals, outputs and filters travel: a
        quick change counts as much as a slow one, and rest does not crowd out what happens in between. Where only
        operators remember, all are drawn along the way: time does not matter to them.

        `data` has the signals as inputs, the outputs and hidden signals as outputs, one `run` a trajectory sampled
        every dt that starts from rest; lags before its first instant are zero, as in `MemoryModel`.
        """
        return self.tables(data, rows=rows, seeds=[seed])[0]

    def tables(self, data: Dataset, *, rows: int | None = None, seeds: Sequence[int]) -> list[Dataset]:
        """Return what `table` gives for each seed; what they have in common is done once."""
        self.check(data)
        runs = split_runs(data)
        offsets = np.cumsum([0, *(len(run.X) for run in runs)])
        chosen = self.draws(data, rows=rows, seeds=seeds)
        every = np.unique(np.concatenate(chosen))
        pieces = [
            self.rows(run.X, run.Y, every[(every >= first) & (every < last)] - first)
            for run, (first, last) in zip(runs, pairwise(offsets), strict=True)
        ]
        X, Y = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        owner = np.searchsorted(offsets, every, side="right") - 1
        at = [np.searchsorted(every, mine) for mine in chosen]
        return [Dataset(X[one], Y[one], self.features, self.targets, run=owner[one]) for one in at]

    def draw(self, data: Dataset, *, rows: int | None = None, seed: int = 0) -> NDArray[np.int64]:
        """Return the rows of `data`, in order, that `table` would take."""
        return self.draws(data, rows=rows, seeds=[seed])[0]

    def draws(self, data: Dataset, *, rows: int | None = None, seeds: Sequence[int]) -> list[NDArray[np.int64]]:
        """Return what `draw` gives for each seed."""
        if rows is None or rows >= len(data):
            return [np.arange(len(data))] * len(seeds)
        way = np.cumsum(self._way(split_runs(data)))
        timeless = rows if self.dt is None else rows // 2
        found = []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            along = np.searchsorted(way, rng.uniform(0.0, way[-1], timeless))
            evenly = rng.choice(len(data), rows - timeless, replace=False)
            found.append(np.unique(np.concatenate([along, evenly])))
        return found

    def _way(self, runs: Sequence[Dataset]) -> Array:
        """Return how far each step of the runs goes: |change| over range, summed over signals, outputs and filters."""
        paths = [np.hstack([run.X, run.Y, self.filtered(self.driving(run.X, run.Y))]) for run in runs]
        low = np.min([path.min(axis=0) for path in paths], axis=0)
        span = np.maximum(np.max([path.max(axis=0) for path in paths], axis=0) - low, 1e-300)
        return np.concatenate(
            [np.sum(np.abs(np.diff(path, axis=0, prepend=path[:1])) / span, axis=1) for path in paths]
        )

    def rows(self, u: Array, y: Array, at: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return features (n, n_features) and targets (n, n_targets) of one run at the instants `at` (n,)."""
        columns = [u[at]]
        shown = y[:, : len(self.outputs)]

        def lagged(values: Array, lags: int) -> list[Array]:
            return [np.where((at >= lag)[:, None], values[np.maximum(at - lag, 0)], 0.0) for lag in range(1, lags + 1)]

        columns += lagged(u, self.input_lags)
        if self.operators:
            columns.append(self.front.run(u)[0][at])
        columns += lagged(shown, self.output_lags)
        driving = self.driving(u, y)
        z = self.filtered(driving)
        if self.filters:
            columns.append(np.where((at >= 1)[:, None], z[np.maximum(at - 1, 0)], 0.0))
        learned = np.flatnonzero(self.learned)
        return np.column_stack(columns), np.column_stack([shown[at], driving[at][:, learned]])

    def driving(self, u: Array, y: Array) -> Array:
        """Return the signal (n, n_filters) each filter follows; y holds outputs and hidden signals."""
        names = [p.name for p in (*self.signals, *self.outputs, *self.hidden)]
        column = dict(zip(names, np.hstack([u, y]).T, strict=True))
        parts = []
        for f, a in zip(self.filters, self.poles, strict=True):
            v = np.prod([column[name] for name in f.factors], axis=0)
            parts.append((v - a * np.append(0.0, v[:-1])) / (1.0 - a) if isinstance(f, State) else v)
        return np.column_stack(parts) if parts else np.empty((len(u), 0))

    def filtered(self, driving: Array) -> Array:
        """Return the states (n, n_filters) of filters that start from zero."""
        from scipy.signal import lfilter

        out = np.empty_like(driving)
        for i, a in enumerate(self.poles):
            out[:, i] = lfilter([1.0 - a], [1.0, -a], driving[:, i])
        return out

    def check(self, data: Dataset) -> None:
        """Refuse data whose columns are not the signals and outputs, in their order."""
        outputs = (*self.outputs, *self.hidden)
        for what, want, got in (("inputs", self.signals, data.inputs), ("outputs", outputs, data.outputs)):
            if tuple(want) != tuple(got):
                raise ConfigError(
                    f"Data for a model with memory must have the {what} {_names(want)}, got {_names(got)}."
                )
        if data.dt is not None and self.dt is not None and abs(data.dt - self.dt) > 1e-6 * self.dt:
            raise ConfigError(
                f"Data for a model with memory must be sampled every dt = {self.dt:g} s of its history, got a row "
                f"every {data.dt:g} s; resample the runs or give the history their dt."
            )
        if not (np.all(np.isfinite(data.X)) and np.all(np.isfinite(data.Y))):
            raise ConfigError("Data for a model with memory must be finite, got NaN or infinite values.")

    def check_opens(self) -> None:
        """Refuse a gate that never opens in a run from rest: one on the outputs that vanish with it."""
        own = [f"{p.name}_lag{k + 1}" for p in self.outputs for k in range(self.output_lags)]
        if self.gate is not None and self.memory_gate is not None and self.memory_gate.input in own:
            raise ConfigError(
                f"input of the gate of a history must not be an output of it, got '{self.gate.input}', which is zero "
                "at rest and so stays zero; name a signal, a state or a filter."
            )


def split_runs(data: Dataset) -> list[Dataset]:
    """Return the trajectories of `data` one by one, in order of appearance; all of it is one when `run` is None."""
    if data.run is None:
        return [data]
    edges = np.flatnonzero(np.diff(data.run)) + 1
    pieces = [slice(a, b) for a, b in pairwise([0, *edges, len(data)])]
    if len(pieces) != len(np.unique(data.run)):
        raise ConfigError("Rows of one run must stand together in data for a model with memory; sort them by run.")
    return [
        Dataset(data.X[p], data.Y[p], data.inputs, data.outputs, run=data.run[p], dt=data.dt, space=data.space)
        for p in pieces
    ]


def _names(ports: Sequence[Port]) -> str:
    return ", ".join(f"{p.name} [{p.unit}]" for p in ports)
