"""Reduced models in the place of full-order ones: as fitted, or as exported."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from mor.memory import Memory
from mor.ports import Port
from mor.reduced import ReducedModel
from mor.substructure import Reading, Substructure
from rt_runtime import LoadedBundle, PythonBlock
from rt_runtime._core import Block
from rt_runtime.checks import Floats
from rt_runtime.errors import ConfigError


class ReducedSubstructure(Substructure):
    """A fitted reduced model in place of a full-order one; a model with memory keeps its own step `dt`.

    The block calls the model in the interpreter, which is right for offline runs and refused by a paced loop; there
    `BundleSubstructure` runs the exported model in the core, with the same ports.
    """

    kind = "reduced"
    real_time = False

    def __init__(self, name: str, model: ReducedModel) -> None:
        signals = model.signals if isinstance(model, Memory) else model.inputs
        self._declare(name, signals, model.outputs)
        self.model = model

    def _block(self, dt: float, values: dict[str, float], reading: Reading) -> Block:
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
        self._block(dt, values, Reading(hold=hold))
        return self.model.rollout(rows)[::every]

    def _ramps(self) -> bool:
        return False

    def _description(self) -> dict[str, Any]:
        arrays = self.model.arrays()
        hashes = {name: hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest() for name, a in arrays.items()}
        return {"header": self.model.header(), "arrays": hashes}


class BundleSubstructure(Substructure):
    """An exported reduced model in the place of a full-order one: the engine executes its ONNX file, paced or not.

    `model` names the model in the bundle (the only one when not given). `outputs` keeps the first so many outputs, for
    a model with memory that puts out states of its memory behind them.
    """

    kind = "bundle"

    def __init__(
        self, name: str, bundle: LoadedBundle, model: str | None = None, *, outputs: int | None = None
    ) -> None:
        entry = bundle.block(model, outputs=outputs).model
        ports = entry.outputs if outputs is None else entry.outputs[:outputs]
        self._declare(name, [Port(p.name, p.unit) for p in entry.inputs], [Port(p.name, p.unit) for p in ports])
        self._bundle, self._entry, self._outputs = bundle, entry, outputs

    def _block(self, dt: float, values: dict[str, float], reading: Reading) -> Block:
        own = self._entry.dt
        if own is not None and abs(dt - own) > 1e-9 * own:
            raise ConfigError(
                f"dt of {self.of} must be that of its model, {own:g} s, got {dt:g} s; fit the model for this dt."
            )
        return self._bundle.block(self._entry.name, outputs=self._outputs)

    def _ramps(self) -> bool:
        return False

    def _description(self) -> dict[str, Any]:
        return {"bundle": self._bundle.hashes, "model": self._entry.name, "outputs": self._outputs}
