"""Draw signals over time, for records and trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = 8


def draw_histories(
    time: Array, values: Array, columns: Sequence[tuple[str, str]], names: Sequence[str], of: str
) -> Figure:
    """Draw some columns over time, one panel for each unit.

    Parameters
    ----------
    time, values
        (n,) in s and (n, columns).
    columns
        (name, unit) of each column.
    names
        Which to draw; none means all of the first eight units.
    of
        How error sentences call the owner.

    Returns
    -------
    A matplotlib figure, which a notebook shows and `figure.savefig(path)` writes.
    """
    from matplotlib.figure import Figure

    known = [name for name, _ in columns]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ConfigError(f"Names to plot of {of} must be among {', '.join(known) or 'none'}, got '{unknown[0]}'.")
    drawn = [i for i, name in enumerate(known) if not names or name in names]
    units = list(dict.fromkeys(columns[i][1] for i in drawn))[: PANELS if not names else None]
    figure = Figure(figsize=(8.0, 1.2 + 1.8 * max(len(units), 1)), layout="constrained")
    axes = figure.subplots(max(len(units), 1), 1, sharex=True, squeeze=False)[:, 0]
    for unit, axis in zip(units, axes, strict=False):
        own = [i for i in drawn if columns[i][1] == unit]
        for i in own:
            axis.plot(time, values[:, i], linewidth=1.0, label=columns[i][0])
        axis.set_ylabel(f"{columns[own[0]][0]} [{unit}]" if len(own) == 1 else f"[{unit}]")
        axis.grid(alpha=0.3)
        if len(own) > 1:
            axis.legend(frameon=False, fontsize=8)
    axes[-1].set_xlabel("time [s]")
    return figure
