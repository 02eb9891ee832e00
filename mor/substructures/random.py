"""A specimen that is never the same twice: a stochastic emulator as a part whose probability level is drawn."""

from __future__ import annotations

import hashlib
from math import exp, expm1, log
from typing import Any

import numpy as np

from mor.data.ports import Parameter, Port
from mor.reduced.lambda_model.emulator import StochasticEmulator
from mor.reduced.lambda_model.model import lambda_ports
from mor.substructures.base import InputTiming, Substructure
from mor.substructures.functions import StaticSubstructure
from rt_runtime import PythonBlock
from rt_runtime._core import Block
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

SMALLEST = 1e-9  # levels are kept this far from 0 and 1


def _level(name: str) -> Parameter:
    return Parameter(name, 0.5, "", SMALLEST, 1.0 - SMALLEST)


class RandomSubstructure(Substructure):
    """A fitted stochastic emulator in the place of a specimen: y = Q(level; x).

    Its parameter `level` (`level_OUTPUT` for each of several outputs) is the probability of the response, 0.5 (the
    median) unless given; `latent={"name.level": Uniform(0, 1)}` of a hybrid model draws it anew in every run. The
    block calls the model in the interpreter, for offline runs; a paced loop takes the exported expansion and
    `quantile_part`.
    """

    kind = "random"
    real_time = False

    def __init__(self, name: str, model: StochasticEmulator) -> None:
        if not isinstance(model, StochasticEmulator):
            raise ConfigError(
                f"model of substructure '{name}' must be a stochastic emulator (fit_glam, fit_spce), got {model!r}."
            )
        single = len(model.outputs) == 1
        levels = [_level("level" if single else f"level_{p.name}") for p in model.outputs]
        self._declare(name, model.inputs, model.outputs, levels)
        self.model = model

    def _response(self, rows: Array, values: dict[str, float]) -> Array:
        U = np.broadcast_to(np.array(list(values.values())), (len(rows), len(self.outputs)))
        return self.model._from_uniform(np.ascontiguousarray(rows, dtype=float), np.ascontiguousarray(U))

    def _block(self, dt: float, values: dict[str, float], reading: InputTiming) -> Block:
        return PythonBlock(
            lambda t, u: self._response(np.atleast_2d(u), values)[0].tolist(),
            n_in=len(self.inputs),
            n_out=len(self.outputs),
        )

    def _simulate(self, rows: Array, dt: float, values: dict[str, float], hold: str, every: int) -> Array:
        return self._response(rows[::every], values)

    def _ramps(self) -> bool:
        return False

    def _description(self) -> dict[str, Any]:
        arrays = self.model.arrays()
        hashes = {name: hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest() for name, a in arrays.items()}
        return {"header": self.model.header(), "arrays": hashes}


def _quantile(u: Array, p: Array, y: Array) -> None:
    left, right = log(p[0]), log(1.0 - p[0])
    a, b = left, right
    if u[2] != 0.0:
        a = expm1(u[2] * left) / u[2]
    if u[3] != 0.0:
        b = expm1(u[3] * right) / u[3]
    y[0] = u[0] + exp(-u[1]) * (a - b)


def quantile_part(name: str, output: Port) -> StaticSubstructure:
    """Return the closed form of a quantile, compiled for the loop: l1, ln l2, l3, l4 in, Q(level) out.

    Behind the exported expansion of a Glam (BundleSubstructure) it is a random specimen that a paced loop can run.

    Parameters
    ----------
    name : str
        Name of the part.
    output : Port
        The response, as the Glam names it; the inputs are NAME_lambda1, NAME_ln_lambda2, NAME_lambda3, NAME_lambda4.
    """
    return StaticSubstructure(
        name, _quantile, inputs=lambda_ports((output,)), outputs=[output], parameters=[_level("level")]
    )
