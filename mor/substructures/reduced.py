"""Reduced models in the place of full-order ones."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from mor.memory import Memory
from mor.reduced import ReducedModel
from mor.substructure import Substructure
from rt_runtime import PythonBlock
from rt_runtime._core import Block
from rt_runtime.checks import Floats
from rt_runtime.errors import ConfigError


class ReducedSubstructure(Substructure):
    """A fitted reduced model in place of a full-order one; a model with memory keeps its own step `dt`.

    The block calls the model in the interpreter, which is right for offline runs and refused by a paced loop; there the
    exported bundle runs in the native ROM block, which has the same ports and takes its place in `HybridModel.swap`.
    """

    kind = "reduced"
    real_time = False

    def __init__(self, name: str, model: ReducedModel) -> None:
        signals = model.signals if isinstance(model, Memory) else model.inputs
        self._declare(name, signals, model.outputs)
        self.model = model

    def _block(self, dt: float, values: dict[str, float], update: str, hold: str) -> Block:
        model = self.model
        if not isinstance(model, Memory):
            return PythonBlock(
                lambda t, u: model.predict(u)[0].tolist(), n_in=len(self.inputs), n_out=len(self.outputs)
            )
        if abs(dt - model.dt) > 1e-9 * model.dt:
            raise ConfigError(
                f"dt of {self.of} must be that of its model, {model.dt:g} s, got {dt:g} s; fit the model for this dt."
            )
        n_u, n_y = len(model.signals) * model.input_lags, len(model.outputs)
        state = model.initial.copy()

        def step(t: float, u: Floats) -> list[float]:
            if t == 0.0:
                state[:] = model.initial
            y = model.predict(np.concatenate([u, state]))[0]
            past_u = np.concatenate([u, state[:n_u]])[:n_u]
            past_y = np.concatenate([y, state[n_u:]])[: len(state) - n_u]
            state[:n_u], state[n_u:] = past_u, past_y
            return [float(value) for value in y[:n_y]]

        return PythonBlock(step, n_in=len(self.inputs), n_out=len(self.outputs))

    def _simulate(self, rows: Floats, dt: float, values: dict[str, float], hold: str, every: int) -> Floats:
        if not isinstance(self.model, Memory):
            return self.model.predict(rows)[::every]
        self._block(dt, values, "end", hold)
        return self.model.rollout(rows)[::every]

    def _ramps(self) -> bool:
        return False

    def _description(self) -> dict[str, Any]:
        arrays = self.model.arrays()
        hashes = {name: hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest() for name, a in arrays.items()}
        return {"header": self.model.header(), "arrays": hashes}
