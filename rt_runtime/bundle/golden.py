"""Golden vectors: questions with the answers of the fitted model, which every engine must repeat. Outside the loop."""

from __future__ import annotations

import io
import math
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np

from rt_runtime.bundle.files import MAX_MODEL
from rt_runtime.checks import Array

LEAST_ROWS = 200
LEAST_DIFFERENT = 100  # corners and faces of the domain repeat themselves where there are few inputs
MOST_ROWS = 10_000


@dataclass(frozen=True)
class Golden:
    """Answers the model must repeat: Y (n, n_out) at rows X; for a model with memory y (n_steps, n_out) freely over u.

    Rows X are (u) of a static model, (u, state) of a model with memory. The free run starts from the initial state.
    """

    X: Array
    Y: Array
    u: Array | None
    y: Array | None


def difference(got: Array, expected: Array) -> float:
    """Return the largest |got - expected| relative to the column's largest |expected|; inf for NaN or another shape."""
    if got.shape != expected.shape or not np.all(np.isfinite(got)):
        return float("inf")
    if expected.size == 0:
        return 0.0
    scale = np.maximum(np.max(np.abs(expected), axis=0), np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):
        return float(np.max(np.abs(got - expected) / scale))


def read_golden(entry: dict[str, Any], content: bytes) -> tuple[Golden | None, list[str]]:
    """Read the golden vectors of a model and compare their shapes with its description."""
    name, what = entry["golden"], f"Golden vectors of model '{entry['name']}'"
    n_in, n_out = len(entry["inputs"]), len(entry["outputs"])
    n_state = 0 if entry["memory"] is None else len(entry["memory"]["state"])
    widths = {"X": n_in + n_state, "Y": n_out} | ({"u": n_in, "y": n_out} if n_state else {})
    try:
        arrays = _read_npz(content, list(widths))
    except Exception as error:  # zipfile and the header parser of numpy raise many kinds
        return None, [f"{what} ('{name}') cannot be read: {' '.join(str(error).split())[:300]}; export it again."]
    problems = []
    for key, width in widths.items():
        a = arrays[key]
        if a.ndim != 2 or a.shape[1] != width or not np.all(np.isfinite(a)):
            problems.append(
                f"{what} must have finite float64 rows of {width} values in '{key}', got shape {a.shape}; "
                "export it again."
            )
        elif not LEAST_ROWS <= len(a) <= MOST_ROWS:
            problems.append(
                f"{what} must have {LEAST_ROWS} to {MOST_ROWS} rows in '{key}', got {len(a)}; export it again."
            )
    for left, right in (("X", "Y"), ("u", "y")):
        if left in arrays and len(arrays[left]) != len(arrays[right]):
            problems.append(f"{what} must have as many rows in '{left}' as in '{right}'; export it again.")
    if not problems and (n := len(np.unique(arrays["X"], axis=0))) < LEAST_DIFFERENT:
        problems.append(f"{what} must have at least {LEAST_DIFFERENT} different rows in 'X', got {n}; export it again.")
    if problems:
        return None, problems
    return Golden(arrays["X"], arrays["Y"], arrays.get("u"), arrays.get("y")), []


def _read_npz(content: bytes, names: list[str]) -> dict[str, Array]:
    """Read float64 arrays from .npz bytes; nothing is allocated that the file does not hold, nothing is unpickled."""
    arrays = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        got = [member.filename.removesuffix(".npy") for member in members]
        if sorted(got) != sorted(names):
            raise ValueError(f"it must hold the arrays {', '.join(names)}, got {', '.join(got[:9])}")
        if sum(member.file_size for member in members) > MAX_MODEL:
            raise ValueError(f"it unpacks to more than {MAX_MODEL} bytes")
        if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
            raise ValueError("its arrays must be stored or deflated")
        for member, name in zip(members, got, strict=True):
            with archive.open(member) as handle:
                arrays[name] = _read_npy(handle.read(member.file_size + 1), name)
    return arrays


def _read_npy(data: bytes, name: str) -> Array:
    stream = io.BytesIO(data)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(stream)
    if version not in readers:
        raise ValueError(f"array '{name}' has the format {version}")
    shape, by_columns, kind = readers[version](stream, max_header_size=1000)
    if kind != np.dtype("<f8"):
        raise ValueError(f"array '{name}' must be float64, got {kind}")
    if any(n < 0 for n in shape) or math.prod(shape) * 8 != len(data) - stream.tell():
        raise ValueError(f"array '{name}' must hold the {shape} numbers of its header")
    values = np.frombuffer(data, "<f8", offset=stream.tell()).astype(np.float64)
    return np.ascontiguousarray(values.reshape(shape, order="F" if by_columns else "C"))
