"""Samples made ready for a trainer: checked, and scaled to [-1, 1] on both sides."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from mor.data.ports import Port
from mor.reduced.ffnn import Ffnn
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError
from training.trainers.network import Layout

_LOG = logging.getLogger("training")


class Samples(Protocol):
    """What a fit reads of a data set: rows X (n, n_in) and Y (n, n_out) with their ports."""

    @property
    def X(self) -> Array:
        """Inputs, one row a sample."""
        ...

    @property
    def Y(self) -> Array:
        """Outputs, one row a sample."""
        ...

    @property
    def inputs(self) -> tuple[Port, ...]:
        """Ports of the columns of X."""
        ...

    @property
    def outputs(self) -> tuple[Port, ...]:
        """Ports of the columns of Y."""
        ...


@dataclass(frozen=True)
class Scaled:
    """Training and validation rows in [-1, 1] with the bounds that were mapped there."""

    X: Array
    Y: Array
    X_valid: Array
    Y_valid: Array
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    domain: tuple[Array, Array]
    range: tuple[Array, Array]

    def layout(self, hidden: tuple[int, ...], activation: str) -> Layout:
        """Return the layout of a network between these columns."""
        return Layout((self.X.shape[1], *hidden, self.Y.shape[1]), activation)

    def fingerprint(self) -> str:
        """Return a hash of all numbers, so that a checkpoint knows its data."""
        digest = hashlib.sha256()
        for array in (self.X, self.Y, self.X_valid, self.Y_valid, *self.domain, *self.range):
            digest.update(repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def network(self, layout: Layout, theta: Array, origin: dict[str, object]) -> Ffnn:
        """Return the finished network with these parameters."""
        weights, biases = layout.unpack(theta)
        return Ffnn(
            tuple(weights), tuple(biases), self.inputs, self.outputs, self.domain, self.range, layout.activation,
            origin=origin,
        )  # fmt: skip


def to_unit(rows: Array, lower: Array, upper: Array) -> Array:
    """Map [lower, upper] to [-1, 1]."""
    unit: Array = 2.0 * (rows - lower) / (upper - lower) - 1.0
    return unit


def scale(
    train: Samples,
    valid: Samples | None,
    domain: tuple[ArrayLike, ArrayLike] | None = None,
    importance: ArrayLike | None = None,
) -> Scaled:
    """Check both sets and scale them; `domain` = (lower, upper) of the inputs, the extent of `train` when None.

    An output of `importance` c < 1 spans only [-c, c], so that its errors count c^2 times as much as those of others.
    """
    _check(train, valid)
    X = np.asarray(train.X, np.float64)
    lower, upper = (X.min(axis=0), X.max(axis=0)) if domain is None else (np.asarray(b, np.float64) for b in domain)
    if lower.shape != (X.shape[1],) or upper.shape != (X.shape[1],) or not np.all(lower < upper):
        raise ConfigError(
            f"domain of a fit must be lower and upper bounds (lower < upper) of {X.shape[1]} inputs, "
            f"got {np.asarray(lower).tolist()} and {np.asarray(upper).tolist()}."
        )
    Y = np.asarray(train.Y, np.float64)
    _warn(X, None if valid is None else np.asarray(valid.X, np.float64))
    low, high = Y.min(axis=0), Y.max(axis=0)
    if importance is not None:
        middle, half = 0.5 * (low + high), 0.5 * (high - low) / np.asarray(importance, np.float64)
        low, high = middle - half, middle + half

    X_valid = np.empty((0, X.shape[1])) if valid is None else np.asarray(valid.X, np.float64)
    Y_valid = np.empty((0, Y.shape[1])) if valid is None else np.asarray(valid.Y, np.float64)
    return Scaled(
        to_unit(X, lower, upper), to_unit(Y, low, high), to_unit(X_valid, lower, upper), to_unit(Y_valid, low, high),
        tuple(train.inputs), tuple(train.outputs), (lower, upper), (low, high),
    )  # fmt: skip


def _check(train: Samples, valid: Samples | None) -> None:
    problems = _problems(train, valid)
    if problems:
        raise ConfigError.from_problems("Data for a network", problems)


def _problems(train: Samples, valid: Samples | None) -> list[str]:
    problems = []
    for what, data in (("training", train), ("validation", valid)):
        if data is None:
            continue
        X, Y = np.asarray(data.X, np.float64), np.asarray(data.Y, np.float64)
        for side, array, ports in (("input", X, data.inputs), ("output", Y, data.outputs)):
            if array.ndim != 2 or array.shape[1] != len(ports):
                problems.append(
                    f"{what} {side}s must have {len(ports)} columns ({', '.join(p.name for p in ports)}), "
                    f"got shape {array.shape}."
                )
                continue
            for port, column in zip(ports, array.T, strict=True):
                if not np.all(np.isfinite(column)):
                    bad = int(np.sum(~np.isfinite(column)))
                    problems.append(f"{what} {side} '{port.name}' must be finite, got {bad} NaN or infinite values.")
                elif what == "training" and column.size and column.min() == column.max():
                    problems.append(
                        f"{what} {side} '{port.name}' must vary, got {column[0]:g} in every row; leave it out."
                    )
        if len(X) != len(Y):
            problems.append(f"{what} data must have as many inputs as outputs, got {len(X)} and {len(Y)} rows.")
    n_in = len(train.inputs)
    if len(train.X) < n_in + 2:
        problems.append(f"training data must have at least {n_in + 2} rows for {n_in} inputs, got {len(train.X)}.")
    if valid is not None:
        for side in ("inputs", "outputs"):
            ours, theirs = getattr(train, side), getattr(valid, side)
            if tuple(ours) != tuple(theirs):
                problems.append(
                    f"{side} of the validation data must be those of the training data "
                    f"({', '.join(p.name for p in ours)}), got {', '.join(p.name for p in theirs)}."
                )
        if len(valid.X) == 0:
            problems.append("validation data must have at least one row, got 0.")
    return problems


def _warn(X: Array, X_valid: Array | None) -> None:
    rows = {row.tobytes() for row in np.ascontiguousarray(X)}
    if len(rows) < len(X):
        _LOG.warning(f"Training data repeat {len(X) - len(rows)} of {len(X)} rows.")
    if X_valid is not None:
        shared = sum(row.tobytes() in rows for row in np.ascontiguousarray(X_valid))
        if shared:
            _LOG.warning(
                f"Validation data share {shared} of {len(X_valid)} rows with the training data; "
                "the validation error will look better than it is."
            )
