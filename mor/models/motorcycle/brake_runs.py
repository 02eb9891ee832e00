"""Runs of a full-order brake to learn its memory from, and what such a memory is made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mor.dataset import Dataset
from mor.excitation import Channel, operating_range
from mor.history import Filter, History
from mor.models.motorcycle.brake import brake
from mor.models.motorcycle.brake_map import TOP_FORCE, TOP_SPEED
from rt_runtime.checks import one_of

HYDRAULIC_LAGS = (0.02, 0.08)
"""Time constants in s of the memory of the lever force: of the line, and of the caliper behind its restrictor."""


def brake_channels(side: str) -> tuple[Channel, Channel]:
    """Return how lever force and wheel speed may move: each over its sampled range, the lever in 30 ms to 8 s, the
    wheel in 1.5 s to 12 s with the tremble of an uneven road on top."""
    one_of(side, "side", "brake_channels", ("front", "rear"))
    force, speed = brake(side).inputs
    return (
        Channel(force.name, 0.0, TOP_FORCE, force.unit, fastest=0.03, at_rest=0.15, near_rest=0.3),
        Channel(speed.name, 0.0, TOP_SPEED[side], speed.unit, fastest=1.5, slowest=12.0, ripple=15.0),
    )


def sample_runs(side: str, seeds: Sequence[int], *, duration: float = 60.0, dt: float = 1e-4) -> Dataset:
    """Simulate the full-order brake over its operating range, one run of `duration` seconds a seed, from rest.

    Rows follow each other every `dt` seconds; inputs (F_br, w), output the torque, `run` counts the seeds.
    """
    part = brake(side)
    names = [port.name for port in part.inputs]
    X, Y = [], []
    for seed in seeds:
        drive = operating_range(brake_channels(side), duration=duration, rate=1.0 / dt, seed=seed)
        rows = np.column_stack([drive[name].values for name in names])
        X.append(rows)
        Y.append(part.simulate(rows, dt=dt)[part.outputs[0].name])
    run = np.repeat(np.arange(len(X)), [len(rows) for rows in X])
    return Dataset(np.concatenate(X), np.concatenate(Y), part.inputs, part.outputs, run=run)


def brake_history(side: str, *, dt: float = 1e-4) -> History:
    """Return the memory of a brake: the lever force through the hydraulics, and the friction power in the disc.

    The disc forgets its heat with the time constant C_d / cooling.
    """
    part = brake(side)
    values = part.parameter_values()
    force, speed = part.inputs
    power = f"{part.outputs[0].name}*{speed.name}"
    filters = (*(Filter(force.name, lag) for lag in HYDRAULIC_LAGS), Filter(power, values["C_d"] / values["cooling"]))
    return History(part.inputs, part.outputs, dt, filters=filters)
