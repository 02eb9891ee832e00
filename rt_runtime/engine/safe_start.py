"""What is refused before an actuator moves: a drive without a clock, a start from an unknown or forbidden position."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rt_runtime import _core
from rt_runtime.errors import ConfigError
from rt_runtime.safety.monitor import Monitor


def check_drives(drives: Mapping[str, Sequence[str]], monitor: Monitor | None, *, clocked: Sequence[str] = ()) -> None:
    """Refuse real actuators without a clock, and commands that cannot know where their actuator stands.

    `drives` has the names of the input signals by the name of the block; `clocked` are those that lack their clock.
    """
    if clocked:
        raise ConfigError(
            f"Block '{clocked[0]}' drives an actuator that is not simulated and needs the clock; run with "
            "paced=True (hmor run --paced)."
        )
    sent = {name for names in drives.values() for name in names}
    problems = [
        f"Command '{c.name}' goes to an actuator that is not simulated and must name the signal that says where it "
        "stands (measured), or why it is known to stand at rest (starts_at_rest)."
        for c in (monitor.commands if monitor else ())
        if c.name in sent and c.measured is None and not c.starts_at_rest
    ]
    if problems:
        raise ConfigError.from_problems("Start of the test", problems)


def check_positions(sensors: Mapping[str, tuple[_core.Actuator, Sequence[str]]], monitor: Monitor | None) -> None:
    """Read every started actuator once and refuse a start from outside the limits of its command.

    `sensors` has the actuator and the names of its measured signals by the name of the block.
    """
    if monitor is None:
        return
    needed = {c.measured for c in monitor.commands if c.measured is not None}
    for block, (actuator, names) in sensors.items():
        if not needed & set(names):
            continue
        values, _, status = actuator.read(0.0)
        if status < 0:
            raise ConfigError(f"Block '{block}' cannot read its actuator before the start: status {status}.")
        positions = dict(zip(names, (float(v) for v in values), strict=True))
        broken = [name for name in needed & set(names) if not math.isfinite(positions[name])]
        if broken:
            raise ConfigError(
                f"Signal '{broken[0]}' of block '{block}' must be finite before the start, got {positions[broken[0]]}; "
                "look at the sensor."
            )
        if words := monitor.out_of_reach(positions):
            raise ConfigError(words)
