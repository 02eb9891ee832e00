"""Fit a network with memory on trajectories, for accuracy in free run."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mor.data.dataset import Dataset
from mor.reduced.ffnn import Ffnn
from mor.reduced.history import MemorySpec
from mor.reduced.memory import MemoryModel, regressor_ports
from mor.reduced.ranges import Limits, distinct, edge_slope, free_run_error, memory_limits
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError
from training.config import FfnnConfig
from training.fit import Rows, fit_ffnn, run_levenberg
from training.memory_models.freerun import Recursion
from training.memory_models.operators import LearnedOperators, learns, with_numbers
from training.trainers.checkpoint import claim
from training.trainers.correlated import along_the_way
from training.trainers.network import Layout
from training.trainers.progress import bar
from training.trainers.scaled import Scaled, scale
from training.trainers.swinging import Swinging, check_swings, swinging


@dataclass(frozen=True)
class MemoryConfig:
    """How to fit a network with memory.

    `network`: the map and its trainer. `rows` instants drawn from the trajectories fit it one step ahead; then, where
    outputs come back, `segments` stretches of `horizon` steps fit it in free run for up to `iterations` steps.
    `correlation`: errors are taken as correlated along the way of the signals over this share of half their range, and
    as large as the outputs of their run (see `trainers.correlated`); 0.2 serves parts with hysteresis that swing in a
    structure, 0 is plain least squares. `swing`: so many steps more in which the motion of a mass on the part counts
    as much as the force (see `trainers.swinging`), for a part with one displacement and one force.
    """

    network: FfnnConfig = field(default_factory=lambda: FfnnConfig(hidden=(8, 8), restarts=1, iterations=400))
    rows: int = 3000
    horizon: int = 100
    segments: int = 100
    iterations: int = 100
    correlation: float = 0.0
    swing: int = 0

    def __post_init__(self) -> None:
        problems = [
            f"{name} of a fit with memory must be {least} or more, got {value!r}."
            for name, value, least in (
                ("rows", self.rows, 10),
                ("horizon", self.horizon, 2),
                ("segments", self.segments, 1),
                ("iterations", self.iterations, 0),
                ("swing", self.swing, 0),
            )
            if not isinstance(value, int) or value < least
        ]
        if not 0.0 <= self.correlation < float("inf") or (self.correlation > 0.0 and self.network.trainer != "lm"):
            problems.append(
                "correlation of a fit with memory must not be negative, and 0 with trainer 'adam', got "
                f"{self.correlation!r}."
            )
        if self.swing and self.network.trainer != "lm":
            problems.append(f"swing of a fit with memory must be 0 with trainer 'adam', got {self.swing!r}.")
        if problems:
            raise ConfigError.from_problems("Fit with memory", problems)


def fit_ffnn_memory(
    train: Dataset,
    memory: MemorySpec,
    *,
    valid: Dataset,
    config: MemoryConfig | None = None,
    domain: tuple[ArrayLike, ArrayLike] | None = None,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    outside_rule: str = "clip",
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool = False,
) -> MemoryModel:
    """Fit a network that remembers `memory` to trajectories and return it finished.

    `train` and `valid` hold whole trajectories (`run`), sampled every `memory.dt` and starting from rest. `domain` =
    (lower, upper) of the signals (default: their extent in `train`); `bounds` of the outputs (default: their extent
    with a margin of 5 %), kept in free run whatever comes in. Numbers of operators that are to be learned move together
    with the weights once those are fitted. The better of the one-step and the free-run fit on the free runs of `valid`
    comes back. `outside_rule` as in `MemoryModel`; the slope of "tangent" is that of the training data at their edge,
    and the bounds get a margin of 50 % then.

    Parameters
    ----------
    config
        Settings; the defaults of `MemoryConfig` when left out.
    folder, resume, progress
        As in `fit_ffnn`.
    """
    config = config or MemoryConfig()
    memory = memory.resolved(train)
    memory.check(valid)
    memory.check_opens()
    if config.swing:
        check_swings(memory)
    seed = config.network.seed
    limits = memory_limits(memory, train, domain, bounds, 0.5 if outside_rule == "tangent" else 0.05)
    rows = distinct(memory.table(train, rows=config.rows, seed=seed))
    check = distinct(memory.table(valid, rows=config.rows, seed=seed + 1), besides=rows)
    place = None if folder is None else Path(folder)
    length = config.correlation
    noise = along_the_way(rows, train, len(memory.signals), length) if length > 0.0 else None
    net = fit_ffnn(
        rows, valid=check, config=config.network, domain=limits.features, noise=noise,
        folder=None if place is None else place / "one_step", resume=resume, progress=progress,
    )  # fmt: skip
    data = scale(rows, check, limits.features)
    layout = data.layout(config.network.hidden, config.network.activation)
    theta = np.concatenate([part for W, b in zip(net.weights, net.biases, strict=True) for part in (W.ravel(), b)])
    if config.swing:
        problem = swinging(
            Rows(layout, data.X, data.Y, noise), theta, memory, train, data, instants=2 * config.rows, seed=seed
        )
        theta = _swung(problem, theta, config, data, place, resume, progress)
    recursion = Recursion(memory, data)
    finish = partial(_finished, train=train, outside_rule=outside_rule)
    first = finish(_assemble(recursion, layout, theta, limits, net.origin))
    if learns(memory) and not memory.feedback and config.iterations > 0:
        learned, refined = _learned(train, recursion, layout, theta, config, progress)
        origin = {**net.origin, "learned_operators": True}
        second = finish(_assemble(Recursion(learned, data), layout, refined, limits, origin))
        return min((first, second), key=lambda model: free_run_error(model, valid))
    if not memory.feedback or config.iterations == 0:
        return first
    refined = _free_run(train, recursion, layout, theta, config, place, resume, progress)
    second = finish(_assemble(recursion, layout, refined, limits, {**net.origin, "free_run": True}))
    return min((first, second), key=lambda model: free_run_error(model, valid))


def _finished(model: MemoryModel, *, train: Dataset, outside_rule: str) -> MemoryModel:
    """Return the model with its behaviour outside the domain of the signals."""
    if outside_rule != "tangent":
        return replace(model, outside_rule=outside_rule)
    slope = np.zeros((len(model.step.outputs), len(model.inputs)))
    slope[: len(model.outputs)] = edge_slope(train, len(model.outputs), model.domain)
    return replace(model, outside_rule=outside_rule, slope=slope)


def _swung(
    problem: Swinging,
    theta: Array,
    config: MemoryConfig,
    data: Scaled,
    folder: Path | None,
    resume: bool,
    progress: bool,
) -> Array:
    """Go on from the weights that fit the forces to those that also fit the motion."""
    settings = replace(config.network, iterations=config.swing)
    deadline = None if config.network.seconds is None else time.perf_counter() + config.network.seconds
    place = None if folder is None else folder / "swing"
    if place is not None:
        claim(place, {"data": data.fingerprint(), "start": theta.tolist()}, resume=resume)
    with bar(progress, config.swing, "swing") as update:
        return run_levenberg(problem, theta, settings, None, deadline, place, resume, update).theta


def _learned(
    train: Dataset, recursion: Recursion, layout: Layout, theta: Array, config: MemoryConfig, progress: bool
) -> tuple[MemorySpec, Array]:
    """Move weights and numbers of operators together; return the memory with its new numbers and the weights."""
    chosen = recursion.history.draw(train, rows=config.rows, seed=config.network.seed)
    problem = LearnedOperators(recursion.history, layout, train, chosen, recursion.data)
    start = np.concatenate([theta, np.zeros(problem.n_learned)])
    settings = replace(config.network, iterations=config.iterations)
    deadline = None if config.network.seconds is None else time.perf_counter() + config.network.seconds
    with bar(progress, config.iterations, "learn operators") as update:
        state = run_levenberg(problem, start, settings, None, deadline, None, False, update)
    weights, rho = np.split(state.theta, [layout.size])
    return with_numbers(recursion.history, rho), weights


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
    problem = recursion.segments(train, layout, horizon=config.horizon, count=config.segments, seed=config.network.seed)
    settings = FfnnConfig(
        hidden=config.network.hidden, activation=config.network.activation, iterations=config.iterations,
        bayesian=config.network.bayesian,
    )  # fmt: skip
    deadline = None if config.network.seconds is None else time.perf_counter() + config.network.seconds
    place = None if folder is None else folder / "free_run"
    if place is not None:
        gate = recursion.history.memory_gate
        begun = {
            "horizon": config.horizon,
            "segments": config.segments,
            "gate": None if gate is None else gate.plain(),
            "bayesian": config.network.bayesian,
            "data": recursion.data.fingerprint(),
        }
        claim(place, begun, resume=resume)
    with bar(progress, config.iterations, "free run") as update:
        return run_levenberg(problem, theta, settings, None, deadline, place, resume, update).theta


def _assemble(recursion: Recursion, layout: Layout, theta: Array, limits: Limits, origin: Any) -> MemoryModel:
    """Write network and filters as one one-step map: the filters are linear rows through the direct path."""
    history, data = recursion.history, recursion.data
    weights, biases = (list(part) for part in layout.unpack(theta))
    shift, drive, outer, offset = recursion.matrices
    n_y, n_z, n_lag = len(history.outputs), len(history.filters), len(history.outputs) * history.output_lags
    n_now = history.n_exogenous
    inputs = regressor_ports(
        history.signals, (*history.outputs, *history.states), history.input_lags, history.lags, history.front.features
    )
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
    return MemoryModel.around(
        history.behind_gate(step), history.signals, dt=history.dt, input_lags=history.input_lags,
        output_lags=history.lags, bounds=limits.outputs, responses=n_y, operators=history.operators,
    )  # fmt: skip
