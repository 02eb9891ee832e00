"""Write fitted models as a bundle: one folder that is there whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from export.c.golden import c_main, tolerance_of
from export.c.mex import mex_source
from export.c.model import c_model
from export.c.source import c_header, c_source
from export.engines import OnnxEngine, golden_difference
from export.fmu.writer import fmu_file
from export.forms import Form, form_of, written_map
from export.golden import golden_file, golden_vectors
from export.names import check_names
from export.onnx.graph import PRECISIONS, onnx_model
from export.placing import place
from mor.reduced.base import ReducedModel, as_domain
from rt_runtime.bundle.checks import TOLERANCES, largest_tolerance
from rt_runtime.bundle.files import DESCRIPTION, SIGNATURE, description_hash, open_bundle, read_description, sha256
from rt_runtime.bundle.read import FORMAT, Bundle, read_bundle
from rt_runtime.errors import BundleError, ConfigError
from rt_runtime.versions import versions

TARGETS = ("onnx", "c", "fmu", "fmu3")
Domain = tuple[ArrayLike, ArrayLike]


@dataclass
class _Written:
    """The files of one model and its entry in bundle.json."""

    files: dict[str, bytes]
    entry: dict[str, Any]


def write(
    model: ReducedModel | Mapping[str, ReducedModel],
    folder: str | os.PathLike[str],
    *,
    targets: Sequence[str] = ("onnx",),
    name: str = "model",
    precision: str = "float64",
    domain: Domain | Mapping[str, Domain] | None = None,
    validation: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    seed: int = 0,
) -> Bundle:
    """Write `model` (or {name: model}) to `folder` as a bundle and return the bundle as read back and checked.

    Of a lambda model (`Glam`) the expansion is written: outputs l1, ln l2, l3, l4 of each response. Its quantiles are a
    closed form of them: NAME_quantile in the C header, `mor.substructures.quantile_part` in a loop.

    targets: "onnx" (always written), "c" (C99 source), "fmu" (FMI 2.0 co-simulation), "fmu3" (FMI 3.0).
    precision: "float64", or "float32" with the error it makes stated in the bundle.
    domain: (lower, upper) of the inputs, for a model that has no finite domain of its own.
    validation, provenance: plain values for bundle.json. With {name: model}, domain and validation go by name as well.
    overwrite: replace a bundle that is already in `folder`; anything else there is never touched.
    seed: of the golden vectors.
    """
    models = dict(model) if isinstance(model, Mapping) else {name: model}
    by_name = isinstance(model, Mapping)
    target = Path(folder)
    _check_request(models, targets, precision)
    _check_folder(target, overwrite)

    def write_one(key: str) -> _Written:
        one = models[key]
        box = (domain.get(key) if isinstance(domain, Mapping) else domain) if domain is not None else None
        bounds = None if box is None else as_domain(*box, one.inputs)
        step = written_map(one)
        form = replace(form_of(step, key, bounds), law=step is not one)
        return _write_model(step, form, tuple(targets), precision, seed)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:  # most of it is the C compiler's
        every = list(pool.map(write_one, models))
    files: dict[str, bytes] = {}
    entries = []
    for key, written in zip(models, every, strict=True):
        results = (validation or {}).get(key, {}) if by_name else (validation or {})
        twice = {a.casefold() for a in files} & {b.casefold() for b in written.files}
        if twice:
            raise ConfigError(f"Names of models must give different files, got {sorted(twice)[0]} twice; rename one.")
        files |= written.files
        entries.append(written.entry | {"validation": _plain(results, f"validation of model '{key}'")})
    description: dict[str, Any] = {
        "format": FORMAT,
        "models": entries,
        "provenance": {"versions": versions("hybrid-mor", "numpy", "onnx"), **_plain(provenance or {}, "provenance")},
        "files": {key: {"bytes": len(data), "sha256": sha256(data)} for key, data in sorted(files.items())},
    }
    description["sha256"] = description_hash(description)
    files[DESCRIPTION] = (json.dumps(description, indent=2, allow_nan=False) + "\n").encode()
    return place(files, target, lambda: _check_folder(target, overwrite), lambda new: _read_back(new, target))


def _read_back(new: Path, target: Path) -> Bundle:
    """Return the bundle that is about to be placed at `target`; one that nobody could read is refused."""
    try:
        return replace(read_bundle(new), path=target)
    except BundleError as error:
        raise BundleError(str(error).replace(str(new), str(target))) from None


def _check_request(models: Mapping[str, ReducedModel], targets: Sequence[str], precision: str) -> None:
    if isinstance(targets, str) or not targets or [t for t in targets if t not in TARGETS]:
        raise ConfigError(f"targets of write must be some of {', '.join(TARGETS)}, got {targets!r}.")
    if precision not in PRECISIONS:
        raise ConfigError(f"precision of write must be one of {', '.join(PRECISIONS)}, got {precision!r}.")
    if not models:
        raise ConfigError("write needs at least one model, got none.")
    for key, model in models.items():
        if not isinstance(model, ReducedModel):
            raise ConfigError(f"Model '{key}' of write must be a reduced model, got {type(model).__name__}.")
    check_names(models)


def _write_model(model: ReducedModel, form: Form, targets: tuple[str, ...], precision: str, seed: int) -> _Written:
    golden = golden_vectors(model, form.domain, seed=seed)
    content = onnx_model(form, precision).SerializeToString(deterministic=True)
    initial = None if form.recursion is None else form.recursion.initial
    engine = OnnxEngine(content, initial)
    error = golden_difference(golden, engine.rows, engine.run)
    most = largest_tolerance(form.kind, precision)
    if precision == "float64" and not error <= most:
        raise ConfigError(
            f"ONNX graph of model '{form.name}' must repeat the model to {most:g}, got a relative difference of "
            f"{error:.2g}; its polynomials are too large in the domain, fit it on a smaller one."
        )
    if not np.isfinite(error):
        raise ConfigError(f"Model '{form.name}' must stay finite in {precision}; use precision='float64'.")
    if precision == "float32" and not 10.0 * error <= TOLERANCES[precision]:
        raise ConfigError(
            f"Model '{form.name}' must be repeated to {TOLERANCES[precision] / 10:g} in {precision}, got a relative "
            f"difference of {error:.2g}; use precision='float64'."
        )
    files = {f"{form.name}.onnx": content, f"{form.name}.golden.npz": golden_file(golden)}
    entry = _entry(form, precision, error)
    tolerance = tolerance_of(form.kind) if precision == "float64" else entry["tolerance"]
    if "c" in targets:
        c_files = {
            f"c/{form.name}.h": c_header(form, precision),
            f"c/{form.name}.c": c_source(form, precision),
            f"c/{form.name}_main.c": c_main(form, golden, precision, tolerance),
            f"c/{form.name}_mex.c": mex_source(c_model(form, precision)),
        }
        entry["c"] = list(c_files)
        files |= {name: text.encode() for name, text in c_files.items()}
    for target, standard, suffix in (("fmu", 2, ""), ("fmu3", 3, "_fmi3")):
        if target in targets:
            content, skipped = fmu_file(form, precision, standard)
            files[f"fmu/{form.name}{suffix}.fmu"] = content
            entry["fmu"].append(f"fmu/{form.name}{suffix}.fmu")
            entry["skipped"] += skipped
    return _Written(files, entry)


def _entry(form: Form, precision: str, error: float) -> dict[str, Any]:
    """Return the description of one model for bundle.json."""
    lower, upper = form.domain
    memory = None
    outputs: list[dict[str, Any]] = [{"name": p.name, "unit": p.unit, "bounds": None} for p in form.outputs]
    if form.recursion is not None:
        meant = zip(form.recursion.states, form.recursion.meaning, *form.recursion.state_domain, strict=True)
        memory = {
            "input_lags": form.recursion.input_lags,
            "output_lags": form.recursion.output_lags,
            "operators": [operator.plain() for operator in form.recursion.front.operators],
            "state": [
                {"name": p.name, "unit": p.unit, "domain": [float(a), float(b)], "meaning": text}
                for p, text, a, b in meant
            ],
            "initial": form.recursion.initial.tolist(),
            "outside": form.recursion.outside_rule,
        }
        for output, low, high in zip(outputs, *form.recursion.bounds, strict=False):
            output["bounds"] = [float(low), float(high)]
    single = precision == "float32"
    return {
        "name": form.name,
        "kind": form.kind,
        "precision": precision,
        "precision_error": float(error) if single else 0.0,
        "tolerance": max(10.0 * float(error), 1e-6) if single else largest_tolerance(form.kind, precision),
        "onnx": f"{form.name}.onnx",
        "golden": f"{form.name}.golden.npz",
        "c": [],
        "fmu": [],
        "inputs": [
            {"name": p.name, "unit": p.unit, "domain": [float(a), float(b)]}
            for p, a, b in zip(form.inputs, lower, upper, strict=True)
        ],
        "outputs": outputs,
        "dt": form.dt,
        "memory": memory,
        "multiply_adds": form.cost,
        "skipped": [],
    } | form.facts


def _plain(values: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return `values` as JSON would give them back; refuse what JSON cannot hold."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(values), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{what} of write must be plain finite values ready for JSON, got: {error}.") from None
    return plain


def _check_folder(target: Path, overwrite: bool) -> None:
    """Refuse a folder that holds anything but (with `overwrite`) a bundle and nothing else."""
    if not target.exists() and not target.is_symlink():
        return
    if not target.is_dir() or target.is_symlink():
        raise ConfigError(f"Folder '{target}' of write must be a folder, got a file or a link; choose another name.")
    there = {p.relative_to(target).as_posix() for p in target.rglob("*") if not p.is_dir() or p.is_symlink()}
    if not there:
        return
    if DESCRIPTION not in there:
        raise ConfigError(f"Folder '{target}' of write must be new or hold a bundle, got other files; choose another.")
    if not overwrite:
        raise ConfigError(f"Folder '{target}' already holds a bundle; choose another folder or give overwrite=True.")
    try:
        with open_bundle(target) as files:
            listed = read_description(files)[0].get("files")
    except BundleError:
        listed = None
    strangers = there - set(listed if isinstance(listed, dict) else ()) - {DESCRIPTION, SIGNATURE}
    if strangers:
        raise ConfigError(
            f"Folder '{target}' holds files that are not the bundle's ({sorted(strangers)[0]}); "
            "move them or choose another folder."
        )
