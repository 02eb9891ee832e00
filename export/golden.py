"""Golden vectors: questions with the answers of the model itself, for every engine to repeat."""

from __future__ import annotations

import io
from itertools import product

import numpy as np

from mor.reduced.base import ReducedModel
from rt_runtime.bundle.read import Golden
from rt_runtime.checks import Array

ROWS = 200
STEPS = 2000


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
    """Ask `model` the golden questions: rows of its domain (some through its kinks) and, with memory, one free run."""
    n_u = len(model.inputs)
    low, high = (np.concatenate(pair) for pair in zip(domain, model.state_domain, strict=True))
    X = golden_rows(low, high, seed=seed)
    columns = [p.name for p in (*model.inputs, *model.states)]
    for name, values in model.kinks().items():
        if name in columns:
            j = columns.index(name)
            X[-len(values) :, j] = np.clip(values, X[:, j].min(), X[:, j].max())
    Y, _ = model.advance(X[:, :n_u], X[:, n_u:])
    if not model.states:
        return Golden(X, Y, None, None)
    u = golden_excitation(*domain, seed=seed + 1)
    return Golden(X, Y, u, model.rollout(u))


def golden_file(golden: Golden) -> bytes:
    """Pack golden vectors as .npz (arrays X, Y and, with memory, u, y)."""
    content = io.BytesIO()
    arrays = {"X": golden.X, "Y": golden.Y}
    if golden.u is not None and golden.y is not None:
        arrays |= {"u": golden.u, "y": golden.y}
    np.savez(content, allow_pickle=False, **arrays)
    return content.getvalue()
