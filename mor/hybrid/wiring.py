"""From couplings between named ports to an ordered list of blocks: what a hybrid model is made of inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from mor.data.ports import Port
from mor.hybrid.vector_wiring import Several, controller_sources, transfer_problems
from mor.substructures.base import Substructure, same_unit
from mor.substructures.functions import BlockSubstructure
from mor.substructures.linear import LinearSubstructure
from rt_runtime import Gain
from rt_runtime.engine.signal_names import expand
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class Node:
    """A substructure with the signals it reads and writes; `late` are those read from the last tick.

    `start` tells that the state advances first, with the inputs read: then a late input that is not direct adds no lag.
    It runs in every `every`-th tick, or less often where the part has a longer step of its own.
    """

    name: str
    part: Substructure
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    late: frozenset[str] = frozenset()
    start: bool = False
    every: int = 1

    def ticks(self, dt: float) -> int:
        """Return in every how many ticks of `dt` seconds it runs."""
        return self.every * self.part.ticks(dt * self.every)


@dataclass(frozen=True)
class Wiring:
    """Nodes in the order of a tick, all signals, and the couplings that lag by one tick."""

    nodes: tuple[Node, ...]
    signals: dict[str, Port]
    delays: tuple[str, ...]


@dataclass
class _Draft:
    of: str
    signals: dict[str, Port] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def wire(
    of: str,
    parts: Mapping[str, Substructure],
    couplings: Mapping[str, str | Sequence[str]],
    excitation_units: Mapping[str, str | None],
    excitation_parts: Mapping[str, Substructure],
    transfers: Mapping[str, tuple[Substructure, Substructure | None, int]],
    vector_transfers: Mapping[str, Several] = MappingProxyType({}),
    sensors: Sequence[str] = (),
) -> Wiring:
    """Check ports, units and missing connections (all problems at once), name the signals and order the nodes.

    Who reads a signal of `sensors` gets it with an offset: "signal.measured" = signal + "signal.offset".
    """
    draft = _Draft(of)
    names = _signal_names(parts, excitation_units)
    for name, unit in excitation_units.items():
        draft.signals[name] = Port(name, "" if unit is None else unit)
    for key, signal in names.items():
        owner, _, output = key.partition(".")
        draft.signals[signal] = next(p for p in parts[owner].outputs if p.name == output)
    for name, part in excitation_parts.items():
        draft.nodes.append(Node(f"excitation.{name}", part, (), (name,)))
    inputs = {f"{name}.{port.name}": port for name, part in parts.items() for port in part.inputs}
    for what, given in (("Coupling", couplings), ("Transfer system", transfers)):
        for target in given:
            if target not in inputs:
                draft.problems.append(
                    f"{what} to '{target}' of {of} must end at an input port; there are {', '.join(inputs)}."
                )
    sources: dict[str, str] = {}
    for target, port in inputs.items():
        terms = _terms(target, port, couplings, names, excitation_units, draft)
        if terms:
            signal = _join(target, port, terms, excitation_units, draft)
            if target in transfers:
                signal = _transfer(target, port, signal, transfers[target], draft)
            sources[target] = signal
    for key, system in vector_transfers.items():
        _vector_transfer(key, inputs, names, sources, system, draft)
    read = {signal for node in draft.nodes for signal in node.inputs} | set(sources.values())
    draft.problems += [
        f"Excitation '{name}' of {of} drives no input; couple it or leave it out."
        for name in excitation_units
        if name not in read
    ]
    if draft.problems:
        raise ConfigError.from_problems(of[0].upper() + of[1:], draft.problems)
    for name, part in parts.items():
        reads = tuple(sources[f"{name}.{port.name}"] for port in part.inputs)
        draft.nodes.append(Node(name, part, reads, tuple(names[f"{name}.{port.name}"] for port in part.outputs)))
    _measure(sensors, draft)
    nodes, delays = _order(draft.nodes)
    return Wiring(nodes, draft.signals, delays)


def _signal_names(parts: Mapping[str, Substructure], excitations: Mapping[str, str | None]) -> dict[str, str]:
    """Name the signal of each output port: its own name where that is unique, else substructure.port."""
    ports = [(owner, port.name) for owner, part in parts.items() for port in part.outputs]
    count = [port for _, port in ports] + list(excitations)
    return {f"{o}.{p}": p if count.count(p) == 1 else f"{o}.{p}" for o, p in ports}


def _terms(
    target: str,
    port: Port,
    couplings: Mapping[str, str | Sequence[str]],
    names: Mapping[str, str],
    excitations: Mapping[str, str | None],
    draft: _Draft,
) -> list[tuple[float, str]]:
    """Return (sign, signal) of every source of an input."""
    if target not in couplings:
        found = [signal for key, signal in names.items() if key.endswith(f".{port.name}")]
        found += [port.name] if port.name in excitations else []
        if len(found) == 1:
            return [(1.0, found[0])]
        why = f"there are {len(found)}: {', '.join(found)}" if found else "there is none of its name"
        draft.problems.append(
            f"Input '{target}' of {draft.of} has no coupling and must be fed by one output or excitation, but {why}; "
            f"add couplings={{'{target}': ...}}."
        )
        return []
    given = couplings[target]
    terms = []
    for text in [given] if isinstance(given, str) else given:
        sign, key = (-1.0, text[1:].strip()) if text.startswith("-") else (1.0, text)
        if key in names or key in excitations:
            terms.append((sign, names.get(key, key)))
        else:
            known = ", ".join([*names, *excitations])
            draft.problems.append(f"Source '{key}' of '{target}' is unknown in {draft.of}; there are {known}.")
    return terms


def _join(
    target: str, port: Port, terms: list[tuple[float, str]], excitations: Mapping[str, str | None], draft: _Draft
) -> str:
    """Check units; return the signal of the only source, or of a sum block put in for several."""
    for _, signal in terms:
        if excitations.get(signal, "") is None and not draft.signals[signal].unit:
            draft.signals[signal] = Port(draft.signals[signal].name, port.unit)
        unit = draft.signals[signal].unit
        if not same_unit(unit, port.unit):
            draft.problems.append(
                f"Coupling from '{signal}' to '{target}' of {draft.of} must keep its unit, got '{unit}' into "
                f"'{port.unit}'; convert one of them."
            )
    if len(terms) == 1 and terms[0][0] == 1.0:
        return terms[0][1]
    gains = np.array([[sign for sign, _ in terms]])
    ports = [Port(f"term_{i}", port.unit) for i in range(len(terms))]
    part = BlockSubstructure("sum", lambda dt, p: Gain(gains), inputs=ports, outputs=[port])
    signal = f"{target}.sum"
    draft.signals[signal] = port
    draft.nodes.append(Node(signal, part, tuple(s for _, s in terms), (signal,)))
    return signal


def _transfer(
    target: str, port: Port, signal: str, system: tuple[Substructure, Substructure | None, int], draft: _Draft
) -> str:
    """Put controller and actuator between a signal and the input it drives; return the measured signal."""
    actuator, controller, every = system
    measured = f"{target}.measured"
    command = signal
    problems = []
    if len(actuator.inputs) != 1 or len(actuator.outputs) != 1:
        problems.append(f"Actuator on '{target}' must have one input and one output, got {actuator.signature()}.")
    elif not same_unit(actuator.outputs[0].unit, port.unit):
        problems.append(
            f"Actuator on '{target}' must give '{port.unit}', got '{actuator.outputs[0].unit}'; convert its output."
        )
    if controller is not None:
        command = f"{target}.command"
        reads = {p.name for p in controller.inputs}
        if reads not in ({"target"}, {"target", "measured"}) or len(controller.outputs) != 1:
            problems.append(
                f"Controller on '{target}' must have the inputs target and, if it feeds back, measured, and one "
                f"output, got {controller.signature()}."
            )
    draft.problems += problems
    if problems:
        return signal
    if controller is not None:
        draft.signals[command] = controller.outputs[0]
        inputs = tuple(signal if p.name == "target" else measured for p in controller.inputs)
        draft.nodes.append(Node(f"{target}.controller", controller, inputs, (command,), every=every))
    draft.signals[measured] = port
    draft.nodes.append(Node(f"{target}.actuator", actuator, (command,), (measured,)))
    return measured


def _vector_transfer(
    key: str,
    inputs: Mapping[str, Port],
    names: Mapping[str, str],
    sources: dict[str, str],
    system: Several,
    draft: _Draft,
) -> None:
    """Put one controller and its actuators between several signals and the inputs they drive."""
    readers, base = expand(key), key.partition("[")[0]
    unknown = [reader for reader in readers if reader not in sources]
    reads = {name: names.get(str(source), "") for name, source in system[3].items()}
    if unknown:
        problems = [f"Transfer system on '{key}' of {draft.of} must end at coupled inputs; '{unknown[0]}' is not one."]
    else:
        problems = transfer_problems(key, [inputs[reader] for reader in readers], system)
        problems += [
            f"Source '{system[3][name]}' of '{name}' of the controller on '{key}' is unknown in {draft.of}."
            for name, signal in reads.items()
            if not signal
        ]
    draft.problems += problems
    if problems:
        return
    actuator, controller, every, _ = system
    m = len(actuator.inputs)
    outputs = [f"{base}.command_{i + 1}" if i < m else f"{base}.{p.name}" for i, p in enumerate(controller.outputs)]
    measured = tuple(f"{base}.measured_{i + 1}" for i in range(len(readers)))
    draft.signals |= dict(zip(outputs, controller.outputs, strict=True))
    draft.signals |= dict(zip(measured, actuator.outputs, strict=True))
    asked = controller_sources(base, [sources[reader] for reader in readers], controller, reads)
    draft.nodes.append(Node(f"{base}.controller", controller, asked, tuple(outputs), every=every))
    draft.nodes.append(Node(f"{base}.actuator", actuator, tuple(outputs[:m]), measured))
    sources |= dict(zip(readers, measured, strict=True))


def _measure(sensors: Sequence[str], draft: _Draft) -> None:
    """Put a sensor behind each of the signals, and let all readers read it."""
    seen = {signal: f"{signal}.measured" for signal in sensors}
    draft.nodes = [replace(node, inputs=tuple(seen.get(s, s) for s in node.inputs)) for node in draft.nodes]
    for signal, measured in seen.items():
        port = draft.signals[signal]
        offset = f"{signal}.offset"
        draft.signals |= {measured: port, offset: port}
        ports = [Port("true", port.unit), Port("offset", port.unit)]
        part = BlockSubstructure("sensor", lambda dt, p: Gain(np.ones((1, 2))), inputs=ports, outputs=[port])
        draft.nodes.append(Node(f"{signal}.sensor", part, (signal, offset), (measured,)))


def _order(nodes: list[Node]) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    """Order by instantaneous couplings; where they form a loop, the node with the fewest open inputs lags behind.

    A late input of a node whose state advances first adds no lag unless it is direct.
    """
    writers = {signal: node.name for node in nodes for signal in node.outputs}
    waiting, placed, done = list(nodes), [], set[str]()

    def open_inputs(node: Node) -> list[str]:
        pairs = zip(node.part.inputs, node.inputs, strict=True)
        return [s for port, s in pairs if port.name in node.part.direct and writers.get(s, "") not in done | {""}]

    while waiting:
        node = min(waiting, key=lambda n: len(open_inputs(n)))  # min keeps the order given among equals
        waiting.remove(node)
        late = frozenset(s for s in node.inputs if s in writers and writers[s] not in done)
        start = any(s in late and port.name not in node.part.direct for port, s in _pairs(node)) and _can_start(node)
        placed.append(replace(node, late=late, start=start))
        done.add(node.name)
    delays = [
        f"{signal} -> {node.name}.{port.name}"
        for node in placed
        for port, signal in _pairs(node)
        if signal in node.late and (port.name in node.part.direct or not node.start)
    ]
    return tuple(placed), tuple(delays)


def _pairs(node: Node) -> list[tuple[Port, str]]:
    return list(zip(node.part.inputs, node.inputs, strict=True))


def _can_start(node: Node) -> bool:
    """Whether the block can advance before it gives its outputs; a linear one only without direct inputs."""
    if isinstance(node.part, LinearSubstructure):
        return not node.part.direct
    return not isinstance(node.part, BlockSubstructure)
