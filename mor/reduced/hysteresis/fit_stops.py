"""A model of hysteresis that is passive and has a monotone skeleton by construction.

    F = k x + sum_i w_i s_i,    k >= 0, w_i >= 0,    s_i stops of x

is a spring beside slipping springs (Prandtl and Ishlinskii): each of them only stores or dissipates energy, so no
closed cycle gives any, and the force grows along every loading from rest. The weights are a non-negative least-squares
fit.
"""

from __future__ import annotations

import numpy as np

from mor.data.dataset import Dataset
from mor.reduced.ffnn import Ffnn
from mor.reduced.history import MemorySpec
from mor.reduced.hysteresis.operators import Stop
from mor.reduced.memory import MemoryModel
from mor.reduced.ranges import memory_limits
from rt_runtime.errors import ConfigError


def fit_stops(
    train: Dataset, *, count: int = 30, spacing: str = "quantile", rows: int | None = 20_000, seed: int = 0
) -> MemoryModel:
    """Fit a spring and `count` slipping springs to runs of one displacement and one force; return it finished.

    Parameters
    ----------
    train
        Whole runs that start from rest, one input (displacement) and one output (force).
    count, spacing
        Number of stops and how their radii are taken from the data, as in `mor.Play`.
    rows, seed
        Instants that are used, drawn along the way travelled; None for all.
    """
    if len(train.inputs) != 1 or len(train.outputs) != 1:
        raise ConfigError(
            f"Data of fit_stops must have one input and one output, got {len(train.inputs)} and {len(train.outputs)}."
        )
    from scipy.optimize import nnls

    spec = MemorySpec(train.inputs, train.outputs, operators=(Stop(train.inputs[0].name, count, spacing=spacing),))
    spec = spec.resolved(train)
    table = spec.table(train, rows=rows, seed=seed)
    scale = np.abs(table.X).max(axis=0)
    weights, _ = nnls(table.X / scale, table.Y[:, 0])
    limits = memory_limits(spec, train)
    (lower, upper), (low, high) = limits.features, (limits.outputs[0][:1], limits.outputs[1][:1])
    half_x, half_y = 0.5 * (upper - lower), 0.5 * (high - low)
    gain = (weights / scale)[None, :]
    step = Ffnn(
        (gain * half_x / half_y[:, None],), ((gain @ (0.5 * (upper + lower)) - 0.5 * (high + low)) / half_y,),
        spec.features, train.outputs, (lower, upper), (low, high),
        origin={"trainer": "nnls", "passive": True, "monotone": True},
    )  # fmt: skip
    return MemoryModel.around(step, train.inputs, dt=None, bounds=(low, high), operators=spec.operators)
