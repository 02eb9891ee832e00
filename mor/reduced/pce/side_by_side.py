"""Errors of a PCE with memory over several free runs at once.

A free run is a chain of short steps that wait for each other. Runs do not wait for each other: eight of them are taken
through the recursion of `MemoryModel` side by side, each operation on eight numbers, and given up together as soon as
their error is more than was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mor.data.dataset import Dataset
from mor.reduced.gate import GatedModel, gate_numbers
from mor.reduced.memory import MemoryModel
from rt_runtime.checks import Array


class SideBySide:
    """Whole runs that models of one memory are compared with.

    Parameters
    ----------
    like
        One of the models; the others differ from it in their terms and coefficients alone.
    runs
        Trajectories that start from rest, with outputs that the models put out.
    """

    def __init__(self, like: MemoryModel, runs: Sequence[Dataset]) -> None:
        from mor.reduced.pce.compiled import LANES

        names = [p.name for p in like.step.outputs]
        self.judged = np.array([names.index(p.name) for p in runs[0].outputs])
        self.size: Array = np.sum([np.sum(run.Y**2, axis=0) for run in runs], axis=0)
        self._packs = [_packed(like, runs[i : i + LANES]) for i in range(0, len(runs), LANES)]

    def wrong(self, model: MemoryModel, most: Array) -> Array:
        """Return the summed squares of the errors of each output, all infinite once one of them is not below `most`."""
        from mor.reduced.pce.compiled import free_runs

        step = model.step
        low, high = step.domain
        gate, expansion = None, step
        if isinstance(step, GatedModel):
            gate, expansion, low = step.gate, step.model, low.copy()
            low[step.column] = max(low[step.column], step.floor)
        numbers = gate_numbers(gate, step.inputs, step.outputs)
        total, parameters = np.zeros(self.judged.size), expansion.kernel()[1]
        for pack in self._packs:
            free_runs(*pack, self.judged, parameters, numbers, (low, high, *model.bounds), most, total)
        return total if np.all(total <= most) else np.full_like(total, np.inf)


def _packed(like: MemoryModel, runs: Sequence[Dataset]) -> tuple[Array, Array, NDArray[np.int64]]:
    """Return what follows from the signals (n, ., runs), the outputs (n, ., runs), the lengths (runs,)."""
    length = np.array([len(run) for run in runs])
    U, Y = (np.zeros((length.max(), n, len(runs))) for n in (like.n_exogenous, runs[0].Y.shape[1]))
    for j, run in enumerate(runs):
        u = run.X
        past = [np.vstack([np.zeros((lag, u.shape[1])), u])[: len(u)] for lag in range(1, like.input_lags + 1)]
        features = [like.front.run(np.clip(u, *like.domain))[0]] if like.operators else []
        U[: len(u), :, j] = np.column_stack([u, *past, *features])
        Y[: len(u), :, j] = run.Y
    return U, Y, length
