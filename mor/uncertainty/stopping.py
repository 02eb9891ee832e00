"""The error that active learning stops by: leave-one-out residuals weighted by the part of the space they speak for.

Chosen points crowd where the response is hard, so that their plain mean overstates the error of the model over the
space. Row i gets the probability w_i of the points that are nearest to it, in units of the model's lengths:

    loo = sum_i w_i e_i^2 / Var y

For an evenly spread design the weights are nearly equal, and it is the usual leave-one-out error.
"""

from __future__ import annotations

import numpy as np

from mor.reduced.kriging.model import Kriging
from mor.sampling.designs import sobol
from mor.sampling.space import ParameterSpace
from rt_runtime.checks import Array

_POINTS = 4096
_BLOCK = 256


def covered_loo(model: Kriging, space: ParameterSpace) -> float:
    """Return the largest leave-one-out error of any output, weighted by coverage and relative to its variance.

    Parameters
    ----------
    model : Kriging
        Fitted to what was observed so far.
    space : ParameterSpace
        Law of the inputs.
    """
    Z = model._standard(sobol(space, _POINTS, seed=0, scramble=True).points)
    residuals, _ = model.loo_residuals()
    variance = model.values.var(axis=0)
    errors = [
        float(_shares(Z / length, model.points / length) @ e**2) / float(v)
        for length, e, v in zip(model.length, residuals.T, variance, strict=True)
        if v > 0.0
    ]
    return max(errors, default=0.0)


def _shares(Z: Array, rows: Array) -> Array:
    """Return the share of the points Z (n, inputs) that is nearest to each of the rows (N, inputs)."""
    square = np.einsum("ij,ij->i", rows, rows)
    nearest = [np.argmin(square - 2.0 * Z[k : k + _BLOCK] @ rows.T, axis=1) for k in range(0, len(Z), _BLOCK)]
    share: Array = np.bincount(np.concatenate(nearest), minlength=len(rows)) / len(Z)
    return share
