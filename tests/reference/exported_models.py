"""Small reduced models for export: every activation, a direct path, several outputs, with and without memory."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mor.ffnn import Ffnn
from mor.memory import Memory
from mor.ports import Port

FORCE, SPEED, TORQUE, PRESSURE = Port("F_br", "N"), Port("w_rw", "rad/s"), Port("tau_rw", "N m"), Port("p", "Pa")


def network(activation: str = "tanh", *, hidden: tuple[int, ...] = (10,), outputs: int = 1, skip: bool = False) -> Ffnn:
    """A seeded network of braking force and wheel speed."""
    rng = np.random.default_rng(5)
    sizes = (2, *hidden, outputs)
    weights = tuple(rng.normal(size=(b, a)) for a, b in pairwise(sizes))
    biases = tuple(rng.normal(size=b) for b in sizes[1:])
    direct = rng.normal(size=(outputs, 2)) if skip else None
    low, high = np.array([-40.0, 1e5])[:outputs], np.array([300.0, 4e6])[:outputs]
    return Ffnn(
        weights, biases, (FORCE, SPEED), (TORQUE, PRESSURE)[:outputs], ([0.0, -5.0], [50.0, 49.0]), (low, high),
        activation, direct,
    )  # fmt: skip


def network_with_memory(input_lags: int = 1, output_lags: int = 2, outputs: int = 1) -> Memory:
    """A contracting recursion whose outputs touch their bounds."""
    rng = np.random.default_rng(11)
    signals, results = (FORCE, SPEED), (TORQUE, PRESSURE)[:outputs]
    ports = [
        *signals,
        *(Port(f"{p.name}_lag{k + 1}", p.unit) for k in range(input_lags) for p in signals),
        *(Port(f"{p.name}_lag{k + 1}", p.unit) for k in range(output_lags) for p in results),
    ]
    low = np.array([0.0, -5.0] * (1 + input_lags) + [-20.0, 0.0][:outputs] * output_lags)
    high = np.array([50.0, 49.0] * (1 + input_lags) + [120.0, 4e6][:outputs] * output_lags)
    n = len(ports)
    hidden = rng.normal(size=(8, n)) / np.sqrt(n)
    hidden[:, 2 * (1 + input_lags) :] *= 0.4
    step = Ffnn(
        (hidden, 0.4 * rng.normal(size=(outputs, 8))), (rng.normal(size=8), rng.normal(size=outputs) * 0.1),
        tuple(ports), results, (low, high), (np.array([-20.0, 0.0])[:outputs], np.array([120.0, 4e6])[:outputs]),
    )  # fmt: skip
    bounds = (np.array([10.0, 1e6])[:outputs], np.array([80.0, 3e6])[:outputs])
    return Memory.around(step, signals, dt=1e-3, input_lags=input_lags, output_lags=output_lags, bounds=bounds)
