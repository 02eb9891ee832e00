"""Reduced models in the place of full-order ones: as fitted, or as exported."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from mor.data.ports import Port
from mor.reduced.base import ReducedModel
from mor.substructures.base import InputTiming, Substructure
from rt_runtime import LoadedBundle, PythonBlock
from rt_runtime._core import Block
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError


def check_step(of: str, dt: float, own: float | None) -> None:
    """Refuse a step `dt` that is not the model's `own`; a model that does not depend on it has None."""
    if own is not None and abs(dt - own) > 1e-9 * own:
        raise ConfigError(f"dt of {of} must be that of its model, {own:g} s, got {dt:g} s; fit the model for this dt.")


class ReducedSubstructure(Substructure):
    """A fitted reduced model in place of a full-order one; a model with memory keeps its own step `dt`, and a hybrid
    model with a shorter tick calls it in every n-th one.

    The block calls the model in the interpreter, which is right for offline runs and refused by a paced loop; there
    `BundleSubstructure` runs the exported model in the core, with the same ports.

    Parameters
    ----------
    name
        Name of the part.
    """

    kind = "reduced"
    real_time = False

    def __init__(self, name: str, model: ReducedModel) -> None:
        self._declare(name, model.inputs, model.outputs)
        self.model = model

    @property
    def own_step(self) -> float | None:
        """That of a model with memory."""
        return self.model.dt

    def _block(self, dt: float, values: dict[str, float], reading: InputTiming) -> Block:
        model = self.model
        check_step(self.of, dt, model.dt)
        first, state = model.start(), model.start()

        def step(t: float, u: Array) -> list[float]:
            y, after = model.advance(u, (first if t == 0.0 else state)[None, :])
            state[:] = after[0]
            return [float(value) for value in y[0]]

        return PythonBlock(step, n_in=len(self.inputs), n_out=len(self.outputs))

    def _simulate(self, rows: Array, dt: float, values: dict[str, float], hold: str, every: int) -> Array:
        check_step(self.of, dt, self.model.dt)
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

    Parameters
    ----------
    name
        Name of the part.
    """

    kind = "bundle"

    def __init__(
        self, name: str, bundle: LoadedBundle, model: str | None = None, *, outputs: int | None = None
    ) -> None:
        if not isinstance(bundle, LoadedBundle):
            raise ConfigError(
                f"bundle of substructure '{name}' must be a loaded bundle, got {bundle!r}; write "
                f"BundleSubstructure('{name}', load_bundle(folder))."
            )
        entry = bundle.block(model, outputs=outputs).model
        ports = entry.outputs if outputs is None else entry.outputs[:outputs]
        self._declare(name, [Port(p.name, p.unit) for p in entry.inputs], [Port(p.name, p.unit) for p in ports])
        self._bundle, self._entry, self._outputs = bundle, entry, outputs

    @property
    def own_step(self) -> float | None:
        """That of a model with memory."""
        return self._entry.dt

    def _block(self, dt: float, values: dict[str, float], reading: InputTiming) -> Block:
        check_step(self.of, dt, self._entry.dt)
        return self._bundle.block(self._entry.name, outputs=self._outputs)

    def _ramps(self) -> bool:
        return False

    def _description(self) -> dict[str, Any]:
        return {"bundle": self._bundle.hashes, "model": self._entry.name, "outputs": self._outputs}
