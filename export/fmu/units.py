"""Units as FMI wants them: exponents of the SI base units and a factor, as far as a unit's text can be read."""

from __future__ import annotations

import re

_BASE = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
_UNITS: dict[str, tuple[dict[str, int], float]] = {name: ({name: 1}, 1.0) for name in _BASE} | {
    "g": ({"kg": 1}, 1e-3),
    "N": ({"kg": 1, "m": 1, "s": -2}, 1.0),
    "Nm": ({"kg": 1, "m": 2, "s": -2}, 1.0),
    "Pa": ({"kg": 1, "m": -1, "s": -2}, 1.0),
    "bar": ({"kg": 1, "m": -1, "s": -2}, 1e5),
    "J": ({"kg": 1, "m": 2, "s": -2}, 1.0),
    "W": ({"kg": 1, "m": 2, "s": -3}, 1.0),
    "V": ({"kg": 1, "m": 2, "s": -3, "A": -1}, 1.0),
    "Hz": ({"s": -1}, 1.0),
    "deg": ({"rad": 1}, 0.017453292519943295),
    "rpm": ({"rad": 1, "s": -1}, 0.10471975511965977),
    "min": ({"s": 1}, 60.0),
    "h": ({"s": 1}, 3600.0),
}
_PREFIX = {"k": 1e3, "M": 1e6, "G": 1e9, "c": 1e-2, "m": 1e-3, "u": 1e-6}
_PREFIXED = {"m", "g", "s", "N", "Pa", "J", "W", "V", "A", "Hz"}
_FACTOR = re.compile(r"([A-Za-z]+)(?:\^?(-?\d+))?\Z")


def base_unit(unit: str) -> tuple[dict[str, int], float] | None:
    """Return the exponents of the base units and the factor of `unit` ("N m", "rad/s", "kg/m^3"), None if unknown."""
    exponents: dict[str, int] = {}
    factor, sign = 1.0, 1
    for part in re.findall(r"/|[^\s*·./]+", unit):
        if part == "/":
            sign = -1
            continue
        if part == "1":
            continue
        match = _FACTOR.match(part)
        known = None if match is None else _known(match[1])
        if match is None or known is None:
            return None
        power = sign * int(match[2] or 1)
        for name, n in known[0].items():
            exponents[name] = exponents.get(name, 0) + n * power
        factor *= known[1] ** power
    return {name: n for name, n in exponents.items() if n}, factor


def _known(name: str) -> tuple[dict[str, int], float] | None:
    if name in _UNITS:
        return _UNITS[name]
    prefix, rest = name[0], name[1:]
    if prefix in _PREFIX and rest in _PREFIXED:
        exponents, factor = _UNITS[rest]
        return exponents, factor * _PREFIX[prefix]
    return None
