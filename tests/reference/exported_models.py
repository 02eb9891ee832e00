"""Small reduced models for export: every activation, a direct path, several outputs, with and without memory."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mor.data.ports import Port
from mor.marginals import Exponential, Normal, Uniform
from mor.reduced.ffnn import Ffnn
from mor.reduced.memory import MemoryModel
from mor.reduced.pce.basis import index_set, recurrence_table
from mor.reduced.pce.model import Pce

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


def network_with_memory(input_lags: int = 1, output_lags: int = 2, outputs: int = 1) -> MemoryModel:
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
    return MemoryModel.around(step, signals, dt=1e-3, input_lags=input_lags, output_lags=output_lags, bounds=bounds)


def polynomial(degree: int = 10, outputs: int = 1) -> Pce:
    """A full polynomial of total degree `degree` of braking force and wheel speed."""
    laws = (Uniform(0.0, 50.0), Uniform(-5.0, 49.0))
    indices = index_set(2, degree)
    rng = np.random.default_rng(8)
    decay = 0.6 ** indices.sum(axis=1)[:, None]
    return Pce(
        (FORCE, SPEED), (TORQUE, PRESSURE)[:outputs], ([0.0, -5.0], [50.0, 49.0]), np.array([25.0, 22.0]),
        np.array([25.0, 27.0]), np.zeros(2), recurrence_table(laws, degree), indices,
        rng.normal(size=(len(indices), outputs)) * decay * 40.0, np.zeros(outputs),
    )  # fmt: skip


def sparse_polynomial() -> Pce:
    """Thirty terms of four inputs of different laws, one of them by its logarithm; three of them meet in a term."""
    laws = (Uniform(-1.0, 1.0), Normal(0.0, 1.0), Normal(0.0, 1.0), Exponential(1.0))
    rng = np.random.default_rng(9)
    indices = np.zeros((30, 4), dtype=np.int64)
    for row in indices[1:]:
        row[rng.choice(4, size=rng.integers(1, 4), replace=False)] = rng.integers(1, 4)
    indices = np.unique(indices, axis=0)
    inputs = (Port("a", "m"), Port("b"), Port("c", "kg"), Port("d", "s"))
    return Pce(
        inputs, (TORQUE, PRESSURE), ([-1.0, -3.0, 0.2, 0.0], [1.0, 5.0, 6.0, 4.0]), np.array([0.0, 1.0, 0.1, 0.0]),
        np.array([1.0, 1.3, 0.4, 1.0]), np.array([0, 0, 1, 0]), recurrence_table(laws, 5), indices,
        rng.normal(size=(len(indices), 2)), np.zeros(2),
    )  # fmt: skip


def constant_polynomial() -> Pce:
    """Only a mean is left of the expansion."""
    table = recurrence_table((Uniform(0.0, 1.0),), 1)
    zero = np.zeros((1, 1), dtype=np.int64)
    return Pce(
        (FORCE,), (TORQUE,), ([0.0], [1.0]), np.array([0.5]), np.array([0.5]), np.zeros(1), table, zero,
        np.array([[3.5]]), np.zeros(1),
    )  # fmt: skip


def polynomial_with_memory() -> MemoryModel:
    """y_k = 0.7 y_{k-1} + 0.3 * (a small polynomial of F and w)."""
    names = ("F_br", "w_rw", "F_br_lag1", "w_rw_lag1", "tau_rw_lag1")
    low, high = np.array([0.0, -5.0, 0.0, -5.0, -20.0]), np.array([50.0, 49.0, 50.0, 49.0, 120.0])
    laws = tuple(Uniform(a, b) for a, b in zip(low, high, strict=True))
    indices = index_set(5, 3, interaction=2)
    coefficients = np.random.default_rng(10).normal(size=(len(indices), 1)) * 2.0
    own = (indices[:, 4] == 1) & (indices.sum(axis=1) == 1)
    coefficients[indices[:, 4] > 0] *= 0.05
    coefficients[own] = 0.7 * 70.0 / np.sqrt(3.0)
    coefficients[~indices.any(axis=1)] = 45.0
    units = ("N", "rad/s", "N", "rad/s", "N m")
    step = Pce(
        tuple(Port(n, u) for n, u in zip(names, units, strict=True)), (TORQUE,), (low, high), (low + high) / 2.0,
        (high - low) / 2.0, np.zeros(5), recurrence_table(laws, 3), indices, coefficients, np.zeros(1),
    )  # fmt: skip
    return MemoryModel.around(step, (FORCE, SPEED), dt=1e-4, input_lags=1, output_lags=1, bounds=(20.0, 70.0))
