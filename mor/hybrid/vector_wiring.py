"""Vectors in the wiring of a hybrid model: couplings element by element, and transfer systems with several channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mor.data.ports import Port
from mor.substructures.base import Substructure, same_unit
from rt_runtime.engine.signal_names import expand
from rt_runtime.errors import ConfigError

Several = tuple[Substructure, Substructure, int, Mapping[str, str | Sequence[str]]]


def expand_couplings(couplings: Mapping[str, str | Sequence[str]]) -> dict[str, str | Sequence[str]]:
    """Turn {"a.x[2]": "b.y[2]"} into {"a.x_1": "b.y_1", "a.x_2": "b.y_2"}; sums and signs are kept.

    >>> expand_couplings({"a.x[2]": ["b.y[2]", "-c.z[2]"]})
    {'a.x_1': ['b.y_1', '-c.z_1'], 'a.x_2': ['b.y_2', '-c.z_2']}
    """
    found: dict[str, str | Sequence[str]] = {}
    for reader, given in couplings.items():
        readers = expand(reader)
        texts = [given] if isinstance(given, str) else list(given)
        sources = [_signed(text) for text in texts]
        for text, parts in zip(texts, sources, strict=True):
            if len(parts) != len(readers):
                raise ConfigError(
                    f"Coupling of '{reader}' must have as many sources as elements ({len(readers)}), got '{text}'."
                )
        for i, name in enumerate(readers):
            each = [parts[i] for parts in sources]
            found[name] = each[0] if isinstance(given, str) else each
    return found


def _signed(text: str) -> list[str]:
    """Expand a source, its sign with it."""
    sign, name = ("-", text[1:].strip()) if text.startswith("-") else ("", text)
    return [sign + part for part in expand(name)]


def transfer_problems(key: str, ports: Sequence[Port], system: Several) -> list[str]:
    """Say what does not fit in a transfer system of several channels."""
    actuator, controller, _, reads = system
    p, m = len(ports), len(actuator.inputs)
    problems = []
    if len(actuator.outputs) != p:
        problems.append(f"Actuator on '{key}' must have {p} outputs, one per target, got {len(actuator.outputs)}.")
    for port, output in zip(ports, actuator.outputs, strict=False):
        if not same_unit(port.unit, output.unit):
            problems.append(f"Actuator on '{key}' must give '{port.unit}' at {output.name}, got '{output.unit}'.")
    names = [port.name for port in controller.inputs]
    targets, measured = expand(f"target[{p}]"), expand(f"measured[{p}]")
    missing = [name for name in targets if name not in names]
    if missing:
        problems.append(f"Controller on '{key}' must have the inputs target[{p}], but {missing[0]} is missing.")
    loose = [name for name in names if name not in (*targets, *measured, *reads)]
    if loose:
        problems.append(
            f"Input '{loose[0]}' of the controller on '{key}' must be target[{p}], measured[{p}] or named in reads."
        )
    if len(controller.outputs) < m:
        problems.append(f"Controller on '{key}' must give {m} commands, got {len(controller.outputs)} outputs.")
    for command, port in zip(controller.outputs, actuator.inputs, strict=False):
        if not same_unit(command.unit, port.unit):
            problems.append(
                f"Controller on '{key}' must give '{port.unit}' at {command.name}, got '{command.unit}'; the actuator "
                f"reads it as {port.name}."
            )
    return problems


def controller_sources(
    base: str, signals: Sequence[str], controller: Substructure, reads: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the signal of each input of the controller; `reads` already names signals."""
    p = len(signals)
    table = dict(zip(expand(f"target[{p}]"), signals, strict=True))
    table |= {name: f"{base}.{name}" for name in expand(f"measured[{p}]")}
    return tuple((table | dict(reads))[port.name] for port in controller.inputs)
