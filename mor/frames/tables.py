"""Frames from tables: nodes, elements, sections and supports as CSV files with units in their headers."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping
from pathlib import Path

from mor.frames.beam import Section
from mor.frames.frame import Element, Frame3d, frame3d
from rt_runtime.errors import ConfigError
from rt_runtime.files import reading

# Unit -> what one of it is in SI, by what a column holds
_LENGTH = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "in": 0.0254, "ft": 0.3048}
UNITS = {
    "length": _LENGTH,
    "area": {f"{name}2": factor**2 for name, factor in _LENGTH.items()},
    "inertia": {f"{name}4": factor**4 for name, factor in _LENGTH.items()},
    "modulus": {"Pa": 1.0, "kPa": 1e3, "MPa": 1e6, "GPa": 1e9, "psi": 6894.757293168, "ksi": 6894757.293168},
    "density": {"kg/m3": 1.0, "t/m3": 1e3},
}
_NODES = {"x": "length", "y": "length", "z": "length"}
_SECTIONS = {
    "E": "modulus", "G": "modulus", "A": "area", "Iy": "inertia", "Iz": "inertia", "J": "inertia", "density": "density",
}  # fmt: skip


def read_frame(folder: str | os.PathLike[str], *, mass: str = "consistent") -> Frame3d:
    """Read a frame from nodes.csv, elements.csv, sections.csv and supports.csv in `folder`.

    Parameters
    ----------
    folder
        Where the tables lie. Headers name columns and units:
        nodes `node, x [m], y [m], z [m]`; elements `from, to, section`;
        sections `section, E [GPa], G [GPa], A [mm2], Iy [mm4], Iz [mm4], J [mm4], density [kg/m3]`;
        supports `node, held` with held such as "fixed", "pinned" or "uy rx rz".
    mass
        "consistent" or "lumped", as in `frame3d`.
    """
    base = Path(folder)
    nodes = {row["node"]: [float(row[c]) for c in "xyz"] for row in _table(base / "nodes.csv", ("node",), _NODES)}
    sections = {
        row["section"]: Section(**{name: float(row[name]) for name in _SECTIONS})
        for row in _table(base / "sections.csv", ("section",), _SECTIONS)
    }
    elements: list[Element] = []
    for row in _table(base / "elements.csv", ("from", "to", "section"), {}):
        if row["section"] not in sections:
            raise ConfigError(
                f"Section of an element in '{base / 'elements.csv'}' must be one of {', '.join(sections)}, "
                f"got '{row['section']}'."
            )
        elements.append((row["from"], row["to"], sections[row["section"]]))
    supports = {row["node"]: row["held"] for row in _table(base / "supports.csv", ("node", "held"), {})}
    return frame3d(nodes, elements, supports, mass=mass)


def _table(path: Path, words: tuple[str, ...], numbers: Mapping[str, str]) -> list[dict[str, str]]:
    """Read a table: columns `words` as they are, columns `numbers` (name -> quantity) in SI; no name twice."""
    if not path.is_file():
        raise ConfigError(f"Table '{path}' of a frame must exist; write it with the header {_header(words, numbers)}.")
    with reading(f"Table '{path}'", f"it must be CSV with the header {_header(words, numbers)}"):
        lines = list(csv.reader(path.read_text(encoding="utf-8").splitlines(), skipinitialspace=True))
    if not lines:
        raise ConfigError(f"Table '{path}' of a frame must have the header {_header(words, numbers)}, got nothing.")
    factors = _factors(path, lines[0], words, numbers)
    rows: list[dict[str, str]] = []
    for number, line in enumerate(lines[1:], 2):
        if not line:
            continue
        if len(line) != len(factors):
            raise ConfigError(f"Line {number} of '{path}' must have {len(factors)} columns, got {len(line)}.")
        row = {}
        for (name, factor), cell in zip(factors.items(), line, strict=True):
            row[name] = cell.strip() if factor is None else _number(path, number, name, cell, factor)
        rows.append(row)
    first = words[0]
    if first != "from" and len({row[first] for row in rows}) != len(rows):
        raise ConfigError(f"Column '{first}' of '{path}' must name each one once.")
    return rows


def _factors(
    path: Path, header: list[str], words: tuple[str, ...], numbers: Mapping[str, str]
) -> dict[str, float | None]:
    """Return column -> factor to SI (None for words), in the order of the file."""
    factors: dict[str, float | None] = {}
    units: dict[str, str] = {}
    for title in header:
        match = re.fullmatch(r"\s*(\w+)\s*(?:\[([^\]]+)\])?\s*", title)
        name, unit = (match.group(1), match.group(2)) if match else (title, None)
        if name in words and unit is None:
            factors[name] = None
        elif name in numbers and unit in UNITS[numbers[name]]:
            factors[name] = UNITS[numbers[name]][unit]
            units[name] = unit
        else:
            raise ConfigError(
                f"Header of '{path}' must be {_header(words, numbers)}, got the column '{title.strip()}'."
            )
    if set(factors) != {*words, *numbers}:
        raise ConfigError(f"Header of '{path}' must be {_header(words, numbers)}, got {', '.join(header)}.")
    for quantity in set(numbers.values()):
        mixed = {units[name] for name in numbers if numbers[name] == quantity}
        if len(mixed) > 1:
            raise ConfigError(
                f"Units of the {quantity} columns of '{path}' must be one, got {' and '.join(sorted(mixed))}."
            )
    return factors


def _number(path: Path, line: int, name: str, cell: str, factor: float) -> str:
    try:
        return repr(float(cell) * factor)
    except ValueError:
        raise ConfigError(f"Column '{name}' in line {line} of '{path}' must be a number, got '{cell}'.") from None


def _header(words: tuple[str, ...], numbers: Mapping[str, str]) -> str:
    return ", ".join([*words, *(f"{name} [{next(iter(UNITS[quantity]))}]" for name, quantity in numbers.items())])
