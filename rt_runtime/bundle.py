"""Read a bundle: one folder (or zip) with models, what they mean and how they were judged, checked from end to end.

`read_bundle` believes nothing: format, hashes, shapes, units and golden vectors must all agree before a model is handed
on. Nothing is executed and nothing is written. Outside the loop.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rt_runtime.bundle_checks import OPSETS, check_description, check_onnx
from rt_runtime.bundle_files import (
    MAX_FILE,
    description_hash,
    open_bundle,
    read_description,
    safe_name,
    sha256,
)
from rt_runtime.errors import BundleError, ConfigError

Floats = NDArray[np.float64]
FORMAT = 1
SUPPORTED_OPSETS = OPSETS


@dataclass(frozen=True)
class BundleSignal:
    """A column of a model: name, unit and range (infinite where there is none)."""

    name: str
    unit: str
    lower: float
    upper: float


@dataclass(frozen=True)
class BundleMemory:
    """What a model remembers: lags, the state (u_{k-1}, ..., y_{k-1}, ...) with its columns, and where it starts."""

    input_lags: int
    output_lags: int
    state: tuple[BundleSignal, ...]
    initial: Floats


@dataclass(frozen=True)
class Golden:
    """Answers the model must repeat: Y (n, n_out) at rows X; for a model with memory y (n_steps, n_out) freely over u.

    Rows X are (u) of a static model, (u, state) of a model with memory. The free run starts from the initial state.
    """

    X: Floats
    Y: Floats
    u: Floats | None
    y: Floats | None


@dataclass(frozen=True, eq=False)
class BundleModel:
    """One checked model of a bundle; `onnx` is the file's content, `description` its entry in bundle.json.

    `tolerance` is the largest difference from the golden vectors, relative to the largest value of each output, that an
    engine may show.
    """

    name: str
    kind: str
    precision: str
    inputs: tuple[BundleSignal, ...]
    outputs: tuple[BundleSignal, ...]
    dt: float | None
    memory: BundleMemory | None
    tolerance: float
    validation: Mapping[str, Any]
    onnx: bytes = field(repr=False)
    golden: Golden = field(repr=False)
    description: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Bundle:
    """A bundle that was read and found whole: models by name, provenance, and the content of every file."""

    path: Path
    models: Mapping[str, BundleModel]
    provenance: Mapping[str, Any]
    description: Mapping[str, Any] = field(repr=False)
    content: Mapping[str, bytes] = field(repr=False)

    @cached_property
    def model(self) -> BundleModel:
        """The only model; an error when there are several."""
        if len(self.models) != 1:
            raise ConfigError(
                f"Bundle '{self.path}' holds several models ({', '.join(self.models)}); choose one by .models[name]."
            )
        return next(iter(self.models.values()))

    def extract(self, folder: str | os.PathLike[str]) -> Path:
        """Write the checked files of the bundle into the new or empty `folder` and return it."""
        target = Path(folder)
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise ConfigError(f"Folder '{target}' to extract a bundle into must be new or empty.")
        for name, content in self.content.items():
            file = target / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        (target / "bundle.json").write_text(json.dumps(self.description, indent=2) + "\n")
        return target


def difference(got: Floats, expected: Floats) -> float:
    """Return the largest |got - expected| relative to the column's largest |expected|; inf for NaN or another shape."""
    if got.shape != expected.shape or not np.all(np.isfinite(got)):
        return float("inf")
    if expected.size == 0:
        return 0.0
    scale = np.maximum(np.max(np.abs(expected), axis=0), np.finfo(np.float64).tiny)
    return float(np.max(np.abs(got - expected) / scale))


