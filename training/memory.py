"""Fit a network with memory on trajectories, for accuracy in free run."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mor.dataset import Dataset
from mor.ffnn import Ffnn
from mor.history import History, split_runs
from mor.memory import Memory, regressor_ports
from rt_runtime.errors import ConfigError
from training.config import FfnnConfig
from training.fit import fit_ffnn, run_levenberg
from training.freerun import Recursion
from training.network import Layout
from training.progress import bar
from training.scaled import scale

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MemoryConfig:
    """How to fit a network with memory.

    `network`: the map and its trainer. `rows` instants drawn from the trajectories fit it one step ahead; then, where
    outputs come back, `segments` stretches of `horizon` steps fit it in free run for up to `iterations` steps.
    """

    network: FfnnConfig = field(default_factory=lambda: FfnnConfig(hidden=(12,), restarts=3, iterations=500))
    rows: int = 4000
    horizon: int = 100
    segments: int = 100
    iterations: int = 100

    def __post_init__(self) -> None:
        problems = [
            f"{name} of a fit with memory must be {least} or more, got {value!r}."
            for name, value, least in (
                ("rows", self.rows, 10),
                ("horizon", self.horizon, 2),
                ("segments", self.segments, 1),
                ("iterations", self.iterations, 0),
            )
            if not isinstance(value, int) or value < least
        ]
        if problems:
            raise ConfigError.from_problems("Fit with memory", problems)


def fit_ffnn_memory(
    train: Dataset,
    valid: Dataset,
    history: History,
    config: MemoryConfig | None = None,
    *,
    domain: tuple[ArrayLike, ArrayLike] | None = None,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool = False,
) -> Memory:
    """Fit a network that remembers `history` to trajectories and return it finished.

    `train` and `valid` hold whole trajectories (`run`), sampled every `history.dt` and starting from rest. `domain` =
    (lower, upper) of the signals (default: their extent in `train`); `bounds` of the outputs (default: their extent
    with a margin of 5 %), kept in free run whatever comes in. The better of the one-step and the free-run fit on the
    free runs of `valid` comes back.
    """
    config = config or MemoryConfig()
    history.check(train)
    history.check(valid)
    seed = config.network.seed
    limits = _limits(history, train, domain, bounds)
    rows = _distinct(history.table(train, rows=config.rows, seed=seed))
    check = _distinct(history.table(valid, rows=config.rows, seed=seed + 1), besides=rows)
    place = None if folder is None else Path(folder)
    net = fit_ffnn(
        rows, check, config.network, domain=limits.features, folder=None if place is None else place / "one_step",
        resume=resume, progress=progress,
    )  # fmt: skip
    data = scale(rows, check, limits.features)
    layout = data.layout(config.network.hidden, config.network.activation)
    theta = np.concatenate([part for W, b in zip(net.weights, net.biases, strict=True) for part in (W.ravel(), b)])
    recursion = Recursion(history, data)
    first = _assemble(recursion, layout, theta, limits, net.origin)
    if not history.feedback or config.iterations == 0:
        return first
    refined = _free_run(train, recursion, layout, theta, config, place, resume, progress)
    second = _assemble(recursion, layout, refined, limits, {**net.origin, "free_run": True})
    return min((first, second), key=lambda model: free_run_error(model, valid))


def _distinct(data: Dataset, besides: Dataset | None = None) -> Dataset:
    """Drop repeated rows, also those of `besides`: a system at rest gives the same one over and over, in every run."""
    seen = set() if besides is None else {row.tobytes() for row in np.ascontiguousarray(besides.X)}
    keep = []
    for i, row in enumerate(np.ascontiguousarray(data.X)):
        key = row.tobytes()
        if key not in seen:
            seen.add(key)
            keep.append(i)
    return data.take(keep)


def free_run_error(model: Memory, data: Dataset) -> float:
    """Return the NRMSE of the free runs over all trajectories of `data`: the worst of the outputs."""
    n_y = len(data.outputs)
    wrong, size = np.zeros(n_y), np.zeros(n_y)
    for run in split_runs(data):
        y = model.rollout(run.X)[:, :n_y]
        wrong += np.sum((y - run.Y) ** 2, axis=0)
        size += np.sum(run.Y**2, axis=0)
    return float(np.sqrt(np.max(wrong / size)))


def _free_run(
    train: Dataset,
    recursion: Recursion,
    layout: Layout,
    theta: Array,
    config: MemoryConfig,
    folder: Path | None,
    resume: bool,
    progress: bool,
) -> Array:
    problem = recursion.segments(
        train, layout, horizon=config.horizon, count=config.segments, seed=config.network.seed
    )
    settings = FfnnConfig(
        hidden=config.network.hidden, activation=config.network.activation, iterations=config.iterations,
        bayesian=config.network.bayesian,
    )  # fmt: skip
    deadline = None if config.network.seconds is None else time.perf_counter() + config.network.seconds
    place = None if folder is None else folder / "free_run"
    with bar(progress, config.iterations, "free run") as update:
        return run_levenberg(problem, theta, settings, None, deadline, place, resume, update).theta


@dataclass(frozen=True)
class _Limits:
    """Bounds of the features and of what the one-step map puts out (outputs, then filter states)."""

    features: tuple[Array, Array]
    outputs: tuple[Array, Array]


def _limits(
    history: History,
    train: Dataset,
    domain: tuple[ArrayLike, ArrayLike] | None,
    bounds: tuple[ArrayLike, ArrayLike] | None,
) -> _Limits:
    n_u, n_y = len(history.signals), len(history.outputs)
    u_low, u_high = (
        (train.X.min(axis=0), train.X.max(axis=0)) if domain is None
        else (np.broadcast_to(np.asarray(b, float), (n_u,)) for b in domain)
    )  # fmt: skip
    if bounds is None:
        y_low, y_high = _widened(train.Y.min(axis=0), train.Y.max(axis=0))
    else:
        y_low, y_high = (np.broadcast_to(np.asarray(b, float), (n_y,)) for b in bounds)
    z_low, z_high = np.zeros(len(history.filters)), np.zeros(len(history.filters))
    for run in split_runs(train):
        z = history.filtered(history.driving(run.X, run.Y))
        z_low, z_high = np.minimum(z_low, z.min(axis=0)), np.maximum(z_high, z.max(axis=0))
    z_low, z_high = _widened(z_low, z_high)
    # Lags before the first instant are zero, so the domain of a lag holds zero.
    past = (np.minimum(u_low, 0.0), np.maximum(u_high, 0.0))
    y_past = (np.minimum(y_low, 0.0), np.maximum(y_high, 0.0))
    features = tuple(
        np.concatenate([now, *[lag] * history.input_lags, *[out] * history.output_lags, z])
        for now, lag, out, z in zip((u_low, u_high), past, y_past, (z_low, z_high), strict=True)
    )
    return _Limits(
        (features[0], features[1]), (np.concatenate([y_low, z_low]), np.concatenate([y_high, z_high]))
    )


def _widened(low: Array, high: Array, margin: float = 0.05) -> tuple[Array, Array]:
    """Widen [low, high] by a share of its length, but never across zero: a torque that only brakes stays so."""
    span = high - low
    return (
        np.where(low >= 0.0, np.maximum(low - margin * span, 0.0), low - margin * span),
        np.where(high <= 0.0, np.minimum(high + margin * span, 0.0), high + margin * span),
    )


def _assemble(
    recursion: Recursion, layout: Layout, theta: Array, limits: _Limits, origin: Any
) -> Memory:
    """Write network and filters as one one-step map: the filters are linear rows through the direct path."""
    history, data = recursion.history, recursion.data
    weights, biases = (list(part) for part in layout.unpack(theta))
    shift, drive, outer, offset = recursion.matrices
    n_y, n_z, n_lag = len(history.outputs), len(history.filters), len(history.outputs) * history.output_lags
    n_now = len(history.signals) * (1 + history.input_lags)
    inputs = regressor_ports(history.signals, (*history.outputs, *history.states), history.input_lags, history.lags)
    at = [[p.name for p in inputs].index(p.name) for p in history.features]

    def spread(rows: Array) -> Array:
        out = np.zeros((len(rows), len(inputs)))
        out[:, at] = rows
        return out

    weights[0] = spread(weights[0])
    W, b = weights[-1], biases[-1]
    weights[-1] = np.vstack([W[:n_y], drive[n_lag:] @ W])
    biases[-1] = np.concatenate([b[:n_y], drive[n_lag:] @ b + offset[n_lag:]])
    skip = spread(np.vstack([np.zeros((n_y, len(at))), np.hstack([outer[n_lag:], shift[n_lag:]])])) if n_z else None
    lower, upper = (
        np.concatenate([np.zeros(n_now), np.tile(np.where(side, np.maximum(b, 0.0), np.minimum(b, 0.0)), history.lags)])
        for side, b in zip((False, True), limits.outputs, strict=True)
    )
    lower[at], upper[at] = data.domain
    z_range = (data.domain[0][n_now + n_lag :], data.domain[1][n_now + n_lag :])
    step = Ffnn(
        tuple(weights), tuple(biases), inputs, (*history.outputs, *history.states), (lower, upper),
        (np.concatenate([data.range[0][:n_y], z_range[0]]), np.concatenate([data.range[1][:n_y], z_range[1]])),
        layout.activation, skip, origin,
    )  # fmt: skip
    return Memory.around(
        step, history.signals, dt=history.dt, input_lags=history.input_lags, output_lags=history.lags,
        bounds=limits.outputs,
    )  # fmt: skip
