"""One small finished model of every kind. A new kind joins the contract suite by one line in `MODELS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mor.dataset import Dataset
from mor.designs import lhs
from mor.ffnn import Ffnn
from mor.gate import Gate
from mor.marginals import LogNormal, Normal, Uniform
from mor.memory import Memory
from mor.pce import Pce
from mor.pce_fit import fit_pce
from mor.ports import Port
from mor.reduced import ReducedModel, as_domain
from mor.space import ParameterSpace
from tests.reference.linear_model import Linear

FORCE, SPEED, TORQUE = Port("F_br", "N"), Port("w_rw", "rad/s"), Port("tau_rw", "N m")


def linear() -> Linear:
    inputs = (FORCE, SPEED)
    return Linear(
        inputs, (TORQUE, Port("p", "Pa")), as_domain([0, 0], [50, 49], inputs), np.array([1.0, -2.0]),
        np.array([[2.5, 0.1], [0.3, -0.7]]),
    )  # fmt: skip


def memory_of_linear() -> Memory:
    """First-order lag y_k = 0.9 y_{k-1} + 0.2 F_k + 0.05 F_{k-1}."""
    inputs = (FORCE, Port("F_br_lag1", "N"), Port("tau_rw_lag1", "N m"))
    step = Linear(
        inputs, (TORQUE,), as_domain([0, 0, -5], [50, 50, 150], inputs), np.zeros(1), np.array([[0.2, 0.05, 0.9]])
    )
    return Memory.around(step, (FORCE,), dt=1e-3, input_lags=1, output_lags=1, bounds=(0.0, 130.0))


def ffnn() -> Ffnn:
    rng = np.random.default_rng(4)
    return Ffnn(
        (rng.normal(size=(5, 2)), rng.normal(size=(2, 5))), (rng.normal(size=5), rng.normal(size=2)), (FORCE, SPEED),
        (TORQUE, Port("p", "Pa")), ([0, 0], [50, 49]), ([0.0, -1.0], [150.0, 2.0]), origin={"seed": 4},
    )  # fmt: skip


def memory_of_ffnn() -> Memory:
    """One input, one lag of it, two lags of the output; the direct path carries a slow pole."""
    rng = np.random.default_rng(5)
    inputs = (FORCE, Port("F_br_lag1", "N"), Port("tau_rw_lag1", "N m"), Port("tau_rw_lag2", "N m"))
    step = Ffnn(
        (rng.normal(size=(6, 4)), 0.05 * rng.normal(size=(1, 6))), (rng.normal(size=6), rng.normal(size=1)), inputs,
        (TORQUE,), ([0, 0, -5, -5], [50, 50, 150, 150]), ([-5.0], [150.0]), skip=[[0.05, 0.02, 0.9, 0.0]],
    )  # fmt: skip
    return Memory.around(step, (FORCE,), dt=1e-3, input_lags=1, output_lags=2, bounds=(0.0, 130.0))


def pce() -> Pce:
    """Uniform, normal and lognormal inputs, two outputs."""
    space = ParameterSpace({"a": Uniform(-1.0, 3.0, unit="m"), "b": Normal(2.0, 0.5), "c": LogNormal(0.1, 0.3)})
    X = lhs(space, 90, seed=1).points
    Y = np.column_stack([np.sin(X[:, 0]) * X[:, 1] + np.log(X[:, 2]), X[:, 0] ** 2 - X[:, 1] * X[:, 2]])
    return fit_pce(Dataset(X, Y, space.ports, {"p": "N", "q": "m"}), space)


def memory_of_pce() -> Memory:
    """A saturating first-order lag y_k = 0.8 y_{k-1} + 0.2 tanh(F_k / 20) w_k."""
    names = ("F_br", "w_rw", "tau_rw_lag1")
    laws = (Uniform(0.0, 50.0, unit="N"), Uniform(0.0, 49.0, unit="rad/s"), Uniform(0.0, 60.0, unit="N m"))
    space = ParameterSpace(dict(zip(names, laws, strict=True)))
    X = lhs(space, 80, seed=2).points
    y = 0.8 * X[:, 2] + 0.2 * np.tanh(X[:, 0] / 20.0) * X[:, 1]
    step = fit_pce(Dataset(X, y, space.ports, [TORQUE]), space)
    return Memory.around(step, (FORCE, SPEED), dt=1e-3, input_lags=0, output_lags=1, bounds=(0.0, 60.0))


MODELS: dict[str, Callable[[], ReducedModel]] = {
    "linear": linear,
    "pce": pce,
    "memory of pce": memory_of_pce,
    "memory of linear": memory_of_linear,
    "ffnn": ffnn,
    "memory of ffnn": memory_of_ffnn,
    "ffnn behind a gate": lambda: replace(ffnn(), gate=Gate("F_br", 20.0)),
    "pce behind a gate": lambda: replace(pce(), gate=Gate("a", 1.0)),
    "ffnn behind a gate that is closed for long": lambda: replace(ffnn(), gate=Gate("F_br", 20.0, closed=7.0)),
    "memory behind a gate on its output": lambda: replace(
        memory_of_ffnn(), gate=Gate("tau_rw_lag1", 60.0, closed=1.0, outputs=("tau_rw",))
    ),
    "memory behind a gate on a signal": lambda: replace(
        memory_of_pce(), gate=Gate("F_br", 30.0, outputs=("tau_rw",))
    ),
}
