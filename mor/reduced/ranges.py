"""The ranges a model with memory is fitted in and held to, and its error in free run: the same for every kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mor.data.dataset import Dataset
from mor.reduced.history import MemorySpec, split_runs
from mor.reduced.memory import MemoryModel
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class Limits:
    """Bounds (lower, upper) of the features and of what the one-step map puts out (outputs, then filter states)."""

    features: tuple[Array, Array]
    outputs: tuple[Array, Array]


def memory_limits(
    history: MemorySpec,
    train: Dataset,
    domain: tuple[ArrayLike, ArrayLike] | None = None,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    margin: float = 0.05,
) -> Limits:
    """Return the ranges of a fit: `domain` of the signals and `bounds` of the outputs where given, else from `train`.

    Outputs get a `margin` and filter states one of 5 %, never across zero. Lags before the first instant are zero, so
    the range of a lag holds zero.
    """
    n_u, n_y = len(history.signals), len(history.outputs)
    u_low, u_high = (
        (train.X.min(axis=0), train.X.max(axis=0)) if domain is None
        else (np.broadcast_to(np.asarray(b, float), (n_u,)) for b in domain)
    )  # fmt: skip
    if bounds is None:
        y_low, y_high = widened(train.Y[:, :n_y].min(axis=0), train.Y[:, :n_y].max(axis=0), margin)
    else:
        y_low, y_high = (np.broadcast_to(np.asarray(b, float), (n_y,)) for b in bounds)
    z_low, z_high = np.zeros(len(history.filters)), np.zeros(len(history.filters))
    for run in split_runs(train):
        z = history.filtered(history.driving(run.X, run.Y))
        z_low, z_high = np.minimum(z_low, z.min(axis=0)), np.maximum(z_high, z.max(axis=0))
    z_low, z_high = widened(z_low, z_high)
    phi_low, phi_high = np.zeros(len(history.front.features)), np.zeros(len(history.front.features))
    for run in split_runs(train) if history.operators else ():
        phi, _ = history.front.run(run.X)
        phi_low, phi_high = np.minimum(phi_low, phi.min(axis=0)), np.maximum(phi_high, phi.max(axis=0))
    if any(operator.learnable for operator in history.operators):  # leave room for numbers that move
        phi_low, phi_high = 1.3 * phi_low, 1.3 * phi_high
    past = (np.minimum(u_low, 0.0), np.maximum(u_high, 0.0))
    y_past = (np.minimum(y_low, 0.0), np.maximum(y_high, 0.0))
    low, high = (
        np.concatenate([now, *[lag] * history.input_lags, phi, *[out] * history.output_lags, z])
        for now, lag, phi, out, z in zip(
            (u_low, u_high), past, (phi_low, phi_high), y_past, (z_low, z_high), strict=True
        )
    )
    return Limits((low, high), (np.concatenate([y_low, z_low]), np.concatenate([y_high, z_high])))


def edge_slope(train: Dataset, n_y: int, domain: tuple[Array, Array], margin: float = 0.1) -> Array:
    """Return the slope (n_y, n_u) with which the first n_y outputs follow a signal outwards near the edge of `domain`.

    For each signal it is its coefficient in a linear regression of the steps dy on the steps du of all signals, over
    those of the training runs in which the signal moves outwards within `margin` of the range from an edge; zero for a
    signal that never does.
    """
    low, high = domain
    reach = margin * (high - low)
    runs = [run for run in split_runs(train) if len(run) > 1]
    du = np.concatenate([np.diff(run.X, axis=0) for run in runs])
    dy = np.concatenate([np.diff(run.Y[:, :n_y], axis=0) for run in runs])
    at = np.concatenate([run.X[1:] for run in runs])
    slope = np.zeros((n_y, du.shape[1]))
    for j in range(du.shape[1]):
        above = (at[:, j] > high[j] - reach[j]) & (du[:, j] > 0.0)
        outwards = above | ((at[:, j] < low[j] + reach[j]) & (du[:, j] < 0.0))
        if np.count_nonzero(outwards) > du.shape[1]:
            slope[:, j] = np.linalg.lstsq(du[outwards], dy[outwards], rcond=None)[0][j]
    return slope


def widened(low: Array, high: Array, margin: float = 0.05) -> tuple[Array, Array]:
    """Widen [low, high] by a share of its length, but never across zero: a torque that only brakes stays so."""
    span = high - low
    return (
        np.where(low >= 0.0, np.maximum(low - margin * span, 0.0), low - margin * span),
        np.where(high <= 0.0, np.minimum(high + margin * span, 0.0), high + margin * span),
    )


def distinct(data: Dataset, besides: Dataset | None = None) -> Dataset:
    """Drop repeated rows, also those of `besides`: a system at rest gives the same one over and over, in every run."""
    seen = set() if besides is None else {row.tobytes() for row in np.ascontiguousarray(besides.X)}
    keep = []
    for i, row in enumerate(np.ascontiguousarray(data.X)):
        key = row.tobytes()
        if key not in seen:
            seen.add(key)
            keep.append(i)
    if not keep:
        raise ConfigError("valid of a fit with memory must hold other trajectories than train, got only rows of train.")
    return data.take(keep)


def free_run_error(model: MemoryModel, data: Dataset) -> float:
    """Return the NRMSE of the free runs over all trajectories of `data`: the worst of the outputs
    and of the hidden signals that stand behind them in the data.

    Parameters
    ----------
    model
        The model that runs freely.
    """
    return float(free_run_errors(model, split_runs(data)).max())


def free_run_errors(model: MemoryModel, runs: Sequence[Dataset]) -> Array:
    """Return the NRMSE of the free runs over some trajectories, of each column of their outputs.

    Parameters
    ----------
    model
        The model that runs freely.
    """
    names = [p.name for p in model.step.outputs]
    at = [names.index(p.name) for p in runs[0].outputs]
    wrong, size = np.zeros(len(at)), np.zeros(len(at))
    for run in runs:
        y = model.everything(run.X)[:, at]
        wrong += np.sum((y - run.Y) ** 2, axis=0)
        size += np.sum(run.Y**2, axis=0)
    errors: Array = np.sqrt(wrong / size)
    return errors
