"""Errors of a hysteretic model along a path: large where forces are large, and alike at neighbouring places.

A free run that is a little too high here is so a little further on: least squares that take rows as independent weigh
such a level too much and the slope between rows, which decides how a structure swings on it, too little. With errors of
a run in proportion to the size s of its outputs and correlated as exp(-way / length), the fit is least squares of

    (e_k - rho_k e_{k-1}) / (s sqrt(1 - rho_k^2)),    rho_k = exp(-|u_k - u_{k-1}| / length),

rows k in order, rho = 0 at the first of a run (generalised least squares after Cochrane and Orcutt, 1949).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mor.data.dataset import Dataset
from mor.reduced.history import split_runs
from rt_runtime.checks import Array
from training.trainers.scaled import to_unit

_MOST = 0.999  # rho of rows at almost the same place
_LEAST = 0.02  # size of the smallest runs over that of all


@dataclass(frozen=True)
class Correlated:
    """Weights (n,) and correlations rho (n,) with the row before."""

    weight: Array
    rho: Array

    def white(self, values: Array, part: slice) -> Array:
        """Return errors or their slopes (rows of `part`, ...) as independent ones; the first row has none before it."""
        w, rho = self.weight[part], self.rho[part].copy()
        rho[0] = 0.0
        scaled = values * w[:, None]
        out = scaled.copy()
        out[1:] -= rho[1:, None] * scaled[:-1]
        out /= np.sqrt(1.0 - rho**2)[:, None]
        return out


def along_the_way(rows: Dataset, train: Dataset, n_signals: int, length: float) -> Correlated:
    """Return the correlation of `rows` drawn in order from the runs of `train`.

    Parameters
    ----------
    rows : features, the signals first, with the number of the run of each row.
    train : the runs.
    n_signals : how many of the features are signals.
    length : of the correlation, where the range of a signal is 2.
    """
    assert rows.run is not None
    u = rows.X[:, :n_signals]
    u = to_unit(u, train.X.min(axis=0), train.X.max(axis=0))
    far = np.abs(np.diff(u, axis=0, prepend=u[:1])).max(axis=1)
    rho = np.minimum(np.exp(-far / length), _MOST)
    rho[np.flatnonzero(np.diff(rows.run, prepend=rows.run[0] - 1))] = 0.0
    span = np.maximum(np.ptp(train.Y, axis=0), 1e-300)
    size = np.array([np.sqrt(np.mean((run.Y / span) ** 2)) for run in split_runs(train)])
    weight = 1.0 / np.maximum(size, _LEAST * size.max())[rows.run.astype(int)]
    return Correlated(weight / np.sqrt(np.mean(weight**2)), rho)
