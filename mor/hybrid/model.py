"""Hybrid models: substructures coupled port to port, driven by excitations, turned into a loop."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from mor.data.ports import Port, check_name
from mor.data.trajectory import Trajectory
from mor.excitation.sampled import Excitation
from mor.hybrid.latent import Drift, Latent, default_values, draw
from mor.hybrid.vector_wiring import expand_couplings
from mor.hybrid.wiring import Wiring, wire
from mor.marginals import Marginal
from mor.substructures.base import Substructure
from rt_runtime import Loop, Record, Table, previous
from rt_runtime.checks import positive, whole
from rt_runtime.errors import ConfigError

Source = float | Trajectory | Excitation | Substructure
Couplings = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class TransferSystem:
    """What stands between a target and the specimen: actuator, and a controller in front of it.

    The actuator has one input (the command) and one output (the measured signal). The controller has the inputs
    `target` and, if it feeds back, `measured`, and one output; without a controller the command is the target. The
    controller runs in every `every`-th tick, and its command is held in between.
    """

    actuator: Substructure
    controller: Substructure | None = None
    every: int = 1

    def __post_init__(self) -> None:
        whole(self.every, "every", "a transfer system", 1)


@dataclass(frozen=True)
class MultiTransfer:
    """Several actuators and one controller between a vector of targets and the inputs "reader.stroke[6]".

    Signals: `reader.stroke.command_1` and so on, `.measured_1` and so on, further outputs of the controller by name.

    Parameters
    ----------
    actuator
        m inputs (commands), one output (measured) per target.
    controller
        Inputs target[p] and, if it feeds back, measured[p], then any others; the first m outputs are the commands.
    every
        The controller runs in every so many ticks, its commands are held in between.
    reads
        {further input of the controller: "writer.output"}, for example the numerical state of a preview.
    """

    actuator: Substructure
    controller: Substructure
    every: int = 1
    reads: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole(self.every, "every", "a transfer system", 1)
        object.__setattr__(self, "reads", expand_couplings(self.reads))


class HybridModel:
    """A set of substructures with their couplings, excitations and transfer systems.

    couplings: {"reader.input": source}, where a source is "writer.output", the name of an excitation, or a list of
    sources that are added (a leading "-" subtracts). An input that is not named is coupled to the output or excitation
    of its own name, if there is exactly one. excitations: a Trajectory (one excitation per column, interpolated
    linearly, held after its end), or {name: source} with a number, an Excitation, a Trajectory of one column or a
    substructure without inputs.
    transfers: {"reader.input": TransferSystem} on couplings, {"reader.input[6]": MultiTransfer} on a vector of them;
    "reader.pose[6]": "writer.w[6]" couples two vectors element by element.
    `dt` in s is the tick, `duration` in s the default run.

    Signals of the loop have the name of their port, or "substructure.port" where several ports share a name. Behind a
    transfer system stand "reader.input.target", ".command" and ".measured".

    latent: {name: law} of what differs between two runs of the same test. The name of a parameter ("M", "body.M") makes
    it random (a specimen: the `level` of a lambda model); that of a signal gives its sensor a random offset, and all
    readers get "signal.measured". A run with a seed draws them, one without takes their means; a campaign names them as
    parameters (`mor.replicate`). drift: {name: (first, last)}, what is added from the first to the last run of a
    campaign.

    Parameters
    ----------
    every
        Runs keep each n-th tick.
    """

    def __init__(
        self,
        name: str,
        substructures: Sequence[Substructure],
        *,
        dt: float,
        couplings: Couplings | None = None,
        excitations: Trajectory | Mapping[str, Source] | None = None,
        transfers: Mapping[str, TransferSystem | MultiTransfer] | None = None,
        duration: float | None = None,
        every: int = 1,
        latent: Mapping[str, Marginal] | None = None,
        drift: Drift | None = None,
    ) -> None:
        self.name = check_name(name, "a hybrid model")
        self.dt = positive(dt, "dt", self.of)
        self.duration = None if duration is None else positive(duration, "duration", self.of)
        self.every = whole(every, "every", self.of, 1)
        self.substructures = {part.name: part for part in substructures}
        if len(self.substructures) != len(substructures):
            names = [part.name for part in substructures]
            twice = sorted({n for n in names if names.count(n) > 1})
            raise ConfigError(f"Substructures of {self.of} must have names of their own, got {', '.join(twice)} twice.")
        self.excitations: dict[str, float | Trajectory | Substructure] = _excitations(excitations, self.of)
        self.couplings = expand_couplings(couplings or {})
        self.transfers = dict(transfers or {})
        self.latent = Latent({}, {}, {}, {}, self.of)
        self._wiring = self._wire()
        if latent or drift:
            defaults = default_values({node.name: node.part.parameters for node in self._wiring.nodes})
            self.latent = Latent(dict(latent or {}), dict(drift or {}), defaults, self.signals, self.of)
            self._wiring = self._wire()

    @property
    def of(self) -> str:
        """How error sentences call it."""
        return f"hybrid model '{self.name}'"

    @property
    def order(self) -> tuple[str, ...]:
        """Names of the blocks in the order a tick calls them, excitations left out."""
        return tuple(node.name for node in self._wiring.nodes)

    @property
    def delays(self) -> tuple[str, ...]:
        """Couplings that lag by one tick, as "signal -> reader.input": they close a loop of instantaneous couplings."""
        return self._wiring.delays

    @property
    def signals(self) -> dict[str, str]:
        """All signals of the loop with their units."""
        return {name: port.unit for name, port in self._wiring.signals.items()}

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all parameters; one name stands for the parameter in every substructure that has it."""
        names = [p.name for node in self._wiring.nodes for p in node.part.parameters]
        return tuple(dict.fromkeys(names))

    def swap(self, name: str, substructure: Substructure) -> Self:
        """Return a copy with another substructure in the place of `name`; it must have the same ports."""
        if name not in self.substructures:
            have = ", ".join(self.substructures)
            raise ConfigError(f"Substructure '{name}' of {self.of} is unknown; it has {have}.")
        old = self.substructures[name]
        if _port_set(old) != _port_set(substructure):
            raise ConfigError(
                f"Substructure in the place of '{name}' must have the ports {old.signature()}, got "
                f"{substructure.signature()}; rename its ports or convert units."
            )
        twin = copy.copy(self)
        twin.substructures = {
            key: substructure.renamed(name) if key == name else part for key, part in self.substructures.items()
        }
        twin._wiring = twin._wire()
        return twin

    def with_excitations(self, excitations: Trajectory | Mapping[str, Source]) -> Self:
        """Return a copy with some excitations replaced."""
        new = _excitations(excitations, self.of)
        unknown = [name for name in new if name not in self.excitations]
        if unknown:
            have = ", ".join(self.excitations) or "none"
            raise ConfigError(f"Excitation '{unknown[0]}' of {self.of} is unknown; it has {have}.")
        twin = copy.copy(self)
        twin.excitations = self.excitations | new
        twin._wiring = twin._wire()
        return twin

    def loop(self, *, parameters: Mapping[str, float] | None = None, dt: float | None = None) -> Loop:
        """Build the loop; `parameters` name a parameter ("M") or that of one substructure ("body.M")."""
        step = self.dt if dt is None else positive(dt, "dt", self.of)
        settled, offsets = self.latent.settle(parameters or {})
        values = self._values(settled)
        constants = {f"{name}.offset": value for name, value in offsets.items()}
        loop = Loop(1.0 / step)
        for name, port in self._wiring.signals.items():
            source = constants.get(name, self.excitations.get(name))
            if isinstance(source, float):
                loop.constant(name, source, unit=port.unit)
            else:
                loop.signal(name, unit=port.unit)
        for names in self._tables():
            sources = [source for name in names if isinstance(source := self.excitations[name], Trajectory)]
            columns = np.column_stack([source.values for source in sources])
            table = Table(sources[0].time - sources[0].time[0], columns)
            loop.add(f"excitation.{'.'.join(names)}", table, outputs=names)
        for node in self._wiring.nodes:
            update = "start" if node.start else "end"
            fresh = [port.name for port, i in zip(node.part.inputs, node.inputs, strict=True) if i not in node.late]
            own, every = values.get(node.name), node.ticks(step)
            block = node.part.block(dt=step * every, parameters=own, update=update, fresh=fresh)
            inputs = [previous(i) if i in node.late else i for i in node.inputs]
            loop.add(node.name, block, inputs=inputs, outputs=node.outputs, every=every)
        return loop

    def run(
        self,
        duration: float | None = None,
        *,
        parameters: Mapping[str, float] | None = None,
        dt: float | None = None,
        record: Sequence[str] | None = None,
        every: int | None = None,
        seed: int | None = None,
    ) -> Trajectory:
        """Run from the initial state; return the recorded signals (default: all) at every `every`-th tick.

        seed: draw the latent variables, those of `parameters` excepted; without it they are at their means.
        """
        if seed is not None:
            parameters = draw(self.latent.space, seed) | dict(parameters or {})
        length = self.duration if duration is None else duration
        if length is None:
            raise ConfigError(f"duration of {self.of} is missing; give it to run or to the model.")
        loop = self.loop(parameters=parameters, dt=dt)
        names = list(self.signals if record is None else record)
        kept = self.every if every is None else every
        loop.record(names, every=kept)
        result = loop.run(length)
        if kept == 1:
            values = self._values(self.latent.settle(parameters or {})[0])
            self._check_steps(result, names, values, self.dt if dt is None else dt)
        ports = [Port(name.replace(".", "_"), self.signals[name]) for name in names]
        return Trajectory(result.time, result.values, ports)

    def _check_steps(
        self, result: Record, names: Sequence[str], values: Mapping[str, Mapping[str, float]], dt: float
    ) -> None:
        """Now that their inputs are known, check the step of parts for which nothing else tells it."""
        for node in self._wiring.nodes:
            if set(node.inputs) <= set(names):
                every = node.ticks(dt)
                rows = result.values[::every, [names.index(name) for name in node.inputs]]
                node.part.check_inputs(rows, dt=dt * every, parameters=values.get(node.name))

    def evaluate(self, parameters: Mapping[str, float]) -> Trajectory:
        """Run the default duration with the named parameters: one sample of a campaign."""
        return self.run(parameters=parameters)

    @property
    def outputs(self) -> tuple[Port, ...]:
        """Numbers that `evaluate` returns beside the Trajectory: none."""
        return ()

    def identity(self) -> dict[str, Any]:
        """Return what decides the results, as plain values: parts, couplings, excitations, step, duration."""
        return {
            "name": self.name,
            "parts": {
                n.name: n.part.identity() | {"reads": list(n.inputs), "every": n.every} for n in self._wiring.nodes
            },
            "excitations": {name: _excitation_identity(source) for name, source in self.excitations.items()},
            "delays": list(self.delays),
            "run": {"dt": self.dt, "duration": self.duration, "every": self.every},
        } | self.latent.identity()

    def describe(self) -> str:
        """Return the blocks in the order of a tick, where each input comes from, and the delays, as text."""
        lines = [f"Hybrid model '{self.name}', tick {self.dt:g} s"]
        for name in self.excitations:
            lines.append(f"  {name} [{self._wiring.signals[name].unit}]  excitation")
        for i, node in enumerate(self._wiring.nodes, 1):
            lines.append(f"  {i}. {node.name} ({node.part.kind})")
            for port, source in zip(node.part.inputs, node.inputs, strict=True):
                when = ""
                if source in node.late:
                    lags = f"{source} -> {node.name}.{port.name}" in self.delays
                    when = "  (one tick late)" if lags else "  (of the last tick, no lag)"
                lines.append(f"       {port.name} [{port.unit}] <- {source}{when}")
            lines.append(f"       -> {', '.join(node.outputs)}")
            if (every := node.ticks(self.dt)) > 1:
                lines.append(f"       runs in every {every} ticks, its outputs are held in between")
            if node.part.step_is_unknown:
                lines.append("       step checked after a run only: the linearisation says nothing; give it ranges")
        lines.append("  One-step delays: " + (", ".join(self.delays) or "none"))
        return "\n".join(lines)

    def draw(self, path: str | Path) -> Path:
        """Draw boxes and arrows into a picture file."""
        from mor.hybrid.picture import draw

        return draw(self, Path(path))

    def __repr__(self) -> str:
        return f"HybridModel({self.name!r}: {', '.join(self.order)})"

    def _wire(self) -> Wiring:
        units = {name: _unit(source) for name, source in self.excitations.items()}
        sources = {n: s for n, s in self.excitations.items() if isinstance(s, Substructure)}
        single, several = {}, {}
        for port, t in self.transfers.items():
            if isinstance(t, TransferSystem):
                single[port] = (t.actuator, t.controller, t.every)
            else:
                several[port] = (t.actuator, t.controller, t.every, t.reads)
        return wire(self.of, self.substructures, self.couplings, units, sources, single, several, self.latent.sensors)

    def _tables(self) -> list[list[str]]:
        """Names of the excitations that are played from tables; those with the same times share one."""
        tables: dict[bytes, list[str]] = {}
        for name, source in self.excitations.items():
            if isinstance(source, Trajectory) and name in self._wiring.signals:
                tables.setdefault(source.time.tobytes(), []).append(name)
        return list(tables.values())

    def _values(self, parameters: Mapping[str, float]) -> dict[str, dict[str, float]]:
        """Sort parameters by node; "M" goes to every node that has it, "body.M" to one."""
        values: dict[str, dict[str, float]] = {}
        problems = []
        for name, value in parameters.items():
            owner, _, bare = name.rpartition(".")
            nodes = [
                node.name
                for node in self._wiring.nodes
                if (not owner or node.name == owner) and bare in {p.name for p in node.part.parameters}
            ]
            if not nodes:
                problems.append(f"Parameter '{name}' of {self.of} is unknown; it has {', '.join(self.parameters)}.")
            for node in nodes:
                values.setdefault(node, {})[bare] = float(value)
        if problems:
            raise ConfigError.from_problems(f"Parameters of {self.of}", problems)
        return values


