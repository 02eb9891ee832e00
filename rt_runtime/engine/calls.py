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


def wiring_problems(calls: Sequence[Call], constants: Collection[str]) -> list[str]:
    """Name every signal that is read but not written, and every read that comes before its write."""
    order = {call.name: i for i, call in enumerate(calls)}
    writers = {signal: call for call in calls for signal in call.outputs}
    problems = []
    for i, call in enumerate(calls):
        for item in call.inputs:
            name = item.name if isinstance(item, Previous) else item
            writer = writers.get(name)
            if name in constants:
                continue
            if writer is None:
                problems.append(
                    f"Signal '{name}' is read by block '{call.name}' but no block writes it; add its writer or "
                    "declare it with loop.constant."
                )
            elif not isinstance(item, Previous) and order[writer.name] >= i:
                problems.append(
                    f"Block '{call.name}' reads signal '{name}' before block '{writer.name}' writes it in the tick"
                    f"{cycle(calls, call, writer)}; add the writer first or declare last tick's value with "
                    f"previous('{name}')."
                )
            elif isinstance(item, Previous) and order[writer.name] < i:
                problems.append(
                    f"Block '{call.name}' declares previous('{name}') but block '{writer.name}' writes it earlier "
                    "in the tick; drop previous() or put a Delay between them."
                )
    return problems


def in_every_tick(calls: Sequence[Call], names: Collection[str], behind: str = "") -> list[Call]:
    """Take the writers of the signals, and the writers of what they read in the same tick, off the test clock.

    Likewise all blocks behind the one named `behind`; what they read stays as it is.
    """
    order = [call.name for call in calls]
    last = order.index(behind) if behind else len(order)
    wanted, result = set(names), [replace(call, timed=call.timed and i <= last) for i, call in enumerate(calls)]
    for i, call in reversed(list(enumerate(calls))):  # a writer comes before its readers
        if wanted & set(call.outputs):
            wanted |= {item for item in call.inputs if isinstance(item, str)}
            result[i] = replace(call, timed=False)
    return result


def followers(calls: Sequence[Call], names: Collection[str], behind: str) -> set[str]:
    """Return the signals that blocks behind the one named `behind` make of these ones, in this tick or a later one."""
    order = [call.name for call in calls]
    later = calls[order.index(behind) + 1 :]
    found, before = set(names), 0
    while len(found) > before:
        before = len(found)
        for call in later:
            if found & {item if isinstance(item, str) else item.name for item in call.inputs}:
                found |= set(call.outputs)
    return found


def unguarded(calls: Sequence[Call], sent: Collection[str], behind: str) -> list[tuple[str, str]]:
    """Return (block, signal) where blocks behind the monitor (named `behind`) make `sent` signals of what it misses.

    Signals on the test clock from before the monitor (excitation, models, targets) go on when it ends the test, also
    when a block with timed=False passes them on; so does a Table on any clock. Measured ones are stepped in every tick
    and may be read; a Fade with the monitor's state ends any other.
    """
    order = [call.name for call in calls]
    before, later = calls[: order.index(behind)], calls[order.index(behind) + 1 :]
    early: set[str] = set()
    for call in before:
        if call.timed or early & {item for item in call.inputs if isinstance(item, str)}:
            early |= set(call.outputs)
    early |= {signal for call in calls if isinstance(call.block, _core.Table) for signal in call.outputs}
    states = followers(calls, ["monitor.state"], behind)
    read = {call.name: [item if isinstance(item, str) else item.name for item in call.inputs] for call in later}
    made, found, size = set(sent), [], -1
    open_ones = [c for c in later if not (isinstance(c.block, _core.Fade) and read[c.name][-1] in states)]
    while len(made) > size:
        size = len(made)
        for call in open_ones:
            if made & set(call.outputs):
                made |= set(read[call.name])
    for call in open_ones:
        if made & set(call.outputs):
            found += [(call.name, signal) for signal in read[call.name] if signal in early]
    return found
