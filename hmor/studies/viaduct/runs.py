"""The stored runs of the piers as data for a fit."""

from __future__ import annotations

from functools import cache

from hmor.studies.viaduct.piers import design, pier_model
from mor import Dataset, Trajectory


@cache
def campaign(height: float, which: str) -> Dataset:
    """Return the stored protocols of a kind of pier and their forces: "train", "valid", or "test" (7 m alone)."""
    model, drawn = pier_model(height), design(height, which)
    runs = [model.evaluate(drawn.parameters(i))["run"] for i in range(len(drawn.points))]
    return Dataset.from_trajectories([run for run in runs if isinstance(run, Trajectory)], ["x"], ["F"])
