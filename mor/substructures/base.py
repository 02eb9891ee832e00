"""A part of a hybrid model: named ports, parameters with ranges, usable alone and as a block in a loop.

A kind (mor.substructures) names its ports and gives the mathematics in `_block`; checks, the simulation alone and the
identity are written once, here.
"""

from __future__ import annotations

import copy
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from mor.compile.ode import as_parameters
from mor.data.ports import Parameter, Port, as_ports, check_name
from mor.data.trajectory import Trajectory
from rt_runtime import Loop, Table
from rt_runtime._core import Block
from rt_runtime.checks import Array, finite_array, one_of, positive, whole
from rt_runtime.errors import ConfigError

PortSpec = Mapping[str, str] | Sequence[Port | str]
ParameterSpec = Mapping[str, Any] | Sequence[Parameter]
Inputs = ArrayLike | Mapping[str, ArrayLike] | Trajectory


class InputTiming(NamedTuple):
    """How a block reads its inputs; see `Substructure.block`."""

    update: str = "end"
    hold: str = "zoh"
    fresh: frozenset[str] = frozenset()


class Substructure(ABC):
    """A model with named inputs, outputs and parameters.

    `direct` names the inputs that some output follows within the same instant (y = g(x, u), not only y = g(x)); a
    hybrid model may read every other input from the last tick without adding a delay. `real_time` tells whether the
    block may stand in a paced loop.
    """

    kind: ClassVar[str]
    real_time: bool = True
    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    parameters: tuple[Parameter, ...]
    direct: frozenset[str]

    # What a kind gives

    @abstractmethod
    def _block(self, dt: float, values: dict[str, float], reading: InputTiming) -> Block:
        """Make the block for checked arguments."""

    @abstractmethod
    def _description(self) -> dict[str, Any]:
        """Return what the model computes (matrices, source text) as plain values, for `identity`."""

    # What every kind has

    def _declare(
        self,
        name: str,
        inputs: PortSpec,
        outputs: PortSpec,
        parameters: ParameterSpec = (),
        direct: Sequence[str] | None = None,
    ) -> None:
        """Set name, ports and parameters after a check; all inputs are direct unless `direct` names fewer."""
        self.name = check_name(name, "a substructure")
        self.inputs = as_ports(inputs, f"inputs of {self.of}")
        self.outputs = as_ports(outputs, f"outputs of {self.of}")
        self.parameters = as_parameters(parameters, self.of)
        names = [port.name for port in self.inputs]
        self.direct = frozenset(names if direct is None else direct)
        unknown = sorted(self.direct - set(names))
        if unknown:
            have = ", ".join(names) or "none"
            raise ConfigError(f"direct of {self.of} names '{unknown[0]}', which must be one of its inputs: {have}.")

    @property
    def of(self) -> str:
        """How error sentences call it."""
        return f"substructure '{self.name}'"

    def block(
        self,
        *,
        dt: float,
        parameters: Mapping[str, float] | None = None,
        update: str = "end",
        hold: str = "zoh",
        fresh: Sequence[str] = (),
    ) -> Block:
        """Make a block that is stepped every `dt` seconds; its ports stand in the order of `inputs` and `outputs`.

        update="end": outputs for the inputs of this tick, then the state advances with them over the next `dt`.
        update="start": the state first advances over the last `dt` with the inputs read now, for inputs that are last
        tick's values; `fresh` names inputs that are of this tick nevertheless. hold: "zoh" or, with update="start",
        "foh" (inputs run linearly between ticks).
        """
        step = positive(dt, "dt", self.of)
        one_of(update, "update", self.of, ("end", "start"))
        one_of(hold, "hold", self.of, ("zoh", "foh"))
        for name in fresh:
            one_of(name, "fresh", self.of, tuple(port.name for port in self.inputs))
        return self._block(step, self.parameter_values(parameters), InputTiming(update, hold, frozenset(fresh)))

    def simulate(
        self,
        u: Inputs,
        *,
        dt: float,
        parameters: Mapping[str, float] | None = None,
        hold: str = "zoh",
        every: int = 1,
    ) -> Trajectory:
        """Run the substructure alone from its initial state; return inputs and outputs at the ticks 0, dt, 2 dt, ...

        `u` is (n, n_inputs), or {input: history (n) or number}, or a Trajectory whose columns are interpolated to the
        ticks. An input is held over a tick ("zoh", as in a hybrid model) or runs linearly to the next tick ("foh").
        `every` keeps each n-th tick.
        """
        step = positive(dt, "dt", self.of)
        every = whole(every, "every", self.of, 1)
        rows = input_rows(u, self.inputs, step, self.of)
        outputs = self._simulate(rows, step, self.parameter_values(parameters), hold, every)
        time = np.arange(len(outputs)) * (every * step)
        own = [port for port in self.inputs if port.name not in {p.name for p in self.outputs}]
        kept = [i for i, port in enumerate(self.inputs) if port in own]
        return Trajectory(time, np.column_stack([rows[::every, kept], outputs]), (*own, *self.outputs))

    def _simulate(self, rows: Array, dt: float, values: dict[str, float], hold: str, every: int) -> Array:
        one_of(hold, "hold", self.of, ("zoh", "foh"))
        block = self._block(dt, values, InputTiming("start" if hold == "foh" and self._ramps() else "end", hold))
        loop = Loop(1.0 / dt)
        for port in self.inputs:
            loop.signal(f"in.{port.name}", unit=port.unit)
        for port in self.outputs:
            loop.signal(f"out.{port.name}", unit=port.unit)
        ins, outs = [f"in.{p.name}" for p in self.inputs], [f"out.{p.name}" for p in self.outputs]
        if ins:
            loop.add("u", Table(np.arange(len(rows)) * dt, rows), outputs=ins)
        loop.add("model", block, inputs=ins, outputs=outs)
        loop.record(outs, every=every)
        return loop.run(len(rows) * dt).values

    @property
    def own_step(self) -> float | None:
        """Time in s between two steps that the part was made for; None where it takes any."""
        return None

    def ticks(self, dt: float) -> int:
        """Return in every how many ticks of `dt` seconds the part runs, its outputs held in between: those of its own
        step, 1 where it has none."""
        own = self.own_step
        if own is None:
            return 1
        n = max(round(own / dt), 1)
        if abs(own - n * dt) > 1e-9 * own:
            raise ConfigError(
                f"dt of {self.of} must be that of its model, {own:g} s, or a whole fraction of it, got {dt:g} s; fit "
                "the model for this dt."
            )
        return n

    @property
    def step_is_unknown(self) -> bool:
        """Whether nothing tells how long a step may be before the inputs are known."""
        return False

    def check_inputs(self, rows: Array, *, dt: float, parameters: Mapping[str, float] | None = None) -> None:
        """Refuse a step `dt` that is too long for these inputs (n, n_inputs), where nothing else tells."""
        return

    def _ramps(self) -> bool:
        """Whether "foh" of the block needs update="start"."""
        return True

    def parameter_values(self, parameters: Mapping[str, float] | None = None) -> dict[str, float]:
        """Return all parameters, the defaults replaced by the named values after a check of their range."""
        given = dict(parameters or {})
        values, problems = {}, []
        for default in self.parameters:
            value = given.pop(default.name, default.value)
            values[default.name] = float(value)
            if not default.lower <= value <= default.upper:
                problems.append(
                    f"Parameter '{default.name}' of {self.of} must lie in [{default.lower:g}, {default.upper:g}] "
                    f"{default.unit}, got {value:g}.".replace(" ,", ",")
                )
        known = ", ".join(parameter.name for parameter in self.parameters) or "none"
        problems += [f"Parameter '{name}' of {self.of} is unknown; it has {known}." for name in given]
        if problems:
            raise ConfigError.from_problems(f"Parameters of {self.of}", problems)
        return values

    def with_parameters(self, parameters: Mapping[str, float]) -> Self:
        """Return a copy whose defaults are the named values."""
        values = self.parameter_values(parameters)
        twin = copy.copy(self)
        twin.parameters = tuple(Parameter(p.name, values[p.name], p.unit, p.lower, p.upper) for p in self.parameters)
        return twin

    def renamed(self, name: str, ports: Mapping[str, str] | None = None) -> Self:
        """Return a copy with another name and, where `ports` = {old: new} says so, other names of its ports."""
        new = dict(ports or {})
        unknown = [port for port in new if port not in {p.name for p in (*self.inputs, *self.outputs)}]
        if unknown:
            raise ConfigError(f"Port '{unknown[0]}' of {self.of} is unknown; it has {self.signature()}.")
        twin = copy.copy(self)
        twin.name = check_name(name, "a substructure")
        twin.inputs = tuple(Port(new.get(p.name, p.name), p.unit) for p in self.inputs)
        twin.outputs = tuple(Port(new.get(p.name, p.name), p.unit) for p in self.outputs)
        twin.direct = frozenset(new.get(name, name) for name in self.direct)
        return twin

    def signature(self) -> str:
        """Return the ports as text: F_br [N], w_rw [rpm] -> tau_rw [Nm]."""
        return f"{_names(self.inputs)} -> {_names(self.outputs)}"

    def under(
        self, u: Inputs, *, dt: float, hold: str = "zoh", every: int = 1, record: Sequence[str] | None = None
    ) -> Simulation:
        """Return the model under given inputs as something a campaign evaluates: parameters in, Trajectory out."""
        return Simulation(self, u, dt, hold, every, record)

    def identity(self) -> dict[str, Any]:
        """Return what decides the results, as plain values: name, kind, ports, defaults, a hash of the mathematics."""
        text = json.dumps(self._description(), sort_keys=True)
        return {
            "name": self.name,
            "kind": self.kind,
            "inputs": {p.name: p.unit for p in self.inputs},
            "outputs": {p.name: p.unit for p in self.outputs},
            "parameters": {p.name: p.value for p in self.parameters},
            "code": hashlib.sha256(text.encode()).hexdigest()[:16],
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}: {self.signature()})"


