"""Golden vectors: questions with the answers of the model itself, for every engine to repeat."""

from __future__ import annotations

import io
from itertools import product

import numpy as np

from mor.memory import Memory
from mor.reduced import Array, ReducedModel
from rt_runtime.bundle import Golden

ROWS = 200
STEPS = 2000
GATE_ROWS = 21  # from a closed gate to an open one, both edges included


def golden_rows(lower: Array, upper: Array, *, n: int = ROWS, seed: int) -> Array:
    """Draw n rows of the box [lower, upper]: corners first (at most 64), then points on its faces, then inside."""
    rng = np.random.default_rng(seed)
    d = lower.size
    if d <= 6:
        corners = np.array(list(product((0.0, 1.0), repeat=d)))
    else:
        corners = np.concatenate([np.zeros((1, d)), np.ones((1, d)), rng.integers(0, 2, (62, d)).astype(float)])
    unit = rng.random((n, d))
    edges = slice(len(corners), len(corners) + (n - len(corners)) // 4)
    faces = unit[edges]
    faces[np.arange(len(faces)), rng.integers(0, d, len(faces))] = rng.integers(0, 2, len(faces))
    unit[: len(corners)] = corners
    # Both ends are met exactly; lower + 1 * (upper - lower) would miss the upper one by a rounding error.
    return np.where(unit == 1.0, upper, lower + unit * (upper - lower))


def golden_excitation(lower: Array, upper: Array, *, n: int = STEPS, seed: int) -> Array:
    """Draw n steps of every signal: holds, ramps and an oscillation that leaves the range by a tenth on both sides."""
    rng = np.random.default_rng(seed)
    k = np.arange(n)
    columns = []
    for low, high in zip(lower, upper, strict=True):
        knots = np.sort(rng.choice(n, size=max(2, n // 50), replace=False))
        levels = rng.random(knots.size)
        held = levels[np.clip(np.searchsorted(knots, k, side="right") - 1, 0, None)]
        ramped = np.interp(k, knots, levels)
        swing = 0.5 + 0.6 * np.sin(2.0 * np.pi * k / rng.uniform(40.0, 400.0))
        a, b = n // 3, 2 * (n // 3)
        columns.append(low + (high - low) * np.concatenate([held[:a], ramped[a:b], swing[b:]]))
    return np.column_stack(columns)


def golden_vectors(model: ReducedModel, domain: tuple[Array, Array], *, seed: int) -> Golden:
    """Ask `model` the golden questions: rows of its domain (some through its gate) and, with memory, one free run."""
    X = golden_rows(*domain, seed=seed)
    if model.gate is not None:
        j = model.gate.column(model.inputs)
        way = np.linspace(model.gate.closed, model.gate.span, GATE_ROWS)
        X[-GATE_ROWS:, j] = np.clip(way, domain[0][j], domain[1][j])
    Y = model.predict(X)
    if not isinstance(model, Memory):
        return Golden(X, Y, None, None)
    n_u, n_y = len(model.signals), len(model.outputs)
    u = golden_excitation(domain[0][:n_u], domain[1][:n_u], seed=seed + 1)
    past_u, past_y = np.split(model.initial, [n_u * model.input_lags])
    y = np.empty((len(u), n_y))
    for k, now in enumerate(u):
        y[k] = model.predict(np.concatenate([now, past_u, past_y]))[0]
        past_u = np.concatenate([now, past_u])[: past_u.size]
        past_y = np.concatenate([y[k], past_y])[: past_y.size]
    return Golden(X, Y, u, y)


def golden_file(golden: Golden) -> bytes:
    """Pack golden vectors as .npz (arrays X, Y and, with memory, u, y)."""
    content = io.BytesIO()
    arrays = {"X": golden.X, "Y": golden.Y}
    if golden.u is not None and golden.y is not None:
        arrays |= {"u": golden.u, "y": golden.y}
    np.savez(content, allow_pickle=False, **arrays)
    return content.getvalue()
