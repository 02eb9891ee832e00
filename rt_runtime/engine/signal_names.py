"""How signals are named in a loop: last tick's value of one, and vectors such as pose[6] for pose_1 to pose_6."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rt_runtime.errors import ConfigError

_VECTOR = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)\[([0-9]{1,4})\]\Z")


@dataclass(frozen=True)
class Previous:
    """Marks an input as last tick's value of a signal; see `previous`."""

    name: str


def previous(name: str) -> Previous:
    """Declare that a block reads last tick's value of a signal, because its writer comes later in the tick.

    Parameters
    ----------
    name
        The signal.
    """
    return Previous(name)


def expand(name: str) -> tuple[str, ...]:
    """Return the signals a name stands for.

    >>> expand("pose[3]")
    ('pose_1', 'pose_2', 'pose_3')
    >>> expand("force")
    ('force',)
    """
    found = _VECTOR.match(name) if isinstance(name, str) else None
    if found is None:
        return (name,)
    if int(found[2]) < 1:
        raise ConfigError(f"Length of vector signal '{name}' must be at least 1, got {found[2]}.")
    return tuple(f"{found[1]}_{i}" for i in range(1, int(found[2]) + 1))


def expand_all(names: Iterable[str]) -> tuple[str, ...]:
    """Return the signals of several names in their order."""
    return tuple(signal for name in names for signal in expand(name))


def expand_inputs(inputs: Sequence[str | Previous]) -> tuple[str | Previous, ...]:
    """Return the signals of the inputs of a block, those of the last tick marked as they were."""
    found: list[str | Previous] = []
    for item in inputs:
        found += [Previous(name) for name in expand(item.name)] if isinstance(item, Previous) else expand(item)
    return tuple(found)