def _port_set(part: Substructure) -> tuple[frozenset[Port], frozenset[Port]]:
    return frozenset(part.inputs), frozenset(part.outputs)


def _excitation_identity(source: float | Trajectory | Substructure) -> object:
    if isinstance(source, Trajectory):
        return hashlib.sha256(source.time.tobytes() + source.values.tobytes()).hexdigest()[:16]
    return source.identity() if isinstance(source, Substructure) else source


def _unit(source: Any) -> str | None:
    """Unit of an excitation; None where it takes that of the port it drives."""
    if isinstance(source, Trajectory):
        return source.units[0]
    return source.outputs[0].unit if isinstance(source, Substructure) else None


def _excitations(
    given: Trajectory | Mapping[str, Source] | None, of: str
) -> dict[str, float | Trajectory | Substructure]:
    if isinstance(given, Trajectory):
        return {name: given.select([name]) for name in given.names}
    found: dict[str, float | Trajectory | Substructure] = {}
    for name, source in (given or {}).items():
        check_name(name, f"an excitation of {of}")
        if isinstance(source, Excitation):
            source = Trajectory(source.time, source.values, {name: source.unit})
        if isinstance(source, Trajectory):
            if len(source.names) != 1 or not np.isfinite(source.values).all():
                raise ConfigError(
                    f"Excitation '{name}' of {of} must be a trajectory with one column of finite numbers, got "
                    f"{len(source.names)} columns."
                )
        elif isinstance(source, Substructure):
            if source.inputs or len(source.outputs) != 1:
                raise ConfigError(f"Excitation '{name}' of {of} must have no input and one output, got {source!r}.")
        elif isinstance(source, int | float) and np.isfinite(source):
            source = float(source)
        else:
            raise ConfigError(
                f"Excitation '{name}' of {of} must be a finite number, an Excitation, a Trajectory or a substructure "
                f"without inputs, got {source!r}."
            )
        found[name] = source
    return found
