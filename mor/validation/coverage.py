"""Reversal map: does a record stay inside what a hysteretic model was trained on?

A half cycle is described by where it starts, where it ends, and the largest absolute displacement up to its end: what a
rate-independent part with damage can depend on most. A half cycle of a record is covered when a trained one lies close.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from rt_runtime.checks import Array, finite_array, positive
from rt_runtime.errors import ConfigError


def turning_points(x: ArrayLike, *, smallest: float = 0.0) -> Array:
    """Return the first value, every reversal after a way of more than `smallest`, and the last value."""
    values = finite_array(x, "x", "turning_points", (None,))
    if values.size < 2:
        raise ConfigError(f"x of turning_points must have at least 2 samples, got {values.size}.")
    points, extreme, direction = [float(values[0])], float(values[0]), 0
    for value in values.tolist():
        if direction == 0:
            if abs(value - points[0]) > smallest:
                direction, extreme = (1 if value > points[0] else -1), value
        elif (value - extreme) * direction >= 0:
            extreme = value
        elif abs(value - extreme) > smallest:
            points.append(extreme)
            direction, extreme = -direction, value
    return np.array([*points, extreme])


def half_cycles(x: ArrayLike, *, smallest: float = 0.0) -> Array:
    """Return one row a half cycle: start, end, largest absolute value so far."""
    points = turning_points(x, smallest=smallest)
    return np.column_stack([points[:-1], points[1:], np.maximum.accumulate(np.abs(points))[1:]])


@dataclass(frozen=True, eq=False)
class Coverage:
    """What part of a record lies inside the trained half cycles.

    range: trained range in the unit of x. inside: share of the way travelled that is covered. beyond: by how much the
    record leaves the trained range, as a share of it (0 when it does not). trained, tested: half cycles (n, 3).
    distance: of each tested half cycle to the nearest trained one, in shares of the trained range.
    """

    range: tuple[float, float]
    inside: float
    beyond: float
    tolerance: float
    trained: Array
    tested: Array
    distance: Array

    @property
    def outside(self) -> Array:
        """The half cycles of the record that no trained one is close to, farthest first."""
        far = np.flatnonzero(self.distance > self.tolerance)
        return self.tested[far[np.argsort(-self.distance[far])]]

    def __str__(self) -> str:
        text = (
            f"{100 * self.inside:.0f} % of the way lies inside what was trained "
            f"({len(self.outside)} of {len(self.tested)} half cycles outside)"
        )
        if self.beyond > 0:
            return text + f"; the record leaves the trained range by {100 * self.beyond:.0f} %: extend the training."
        if len(self.outside):
            start, end, _ = self.outside[0]
            return text + f"; the farthest runs from {start:.3g} to {end:.3g}."
        return text + "."

    def picture(self, path: str | Path, *, unit: str = "m") -> None:
        """Draw the reversal map: trained half cycles as dots, those of the record as circles, red where outside."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5, 5), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.plot(self.trained[:, 0], self.trained[:, 1], ".", color="0.7", ms=3, label="trained")
        far = self.distance > self.tolerance
        for rows, colour, label in ((~far, "C0", "record, inside"), (far, "C3", "record, outside")):
            axes.plot(self.tested[rows, 0], self.tested[rows, 1], "o", mfc="none", color=colour, label=label)
        axes.set_xlabel(f"half cycle from [{unit}]")
        axes.set_ylabel(f"to [{unit}]")
        axes.legend()
        figure.savefig(path)


def coverage(
    train: Sequence[ArrayLike], test: ArrayLike, *, tolerance: float = 0.1, mirrored: bool = False
) -> Coverage:
    """Compare the half cycles of a record with those of the training histories.

    Parameters
    ----------
    train : displacement histories of the training.
    test : displacement history of the record.
    tolerance : largest distance, as a share of the trained range, at which a half cycle counts as covered; half cycles
        smaller than a fifth of it are not looked at.
    mirrored : whether the training also uses each history with the other sign.
    """
    positive(tolerance, "tolerance", "coverage")
    if not train:
        raise ConfigError("train of coverage must hold at least one history, got none.")
    histories = [finite_array(x, "train", "coverage", (None,)) for x in train]
    histories += [-x for x in histories] if mirrored else []
    low, high = min(float(x.min()) for x in histories), max(float(x.max()) for x in histories)
    span = high - low
    if span == 0:
        raise ConfigError("train of coverage must move, got constant histories.")
    smallest = 0.2 * tolerance * span
    trained = np.vstack([half_cycles(x, smallest=smallest) for x in histories])
    tested = half_cycles(test, smallest=smallest)
    distance, _ = cKDTree(trained / span).query(tested / span, p=np.inf)
    ways = np.abs(tested[:, 1] - tested[:, 0])
    inside = float(ways[distance <= tolerance].sum() / ways.sum()) if ways.sum() > 0 else 1.0
    record = np.asarray(test, float)
    beyond = max(0.0, float(record.max()) - high, low - float(record.min())) / span
    return Coverage((low, high), inside, beyond, tolerance, trained, tested, np.asarray(distance))
