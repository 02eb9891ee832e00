"""One small finished model of every kind. A new kind joins the contract suite by one line in `MODELS`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mor.ffnn import Ffnn
from mor.memory import Memory
from mor.ports import Port
from mor.reduced import ReducedModel, as_domain
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


MODELS: dict[str, Callable[[], ReducedModel]] = {
    "linear": linear,
    "memory of linear": memory_of_linear,
    "ffnn": ffnn,
    "memory of ffnn": memory_of_ffnn,
}
