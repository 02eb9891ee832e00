"""The stored runs of the piers as data for a fit, and how runs of one pier teach another of the same section.

Piers of one section are similar. Where the moment falls linearly from the foot to the top, curvatures and with them all
strains are those of another height when x / H^2 is the same, and so is the moment at the foot

    M = F H + P x        (P: axial load)

A run (x, F) of a pier of height G is therefore a run of one of height H with

    x' = x (H / G)^2,    F' = (F G + P x - P x') / H

up to the small part of the moment of P that does not fall linearly: 0.2 to 1 % of M between 7 and 14 m.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from hmor.studies.viaduct.bridge import HEIGHTS
from hmor.studies.viaduct.piers import DRIFTS, design, pier_model
from mor import Dataset, Trajectory
from mor.reduced.history import split_runs
from mor.sources import rc_pier
from mor.sources.rc_pier import axial_load

REACH = 1.15
"""Runs of other piers are taken up to so many times the own largest displacement."""


@cache
def campaign(height: float, which: str) -> Dataset:
    """Return the stored protocols of a kind of pier and their forces: "train", "valid", or "test" (7 m alone)."""
    model, drawn = pier_model(height), design(height, which)
    runs = [model.evaluate(drawn.parameters(i))["run"] for i in range(len(drawn.points))]
    return Dataset.from_trajectories([run for run in runs if isinstance(run, Trajectory)], ["x"], ["F"])


def brought_to(height: float, data: Dataset, other: float) -> Dataset:
    """Return the runs of a pier of height `other` as runs of one of `height`, by similarity."""
    P = axial_load({p.name: p.value for p in rc_pier().parameters})
    x = data.X * (height / other) ** 2
    force = (data.Y * other + P * data.X - P * x) / height
    return Dataset(x, force, data.inputs, data.outputs, run=data.run, dt=data.dt)


def with_similar_piers(height: float) -> Callable[[Dataset], Dataset]:
    """Return a function that adds the training runs of the other kinds of pier to those of a pier of `height`."""

    def add(data: Dataset) -> Dataset:
        most, whole = REACH * DRIFTS[1] * height, [data]
        for other in sorted(set(HEIGHTS) - {height}):
            brought = brought_to(height, campaign(other, "train"), other)
            whole += [run for run in split_runs(brought) if np.abs(run.X).max() <= most]
        runs = [run for part in whole for run in split_runs(part)]
        owner = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
        X, Y = (np.concatenate([getattr(run, side) for run in runs]) for side in ("X", "Y"))
        return Dataset(X, Y, data.inputs, data.outputs, run=owner, dt=data.dt)

    return add
