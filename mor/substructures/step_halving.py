"""Step limits by trial: integrate with a step and with half of it, and compare what comes out.

The linearisation at rest says nothing about a hysteretic element: its state does not move there, df/dx = 0. Under a
velocity v a Bouc-Wen element has df/dx = -(beta + gamma) |v|, and a step beyond 2.785 / that is unstable all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from rt_runtime._core import Block
from rt_runtime.checks import Array

TOLERANCE = 0.1
"""How much of a state's range may change when the step is halved."""

TICKS = 64
LONGEST = 1.0


class Trial(NamedTuple):
    """Makes a block for (dt, substeps) whose first `n` outputs are the states."""

    block: Callable[[float, int], Block]
    n: int

    def states(self, dt: float, substeps: int, rows: Array) -> Array:
        """Return the states at each tick of a run with these inputs."""
        block = self.block(dt, substeps)
        return np.array([np.array(block.step(0.0, row)) for row in rows])[:, : self.n]


class StepLimit(NamedTuple):
    """The largest step in s (inf: nothing limits it), and in words how it was found."""

    step: float
    found: str

    def __str__(self) -> str:
        return f"{self.step:.4g} s: {self.found}"


def halving_error(trial: Trial, inputs: Sequence[Array], dt: float, substeps: int = 1) -> tuple[float, int]:
    """Return by how much halving the step changes a state, as a share of its range, and which state.

    Parameters
    ----------
    trial
        What is integrated.
    inputs
        Runs (n, n_inputs), each from the initial state.
    dt, substeps
        The step is dt / substeps.
    """
    coarse, fine = ([trial.states(dt, n, rows) for rows in inputs] for n in (substeps, 2 * substeps))
    if not all(np.isfinite(run).all() for run in (*coarse, *fine)):
        return np.inf, 0
    size = np.ptp(np.concatenate(fine), axis=0)
    change = np.max([np.abs(a - b).max(axis=0) for a, b in zip(coarse, fine, strict=True)], axis=0)
    share = np.divide(change, size, out=np.where(change > 0.0, np.inf, 0.0), where=size > 0.0)
    share[change <= 1e-9 * np.abs(np.concatenate(fine)).max(axis=0)] = 0.0
    worst = int(np.argmax(share))
    return float(share[worst]), worst


def largest_step_by_halving(trial: Trial, inputs: Sequence[Array]) -> float:
    """Return the largest step, up to 1 s, with which halving it changes no state by a tenth; inf when 1 s does."""

    def holds(step: float) -> bool:
        return halving_error(trial, inputs, step)[0] <= TOLERANCE

    if holds(LONGEST):
        return np.inf
    good = LONGEST
    while not holds(good):
        good /= 2.0
        if good < 1e-9:
            return 0.0
    bad = 2.0 * good
    for _ in range(5):
        middle = np.sqrt(good * bad)
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return float(good)


def corner_runs(lower: Array, upper: Array) -> list[Array]:
    """Return runs that hold the corners of a range of inputs, at most 16 of them, one after the other as well."""
    m = len(lower)
    corners = (
        [np.where(bits, upper, lower) for bits in product((True, False), repeat=min(m, 4))]
        if m <= 4
        else [np.where(bits, upper, lower) for bits in np.random.default_rng(1).integers(0, 2, (16, m)).astype(bool)]
    )
    held = [np.tile(corner, (TICKS, 1)) for corner in corners]
    reversed_ = np.concatenate([rows[: TICKS // 2] for pair in zip(held, held[::-1], strict=True) for rows in pair])
    return [*held, reversed_] if m else [np.zeros((TICKS, 0))]


def excerpts(rows: Array) -> list[Array]:
    """Return the parts of input histories around the largest size of each input."""
    found = []
    for column in np.abs(rows).T:
        start = max(int(np.argmax(column)) - TICKS // 2, 0)
        found.append(rows[start : start + 2 * TICKS])
    return found or [rows[: 2 * TICKS]]
