"""The same numbers everywhere: every engine answers the golden vectors of a bundle, and the differences are shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from export.c.compiler import find_compiler
from export.c.golden import tolerance_of
from export.engines import CEngine, OnnxEngine
from export.fmu.host import FmuHost
from export.forms import written_map
from mor.reduced.base import ReducedModel
from rt_runtime.bundle.read import Bundle, BundleModel, difference
from rt_runtime.bundle.rom import Rom
from rt_runtime.checks import Array
from rt_runtime.errors import BundleError, ConfigError


@dataclass(frozen=True)
class Parity:
    """The largest relative difference of one engine from the golden vectors of one model.

    `rows`: single evaluations, `run`: the free run; None where it does not apply. An engine that could not be asked has
    both None and the reason in `note`.

    Parameters
    ----------
    tolerance
        Largest difference that passes.
    """

    model: str
    engine: str
    rows: float | None
    run: float | None
    tolerance: float
    note: str = ""

    @property
    def ok(self) -> bool:
        """True when the engine was asked and every difference is within the tolerance."""
        asked = [value for value in (self.rows, self.run) if value is not None]
        return bool(asked) and all(value <= self.tolerance for value in asked)

    @property
    def skipped(self) -> bool:
        """True when the engine could not be asked."""
        return self.rows is None and self.run is None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        values = {"model": self.model, "engine": self.engine, "rows": self.rows, "run": self.run}
        plain = {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in values.items()}
        return plain | {"tolerance": self.tolerance, "ok": self.ok, "note": self.note}


def verify(bundle: Bundle, models: Mapping[str, ReducedModel] | None = None) -> list[Parity]:
    """Ask every engine of every model in `bundle` the golden questions.

    models: the reduced models by name, to ask them as well (engine "numpy").
    """

    def one(name: str) -> list[Parity]:
        model = bundle.models[name]
        results = [] if models is None else [_numpy(model, written_map(models[name]))]
        results += [_onnxruntime(model), _runtime(model), _c(bundle, model)]
        return results + [_fmu(bundle, model, file) for file in model.description["fmu"]]

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:  # most of it is the C compiler's
        return [row for rows in pool.map(one, bundle.models) for row in rows]


Answer = Callable[[Array], Array]


def _compare(model: BundleModel, engine: str, tolerance: float, rows: Answer | None, run: Answer) -> Parity:
    golden = model.golden
    one = None if rows is None else difference(rows(golden.X), golden.Y)
    free = None if golden.u is None or golden.y is None else difference(run(golden.u), golden.y)
    return Parity(model.name, engine, one, free, tolerance)


def _same_algorithm(model: BundleModel) -> float:
    return tolerance_of(model.description["kind"]) if model.precision == "float64" else model.tolerance


def _numpy(model: BundleModel, source: ReducedModel) -> Parity:
    def rows(X: Array) -> Array:
        n_u = len(source.inputs)
        return source.advance(X[:, :n_u], X[:, n_u:])[0]

    return _compare(model, "numpy", tolerance_of(source.core.kind), rows, source.rollout)


def _onnxruntime(model: BundleModel) -> Parity:
    engine = OnnxEngine(model.onnx, None if model.memory is None else model.memory.initial)
    return _compare(model, "onnxruntime", model.tolerance, engine.rows, engine.run)


def _runtime(model: BundleModel) -> Parity:
    try:
        rom = Rom(model)
    except BundleError as error:
        return Parity(model.name, "rt_runtime", None, None, model.tolerance, str(error))
    return _compare(model, "rt_runtime", model.tolerance, rom.predict, rom.rollout)


def _c(bundle: Bundle, model: BundleModel) -> Parity:
    tolerance = _same_algorithm(model)
    compiler = find_compiler()
    if not model.description["c"]:
        return Parity(model.name, "c", None, None, tolerance, "not in the bundle; export it with target c")
    if compiler is None:
        return Parity(model.name, "c", None, None, tolerance, "no C compiler was found (cc, gcc, clang or CC)")
    files = {name.split("/")[-1]: bundle.content[name] for name in model.description["c"]}
    engine = CEngine(model.name, files, len(model.outputs), model.precision, compiler)
    return _compare(model, "c", tolerance, engine.rows, engine.run)


def _fmu(bundle: Bundle, model: BundleModel, file: str) -> Parity:
    tolerance = _same_algorithm(model)
    label = "fmu3" if file.endswith("_fmi3.fmu") else "fmu"
    step = model.dt or 1e-3

    def run(u: Array) -> Array:
        with FmuHost(bundle.content[file], len(model.inputs), len(model.outputs)) as host:
            return host.run(u, step)

    try:
        # The state of a model with memory is inside the FMU: only the free run can be asked of it.
        return _compare(model, label, tolerance, run if model.memory is None else None, run)
    except ConfigError as error:
        return Parity(model.name, label, None, None, tolerance, str(error))
