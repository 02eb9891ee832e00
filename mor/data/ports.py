"""Names with units: the ports and parameters of every model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rt_runtime.engine.signal_names import expand
from rt_runtime.errors import ConfigError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def check_name(name: object, what: str) -> str:
    """Return `name` if it is a plain identifier; `what` says whose name it is."""
    if not isinstance(name, str) or not _NAME.match(name):
        raise ConfigError(
            f"Name of {what} must be letters, digits and underscores and not start with a digit, got {name!r}."
        )
    return name


@dataclass(frozen=True)
class Port:
    """A named signal with its unit (SI unless the name says otherwise; "" for none)."""

    name: str
    unit: str = ""

    def __post_init__(self) -> None:
        check_name(self.name, "a port")


@dataclass(frozen=True)
class Parameter:
    """A named number of a model with its unit and the range it may lie in.

    Parameters
    ----------
    name, value
        Name and nominal value.
    lower, upper
        Range, ends included.
    """

    name: str
    value: float
    unit: str = ""
    lower: float = -float("inf")
    upper: float = float("inf")

    def __post_init__(self) -> None:
        check_name(self.name, "a parameter")
        if not self.lower <= self.value <= self.upper:
            raise ConfigError(
                f"Parameter '{self.name}' must lie in [{self.lower:g}, {self.upper:g}] {self.unit}, got {self.value:g}."
            )


def _ports(name: str, unit: str, what: str) -> list[Port]:
    names = expand(name)
    units = [part.strip() for part in unit.split(",")] if len(names) > 1 else [unit]
    if len(units) not in (1, len(names)):
        raise ConfigError(f"Unit of '{name}' in {what} must be one or {len(names)} with commas, got {unit!r}.")
    return [Port(part, units[i % len(units)]) for i, part in enumerate(names)]


def as_ports(spec: Mapping[str, str] | Iterable[Port | str], what: str) -> tuple[Port, ...]:
    """Turn {name: unit}, or a sequence of ports or bare names, into ports; `what` names the owner in errors.

    A vector "pose[6]" becomes the ports pose_1 to pose_6; its unit is one text, or six of them with commas.
    """
    if isinstance(spec, Mapping):
        ports = tuple(port for name, unit in spec.items() for port in _ports(name, unit, what))
    else:
        ports = tuple(p for port in spec for p in ((port,) if isinstance(port, Port) else _ports(port, "", what)))
    names = [port.name for port in ports]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"Names in {what} must differ, got {', '.join(twice)} more than once.")
    return ports
