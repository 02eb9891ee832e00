"""The blocks of a loop as they are wired, and which of them are on the test clock."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from rt_runtime import _core
from rt_runtime.engine.signal_names import Previous

UNTIMED = (_core.Sensor, _core.Link, _core.Drive, _core.HostStatus, _core.Monitor)
"""Blocks that are stepped in every tick, whether the test has begun or not."""


@dataclass(frozen=True)
class Call:
    """One block of a loop and how it is wired; `timed`: it is on the test clock."""

    name: str
    block: _core.Block
    inputs: tuple[str | Previous, ...]
    outputs: tuple[str, ...]
    every: int
    timed: bool = True


def cycle(calls: Sequence[Call], reader: Call, writer: Call) -> str:
    """Name the cycle reader -> ... -> writer -> reader if there is one over values of the same tick."""
    paths: list[list[Call]] = [[reader]]
    seen = {reader.name}
    while paths:
        path = paths.pop()
        if path[-1] is writer:
            return f" (they form a cycle: {' -> '.join([c.name for c in path] + [reader.name])})"
        for call in calls:
            if call.name not in seen and set(path[-1].outputs) & {i for i in call.inputs if isinstance(i, str)}:
                seen.add(call.name)
                paths.append([*path, call])
    return ""


def in_every_tick(calls: Sequence[Call], names: Collection[str]) -> list[Call]:
    """Take the writers of the signals, and the writers of what they read in the same tick, off the test clock."""
    wanted, result = set(names), list(calls)
    for i, call in reversed(list(enumerate(calls))):  # a writer comes before its readers
        if wanted & set(call.outputs):
            wanted |= {item for item in call.inputs if isinstance(item, str)}
            result[i] = replace(call, timed=False)
    return result
