"""Small models with memory behind a gate: on a state, on a signal, on a lag; some outputs vanish, or all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mor.reduced.gate import Gate, GatedModel
from mor.reduced.memory import MemoryModel
from tests.reference.exported_models import network_with_memory, polynomial_with_memory

SPAN, CLOSED = 1.4e6, 1.1e6


def behind(gate: Gate, model: MemoryModel) -> MemoryModel:
    """The model with the gate around its one-step map."""
    return replace(model, step=GatedModel(model.step, gate))


def gate_of(model: MemoryModel) -> Gate:
    """The gate around its one-step map."""
    assert isinstance(model.step, GatedModel)
    return model.step.gate


def bare(model: MemoryModel) -> MemoryModel:
    """The model without its gate."""
    return replace(model, step=model.step.core)


def _network(gate: Gate, low: tuple[float, float] = (0.0, 1e6)) -> MemoryModel:
    """Torque and pressure, which is never below 1 MPa as long as it is not gated."""
    model = replace(network_with_memory(1, 2, outputs=2), bounds=(np.array(low), np.array([80.0, 3e6])))
    return behind(gate, model)


def _polynomial(gate: Gate) -> MemoryModel:
    return behind(gate, replace(polynomial_with_memory(), bounds=(np.array([0.0]), np.array([70.0]))))


MODELS: dict[str, Callable[[], MemoryModel]] = {
    "state": lambda: _network(Gate("p_lag1", SPAN, closed=CLOSED, outputs=("tau_rw",))),
    "signal": lambda: _network(Gate("F_br", 17.3, outputs=("tau_rw",))),
    "lag of a polynomial": lambda: _polynomial(Gate("F_br_lag1", 0.7, closed=0.1, outputs=("tau_rw",))),
    "everything": lambda: _network(Gate("w_rw_lag1", 7.7, outputs=("tau_rw", "p")), low=(-5.0, 0.0)),
}
