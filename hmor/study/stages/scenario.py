"""A reduced part judged in the scenario of the full-order hybrid model, which no fit has seen."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from hmor.study.file import Model, Study
from hmor.study.loading import import_object
from mor.data.ports import Port
from mor.data.trajectory import Trajectory
from mor.hybrid.model import HybridModel
from mor.reduced.base import ReducedModel
from mor.validation.validate import nrmse, peak_error
from rt_runtime.errors import ConfigError

KINDS = ("input", "full", "reduced")
SHOWN = 50_000
"""At most about so many rows of a run are kept for pictures."""


def scenario_places(study: Study, model: Model) -> list[str]:
    """Return where in the hybrid model a variant has this model."""
    variants = study.hybrid.variants.values() if study.hybrid else ()
    return [place for parts in variants for place, path in parts.items() if path == model.path]


def scenario_file(study: Study, model: Model) -> Path:
    """Return where the run in the scenario is kept."""
    return study.folder / "validate" / f"{model.key}.nc"


def scenario_run(study: Study, model: Model, fitted: ReducedModel) -> tuple[Trajectory, Trajectory, Trajectory] | None:
    """Return inputs, and what the full-order part and its reduced model give to them; None when no variant has it.

    The full-order hybrid model is driven through its scenario; what its part reads goes into the reduced model.
    """
    from hmor.study.simulate import full_hybrid

    places = scenario_places(study, model)
    if study.hybrid is None or not places:
        return None
    part = full_hybrid(study, study.hybrid).substructures[places[0]]
    reads, writes = [port.name for port in part.inputs], [port.name for port in part.outputs]
    truth = _driven(study.hybrid.model, study.place, (*reads, *writes))
    u = np.column_stack([truth[name] for name in reads])
    step = float(truth.time[1] - truth.time[0])
    dt = step if fitted.dt is None else fitted.dt
    every = max(round(dt / step), 1)
    if abs(every * step - dt) > 1e-6 * dt:  # a stored response may have been thinned out
        raise ConfigError(
            f"Step of model '{model.path}' must be that of the scenario's full-order response, {step:g} s, or some of "
            f"them, got {dt:g} s; fit it at that step, or store the response at every tick."
        )
    answer = np.repeat(fitted.rollout(u[::every]), every, axis=0)[: len(u)]  # held in between, as in the loop
    shown = truth.select(writes)
    return truth.select(reads), shown, Trajectory(truth.time, answer[:, : len(writes)], shown.ports)


@lru_cache(maxsize=4)
def _driven(model: str, place: Path, signals: tuple[str, ...]) -> Trajectory:
    """Return signals of the full-order hybrid model in its scenario, at every tick."""
    whole: HybridModel = import_object(model, place)
    return whole.run(record=list(signals), every=1)


def judge_on_scenario(study: Study, model: Model, fitted: ReducedModel) -> dict[str, Any] | None:
    """Return NRMSE and peak error of the worst output in the scenario; keep the run for pictures."""
    both = scenario_run(study, model, fitted)
    if both is None:
        return None
    inputs, truth, answer = both
    every = max(1, len(truth) // SHOWN)
    columns = [Port(f"{kind}__{p.name}", p.unit) for kind, of in zip(KINDS, both, strict=True) for p in of.ports]
    values = np.column_stack([run.values[::every] for run in (inputs, truth, answer)])
    path = scenario_file(study, model)
    path.parent.mkdir(parents=True, exist_ok=True)
    Trajectory(truth.time[::every], values, columns).save(path)
    names = truth.names
    return {
        "nrmse": max(nrmse(answer[name], truth[name]) for name in names),
        "peak_error": max(peak_error(answer[name], truth[name]) for name in names),
    }


def kept_run(study: Study, model: Model) -> tuple[Trajectory, Trajectory, Trajectory] | None:
    """Return inputs, truth and answer of the run in the scenario as they were kept; None when there was none."""
    if not scenario_places(study, model):
        return None
    whole = Trajectory.load(scenario_file(study, model))

    def part(kind: str) -> Trajectory:
        ports = [port for port in whole.ports if port.name.startswith(f"{kind}__")]
        columns = np.column_stack([whole[port.name] for port in ports])
        return Trajectory(whole.time, columns, [Port(port.name.partition("__")[2], port.unit) for port in ports])

    inputs, truth, answer = (part(kind) for kind in KINDS)
    return inputs, truth, answer