def read_bundle(path: str | os.PathLike[str]) -> Bundle:
    """Read and check the bundle at `path`, a folder or a zip file; raise `BundleError` with every problem found."""
    source = Path(path)
    with open_bundle(source) as files:
        description = read_description(files)
        version = description.get("format")
        if type(version) is not int or version != FORMAT:
            newer = isinstance(version, int) and version > FORMAT
            remedy = "update hybrid-mor" if newer else "export the model again"
            raise BundleError(f"Format of bundle '{source}' must be {FORMAT}, got {version!r}; {remedy}.")
        problems = check_description(description)
        if not problems and description["sha256"] != description_hash(description):
            problems = ["bundle.json was changed after it was written (its sha256 differs); export it again."]
        if problems:
            raise _error(source, problems)
        content = {}
        for name, entry in description["files"].items():
            assert safe_name(name)
            try:
                data = files.read(name, min(MAX_FILE, entry["bytes"]))
            except BundleError as error:
                problems.append(str(error))
                continue
            if len(data) != entry["bytes"] or sha256(data) != entry["sha256"]:
                problems.append(f"File '{name}' was changed or cut off (its sha256 differs); copy or export it again.")
            content[name] = data
    if problems:
        raise _error(source, problems)
    models = {}
    for entry in description["models"]:
        golden, found = _golden(entry, content[entry["golden"]])
        found += check_onnx(entry, content[entry["onnx"]])
        problems += found
        if not found and golden is not None:
            models[entry["name"]] = _model(entry, content[entry["onnx"]], golden)
    if problems:
        raise _error(source, problems)
    return Bundle(source, models, description["provenance"], description, content)


def _error(path: Path, problems: list[str]) -> BundleError:
    return BundleError(str(ConfigError.from_problems(f"Bundle '{path}'", [f"Bundle '{path}': {p}" for p in problems])))


def _signals(entries: list[dict[str, Any]], key: str) -> tuple[BundleSignal, ...]:
    bounds = [entry.get(key) or (-np.inf, np.inf) for entry in entries]
    return tuple(
        BundleSignal(e["name"], e["unit"], float(low), float(high))
        for e, (low, high) in zip(entries, bounds, strict=True)
    )


def _model(entry: dict[str, Any], onnx: bytes, golden: Golden) -> BundleModel:
    memory = None
    if entry["memory"] is not None:
        said = entry["memory"]
        memory = BundleMemory(
            said["input_lags"], said["output_lags"], _signals(said["state"], "domain"), np.array(said["initial"], float)
        )
    return BundleModel(
        name=entry["name"],
        kind=entry["kind"],
        precision=entry["precision"],
        inputs=_signals(entry["inputs"], "domain"),
        outputs=_signals(entry["outputs"], "bounds"),
        dt=entry["dt"],
        memory=memory,
        tolerance=entry["tolerance"],
        validation=entry["validation"],
        onnx=onnx,
        golden=golden,
        description=entry,
    )


def _golden(entry: dict[str, Any], content: bytes) -> tuple[Golden | None, list[str]]:
    """Read the golden vectors of a model and compare their shapes with its description."""
    name, what = entry["golden"], f"Golden vectors of model '{entry['name']}'"
    n_in, n_out = len(entry["inputs"]), len(entry["outputs"])
    n_state = 0 if entry["memory"] is None else len(entry["memory"]["state"])
    widths = {"X": n_in + n_state, "Y": n_out} | ({"u": n_in, "y": n_out} if n_state else {})
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(info.file_size for info in archive.infolist()) > MAX_FILE:
                raise ValueError(f"it unpacks to more than {MAX_FILE} bytes")
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            if set(file.files) != set(widths):
                raise ValueError(f"it must hold the arrays {', '.join(widths)}, got {', '.join(file.files)}")
            arrays = {key: file[key] for key in widths}
    except Exception as error:  # zipfile and the header parser of numpy raise many kinds
        return None, [f"{what} ('{name}') cannot be read: {' '.join(str(error).split())[:300]}; export it again."]
    problems = []
    for key, width in widths.items():
        a = arrays[key]
        if a.dtype != np.float64 or a.ndim != 2 or a.shape[1] != width or len(a) == 0 or not np.all(np.isfinite(a)):
            problems.append(
                f"{what} must have finite float64 rows of {width} values in '{key}', "
                f"got {a.dtype} of shape {a.shape}; export it again."
            )
    for left, right in (("X", "Y"), ("u", "y")):
        if left in arrays and len(arrays[left]) != len(arrays[right]):
            problems.append(f"{what} must have as many rows in '{left}' as in '{right}'; export it again.")
    if problems:
        return None, problems
    return Golden(arrays["X"], arrays["Y"], arrays.get("u"), arrays.get("y")), []