class Simulation:
    """A substructure under given inputs; `evaluate` makes one run for each sample of its parameters.

    `record` names the columns to keep (default: all inputs and outputs).
    """

    outputs: tuple[Port, ...] = ()

    def __init__(
        self, part: Substructure, u: Inputs, dt: float, hold: str, every: int, record: Sequence[str] | None
    ) -> None:
        self.name = part.name
        self._part, self._dt, self._hold, self._every, self._record = part, dt, hold, every, record
        self._rows = input_rows(u, part.inputs, positive(dt, "dt", part.of), part.of)

    def identity(self) -> dict[str, Any]:
        """Return the identity of the substructure with its inputs and step."""
        inputs = hashlib.sha256(self._rows.tobytes()).hexdigest()[:16]
        record = None if self._record is None else list(self._record)
        run = {"u": inputs, "dt": self._dt, "hold": self._hold, "every": self._every, "record": record}
        return self._part.identity() | {"run": run}

    def evaluate(self, parameters: Mapping[str, float]) -> Trajectory:
        """Run once with the named parameters."""
        run = self._part.simulate(self._rows, dt=self._dt, parameters=parameters, hold=self._hold, every=self._every)
        return run if self._record is None else run.select(self._record)


def _names(ports: Sequence[Port]) -> str:
    return ", ".join(f"{p.name} [{p.unit}]" if p.unit else p.name for p in ports) or "-"


