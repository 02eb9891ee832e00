"""Write a controller for another host: C99, FMU, MEX, golden vectors, and a description with the hash of every file."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from export.c.compiler import find_compiler
from export.c.golden import TOLERANCE
from export.c.mex import mex_source
from export.c.model import CModel
from export.control.form import form_of_controller
from export.control.golden import controller_main, core_run, golden_run
from export.control.source import controller_header, controller_source
from export.engines import CEngine
from export.fmu.host import FmuHost
from export.fmu.writer import fmu_file
from export.names import check_name
from export.placing import check_export, place
from mor.data.ports import Port
from rt_runtime._core import Block
from rt_runtime.bundle.files import sha256
from rt_runtime.bundle.read import difference
from rt_runtime.checks import Array, finite_array, positive
from rt_runtime.errors import ConfigError
from rt_runtime.safety.monitor import Command

DESCRIPTION = "controller.json"
TARGETS = ("c", "fmu", "fmu3")


@dataclass(frozen=True)
class WrittenController:
    """An exported controller: its folder, its description, and how closely each engine repeats the golden run.

    differences: {engine: largest relative difference from the core}; an engine that could not be asked is left out.
    """

    folder: Path
    description: dict[str, Any]
    differences: dict[str, float]

    @property
    def ok(self) -> bool:
        """Whether every engine that was asked repeats the core."""
        return all(value <= TOLERANCE for value in self.differences.values())


def write_controller(
    controller: Block,
    folder: str | os.PathLike[str],
    *,
    name: str = "controller",
    limits: Sequence[Command] = (),
    units: Sequence[str] | None = None,
    size: ArrayLike = 1.0,
    dt: float | None = None,
    targets: Sequence[str] = ("c", "fmu"),
    overwrite: bool = False,
    seed: int = 0,
) -> WrittenController:
    """Write a controller of the loop as C99 and FMU, and let what was written repeat the core.

    Parameters
    ----------
    controller : an Mpc, TrackingMpc, AdaptiveMpc, KalmanFilter, Extrapolator, PiLead, ModelBasedCompensator or
        AdaptiveCompensation.
    folder : where it goes; c/ and fmu/ below it, golden.npz and controller.json.
    name : C identifier, name of the functions and files.
    limits : of the first outputs, as the monitor keeps them: lower, upper, rate, start at rest.
    units : of the inputs, then of the outputs; none when not given.
    size : largest inputs of the golden run, one number or one per input; large enough to reach the bounds.
    dt : control interval in s of a block that has none of its own (Extrapolator).
    targets : some of "c", "fmu" (FMI 2.0), "fmu3" (FMI 3.0).
    overwrite : replace a controller that is already in `folder`; anything else there is never touched.
    seed : of the golden run.
    """
    if isinstance(targets, str) or not targets or [t for t in targets if t not in TARGETS]:
        raise ConfigError(f"targets of write_controller must be some of {', '.join(TARGETS)}, got {targets!r}.")
    check_name(name)
    form = form_of_controller(controller)
    step = positive(controller.period or dt or 0.0, "dt", "write_controller")
    commands = sum(one == "command" or one.startswith("command_") for one in form.outputs)
    if len(limits) > commands:
        raise ConfigError(
            f"limits of write_controller must be at most one per command of the controller, {commands}, got "
            f"{len(limits)}."
        )
    inputs, outputs = _ports(form.inputs, form.outputs, units)
    largest = np.broadcast_to(np.asarray(size, dtype=float), (len(inputs),))
    finite_array(np.array(largest), "size", "write_controller", (len(inputs),))
    u, y = golden_run(controller, limits, step, np.array(largest), seed)
    model = CModel(
        name, f"Controller ({form.kind})", inputs, outputs, np.full(len(inputs), -np.inf), np.full(len(inputs), np.inf),
        None, step, form.n_state + len(limits), "float64", controller_header(name, form, step, len(limits)),
        controller_source(name, form, step, limits),
    )  # fmt: skip
    content = _files(model, tuple(targets), u, y)
    description: dict[str, Any] = {
        "format": 1, "name": name, "kind": form.kind, "dt": step, "tolerance": TOLERANCE, "state": model.n_state,
        "inputs": [{"name": p.name, "unit": p.unit} for p in inputs],
        "outputs": [{"name": p.name, "unit": p.unit} for p in outputs],
        "limits": [{key: getattr(c, key) for key in ("name", "lower", "upper", "rate", "rest")} for c in limits],
        "files": {key: {"bytes": len(data), "sha256": sha256(data)} for key, data in sorted(content.items())},
    }  # fmt: skip
    content[DESCRIPTION] = (json.dumps(description, indent=2) + "\n").encode()
    place(content, Path(folder), lambda: check_export(Path(folder), DESCRIPTION, overwrite), lambda _: None)
    return WrittenController(Path(folder), description, _differences(model, content, u, y))


def _ports(
    inputs: tuple[str, ...], outputs: tuple[str, ...], units: Sequence[str] | None
) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    n = len(inputs) + len(outputs)
    words = [""] * n if units is None else list(units)
    if len(words) != n:
        raise ConfigError(
            f"units of write_controller must be {n}, of {', '.join((*inputs, *outputs))}, got {len(words)}."
        )
    ports = [Port(name, unit) for name, unit in zip((*inputs, *outputs), words, strict=True)]
    return tuple(ports[: len(inputs)]), tuple(ports[len(inputs) :])


def _files(model: CModel, targets: tuple[str, ...], u: Array, y: Array) -> dict[str, bytes]:
    golden = io.BytesIO()
    np.savez(golden, allow_pickle=False, u=u, y=y)
    content = {"golden.npz": golden.getvalue()}
    if "c" in targets:
        texts = {f"c/{model.name}.h": model.header, f"c/{model.name}.c": model.source}
        texts[f"c/{model.name}_main.c"] = controller_main(model.name, u, y, model.n_state)
        texts[f"c/{model.name}_mex.c"] = mex_source(model)
        content |= {key: text.encode() for key, text in texts.items()}
    for target, version, suffix in (("fmu", 2, ""), ("fmu3", 3, "_fmi3")):
        if target in targets:
            content[f"fmu/{model.name}{suffix}.fmu"] = fmu_file(model, "float64", version)[0]
    return content


def _differences(model: CModel, content: dict[str, bytes], u: Array, y: Array) -> dict[str, float]:
    found: dict[str, float] = {}
    compiler = find_compiler()
    if compiler is None:
        return found
    c_files = {key[2:]: data for key, data in content.items() if key.startswith("c/") and "_mex" not in key}
    if c_files:
        engine = CEngine(model.name, c_files, len(model.outputs), "float64", compiler)
        found["c"] = difference(engine.run(u), y)
    for key in content:
        if key.startswith("fmu/"):
            with FmuHost(content[key], len(model.inputs), len(model.outputs)) as host:
                assert model.dt is not None
                found["fmu3" if key.endswith("_fmi3.fmu") else "fmu"] = difference(host.run(u, model.dt), y)
    return found


__all__ = ["WrittenController", "core_run", "write_controller"]
