"""Draw columns against each other: where a design lies, what a dataset covers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mor.data.ports import Port
from rt_runtime.checks import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLUE = "#1f5fa8"
MOST = 6


def draw_scatter(across: Sequence[tuple[Port, Array]], up: Sequence[tuple[Port, Array]] | None = None) -> Figure:
    """Draw each of `up` over each of `across`; without `up` all pairs, with histograms on the diagonal.

    At most six columns either way, and at most 5000 evenly spaced rows.
    """
    from matplotlib.figure import Figure

    columns, rows = list(across)[:MOST], list(across if up is None else up)[:MOST]
    n = len(rows[0][1]) if rows else 0
    some = slice(None, None, max(1, n // 5000))
    figure = Figure(figsize=(1.0 + 2.2 * len(columns), 0.8 + 2.0 * len(rows)), layout="constrained")
    axes = figure.subplots(len(rows), len(columns), squeeze=False)
    for i, (y_port, y) in enumerate(rows):
        for j, (x_port, x) in enumerate(columns):
            axis = axes[i, j]
            if up is None and i == j:
                axis.hist(x, bins=20, color=_BLUE, alpha=0.6)
                axis.set_yticks([])
            else:
                axis.scatter(x[some], y[some], s=6, color=_BLUE, alpha=0.5, linewidths=0)
            if i == len(rows) - 1:
                axis.set_xlabel(_label(x_port))
            if j == 0:
                axis.set_ylabel(_label(y_port))
    return figure


def _label(port: Port) -> str:
    return f"{port.name} [{port.unit}]" if port.unit else port.name