def input_rows(u: Inputs, ports: tuple[Port, ...], dt: float, of: str) -> Array:
    """Return the histories of all `ports` as (n, n_ports); see Substructure.simulate for what `u` may be."""
    names = [port.name for port in ports]
    if isinstance(u, Trajectory):
        _check_names(u.names, names, of)
        for port in ports:
            unit = u.units[u.names.index(port.name)]
            if not same_unit(unit, port.unit):
                raise ConfigError(f"Input '{port.name}' of {of} must be in '{port.unit}', got '{unit}'; convert it.")
        ticks = np.arange(int(np.floor((u.time[-1] - u.time[0]) / dt + 1e-9)) + 1) * dt + u.time[0]
        histories = [finite_array(u[name], f"input '{name}'", of, (None,)) for name in names]
        columns = [np.interp(ticks, u.time, history) for history in histories]
    elif isinstance(u, Mapping):
        _check_names(tuple(u), names, of)
        lengths = {np.size(u[name]) for name in names if np.ndim(u[name]) > 0}
        if len(lengths) != 1:
            raise ConfigError(
                f"Inputs of {of} must have one length with at least one history among them, got lengths "
                f"{sorted(lengths) or 'of numbers only'}."
            )
        n = lengths.pop()
        columns = [
            finite_array(np.full(n, u[name]) if np.ndim(u[name]) == 0 else u[name], f"input '{name}'", of, (n,))
            for name in names
        ]
    else:
        array = np.asarray(u, dtype=float)
        rows = finite_array(array[:, None] if array.ndim == 1 else array, "u", of, (None, len(ports)))
        if len(rows) == 0:
            raise ConfigError(f"u of {of} must have at least one row, got none.")
        return rows
    return np.ascontiguousarray(np.column_stack(columns))


def _check_names(given: Sequence[str], wanted: Sequence[str], of: str) -> None:
    missing = [name for name in wanted if name not in given]
    unknown = [name for name in given if name not in wanted]
    problems = [f"Input '{name}' of {of} is missing; give a history or a number." for name in missing]
    problems += [f"Input '{name}' of {of} is unknown; it has {', '.join(wanted) or 'none'}." for name in unknown]
    if problems:
        raise ConfigError.from_problems(f"Inputs of {of}", problems)


def same_unit(a: str, b: str) -> bool:
    """Tell whether two units are written alike up to spaces, dots and signs of powers."""

    def plain(unit: str) -> str:
        for sign in (" ", "^", "**", "*", "·", "."):
            unit = unit.replace(sign, "")
        return unit

    return plain(a) == plain(b)


def check_step(of: str, dt: float, substeps: int, largest: float, method: str = "rk4") -> None:
    """Refuse a step of an explicit method ("rk4", "ab2") beyond its stability limit `largest`; say what would do."""
    if dt > largest * substeps * (1 + 1e-9):
        needed = int(np.ceil(dt / largest))
        raise ConfigError(
            f"dt of {of} must be at most {largest * substeps:.4g} s with {substeps} sub-steps of {method.upper()}, got "
            f"{dt:g} s; take a smaller dt or {needed} sub-steps."
        )
