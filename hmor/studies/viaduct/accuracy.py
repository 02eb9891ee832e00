"""Reduced piers against OpenSees: alone under imposed motion, under the mass of a deck, and as parts of the bridge."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from export import write
from hmor.studies.viaduct.bridge import HEIGHTS, SPECIMEN
from hmor.studies.viaduct.hybrid import hybrid, one_pier
from hmor.studies.viaduct.piers import memory_spec
from hmor.studies.viaduct.records import stored_one_pier, stored_response
from hmor.studies.viaduct.runs import campaign
from mor import Substructure, Trajectory, nrmse
from mor.reduced.memory import MemoryModel
from mor.substructures import BundleSubstructure
from rt_runtime import load_bundle

HIDDEN, ROWS, ITERATIONS, CORRELATION, SWING = (24, 16), 20_000, 70, 0.2, 20
"""Network, instants, iterations, correlation of errors and steps of swinging in a fit, as in the study file."""


def fit_pier(height: float, *, seed: int = 0) -> MemoryModel:
    """Fit a pier to the stored protocols as the study viaduct does.

    Parameters
    ----------
    height : of the pier in m.
    seed : of the fit.
    """
    from training import FfnnConfig, MemoryConfig, fit_ffnn_memory

    network = FfnnConfig(hidden=HIDDEN, restarts=1, iterations=ITERATIONS, seed=seed)
    train, valid = (campaign(height, which).mirrored() for which in ("train", "valid"))
    config = MemoryConfig(network, rows=ROWS, iterations=0, correlation=CORRELATION, swing=SWING)
    return fit_ffnn_memory(train, memory_spec(height), valid=valid, config=config)


def exported(models: Mapping[str, MemoryModel]) -> dict[str, Substructure]:
    """Return fitted piers by name as parts that the core runs."""
    with tempfile.TemporaryDirectory() as folder:
        write(dict(models), Path(folder) / "bundle")
        bundle = load_bundle(Path(folder) / "bundle")
    return {name: BundleSubstructure(name, bundle, name) for name in models}


def alone(model: MemoryModel, name: str) -> float:
    """Return the NRMSE of the force of a pier of 7 m under the motion that it had in OpenSees under its deck."""
    full, _ = stored_one_pier(name)
    return nrmse(model.rollout(full["x1"][:, None])[:, 0], full["F1"])


def under_its_deck(pier: Substructure, name: str) -> tuple[float, float]:
    """Return NRMSE and relative error of the peak of the displacement of a pier of 7 m under the mass of its deck."""
    full, _ = stored_one_pier(name)
    return _errors(one_pier(name, pier=pier).run(), full, "x1")


def in_the_bridge(
    piers: Mapping[str, Substructure], name: str, scale: float, *, specimen: bool = True
) -> dict[str, tuple[float, float]]:
    """Return NRMSE and relative error of the peak of the displacement over each pier, {"x1": (nrmse, peak), ...}."""
    full, _ = stored_response(name, scale, specimen=specimen)
    run = hybrid(name, scale, specimen=specimen, piers=piers).run()
    return {column: _errors(run, full, column) for column in (f"x{i + 1}" for i in range(len(HEIGHTS)))}


def worst(errors: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """Return the errors over the specimen and the largest over the other piers."""
    at = f"x{SPECIMEN + 1}"
    others = [pair for column, pair in errors.items() if column != at]
    return {
        "specimen": errors[at][0],
        "specimen_peak": errors[at][1],
        "others": max(pair[0] for pair in others),
        "others_peak": max(pair[1] for pair in others),
    }


def _errors(run: Trajectory, full: Trajectory, column: str) -> tuple[float, float]:
    n = min(len(run.time), len(full.time))
    y, reference = run[column][:n], full[column][:n]
    return nrmse(y, reference), abs(float(np.abs(y).max() / np.abs(reference).max()) - 1.0)
