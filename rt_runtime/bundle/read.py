"""Read a bundle: one folder (or zip) with models, what they mean and how they were judged, checked from end to end.

`read_bundle` validates everything: format, hashes, shapes, units and golden vectors must all agree before a model is
handed on. Nothing is executed and nothing is written. Outside the loop.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rt_runtime.bundle.checks import check_description
from rt_runtime.bundle.files import (
    DESCRIPTION,
    SIGNATURE,
    description_hash,
    open_bundle,
    read_description,
    safe_name,
    sha256,
)
from rt_runtime.bundle.golden import Golden, difference, read_golden
from rt_runtime.bundle.graph import check_onnx
from rt_runtime.bundle.signature import check_signature, read_signature
from rt_runtime.checks import Array
from rt_runtime.errors import BundleError, ConfigError
from rt_runtime.summary import Summarised, Summary

__all__ = ["Bundle", "BundleMemory", "BundleModel", "BundleSignal", "Golden", "difference", "read_bundle"]

FORMAT = 2
FORMATS = (1, 2)  # 1: everything a model with memory puts out is an output, its state are lags alone


@dataclass(frozen=True)
class BundleSignal:
    """A column of a model: name, unit and range (infinite where there is none)."""

    name: str
    unit: str
    lower: float
    upper: float


@dataclass(frozen=True)
class BundleMemory:
    """What a model remembers: lags, the state with its columns and what they mean, and where it starts.

    `outside` says what happens outside the domain of the inputs: "clip", "tangent" or "trip".
    """

    input_lags: int
    output_lags: int
    state: tuple[BundleSignal, ...]
    initial: Array
    meaning: tuple[str, ...] = ()
    outside: str = "clip"


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


@dataclass(frozen=True, eq=False, repr=False)
class Bundle(Summarised):
    """A bundle that was read and found whole: models by name, provenance, and the content of every file.

    `signer` is the public key whose signature of the bundle was checked, in hexadecimal digits; None without one.
    """

    path: Path
    models: Mapping[str, BundleModel]
    provenance: Mapping[str, Any]
    description: Mapping[str, Any] = field(repr=False)
    content: Mapping[str, bytes] = field(repr=False)
    signer: str | None = None
    own: Mapping[str, bytes] = field(repr=False, default_factory=dict)

    @cached_property
    def model(self) -> BundleModel:
        """The only model; an error when there are several."""
        if len(self.models) != 1:
            raise ConfigError(
                f"Bundle '{self.path}' holds several models ({', '.join(self.models)}); choose one by .models[name]."
            )
        return next(iter(self.models.values()))

    def __repr__(self) -> str:
        return str(self)

    def _summary(self) -> Summary:
        rows = []
        for model in self.models.values():
            memory = "static" if model.memory is None else f"{len(model.memory.state)} states, dt {model.dt:g} s"
            rows.append((model.name, model.kind, memory, _named(model.inputs), _named(model.outputs)))
        files = f"{len(self.content)} files, {sum(len(c) for c in self.content.values()) / 1e3:.3g} kB"
        title = f"Bundle '{self.path}' of {len(rows)} model{'s' * (len(rows) != 1)}, {files}"
        return Summary(title, ("model", "kind", "memory", "inputs", "outputs"), rows)

    def extract(self, folder: str | os.PathLike[str]) -> Path:
        """Write the checked files of the bundle into the new or empty `folder` and return it."""
        target = Path(folder)
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise ConfigError(f"Folder '{target}' to extract a bundle into must be new or empty.")
        for name, content in {**self.content, **self.own}.items():
            file = target / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        return target


def _named(signals: tuple[BundleSignal, ...], most: int = 4) -> str:
    shown = [f"{s.name} [{s.unit}]" if s.unit else s.name for s in signals[:most]]
    return ", ".join(shown + ([f"and {len(signals) - most} more"] if len(signals) > most else []))


def read_bundle(
    path: str | os.PathLike[str], *, signer: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None
) -> Bundle:
    """Read and check the bundle at `path`, a folder or a zip file; raise `BundleError` with every problem found.

    Parameters
    ----------
    path : path
        Of the folder or zip file.
    signer : path or sequence of paths, optional
        Public key, or several of which one must have signed the bundle. Without it a bundle need not be signed; a
        signature that does not belong to the bundle is refused all the same.
    """
    source = Path(path)
    keys = [] if signer is None else [Path(s) for s in ([signer] if isinstance(signer, str | os.PathLike) else signer)]
    if signer is not None and not keys:
        raise ConfigError("signer of read_bundle must name at least one public key, got none.")
    with open_bundle(source) as files:
        description, text = read_description(files)
        signature = read_signature(files)
        signed_by = check_signature(source, text, signature, keys)
        version = description.get("format")
        if type(version) is not int or version not in FORMATS:
            newer = isinstance(version, int) and version > FORMAT
            remedy = "update hybrid-mor" if newer else "export the model again"
            raise BundleError(f"Format of bundle '{source}' must be {FORMAT} or older, got {version!r}; {remedy}.")
        problems = check_description(description)
        if not problems and description["sha256"] != description_hash(description):
            problems = ["bundle.json was changed after it was written (its sha256 differs); export it again."]
        if problems:
            raise _error(source, problems)
        content = {}
        for name, entry in description["files"].items():
            assert safe_name(name)
            try:
                data = files.read(name, entry["bytes"])
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
        golden, found = read_golden(entry, content[entry["golden"]])
        found += check_onnx(entry, content[entry["onnx"]])
        problems += found
        if not found and golden is not None:
            models[entry["name"]] = _model(entry, content[entry["onnx"]], golden)
    if problems:
        raise _error(source, problems)
    own = {DESCRIPTION: text} | ({} if signature is None else {SIGNATURE: signature})
    return Bundle(source, models, description["provenance"], description, content, signed_by, own)


def _error(path: Path, problems: list[str]) -> BundleError:
    return BundleError.from_problems(f"Bundle '{path}'", [f"Bundle '{path}': {p}" for p in problems])


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
            said["input_lags"], said["output_lags"], _signals(said["state"], "domain"),
            np.array(said["initial"], float), tuple(s.get("meaning", "") for s in said["state"]),
            said.get("outside", "clip"),
        )  # fmt: skip
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
