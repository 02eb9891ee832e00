"""Pictures of the railway bridge study: the set-up, maxima over speed, the crossing at resonance."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mor.models.railway_bridge import Brace, Girder, Train
from rt_runtime import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COMPUTED, PHYSICAL, AXLE = "#0072B2", "#D55E00", "0.35"
LINES = {"bare": ("no damper", "0.4"), "off": ("damper, 0 V", "#E69F00"), "on": ("damper, 2 V", "#009E73")}
ACCELERATION_LIMIT = 3.5
"""m/s2, largest acceleration of a deck with ballast in EN 1990 A2."""


def draw_set_up(girder: Girder, brace: Brace, train: Train) -> Figure:
    """Draw bridge, train and damper; below it what stands in the laboratory.

    Parameters
    ----------
    girder, brace, train
        What is drawn, to scale along the bridge.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.6), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=[3, 2])
    _draw_bridge(above, girder, brace, train)
    _draw_rig(below)
    for axes in (above, below):
        axes.set_axis_off()
        axes.set_aspect("equal")
    return figure


def _draw_bridge(axes: Axes, girder: Girder, brace: Brace, train: Train) -> None:
    L, deep = girder.span, 1.6 * brace.depth
    axes.fill([0, L, L, 0], [0, 0, -deep, -deep], color=COMPUTED, alpha=0.3, linewidth=0)
    axes.plot([0, L], [-deep / 2, -deep / 2], color=COMPUTED, linestyle="-.", linewidth=0.8)
    for x, marker in ((0.0, "^"), (L, "o")):
        axes.plot(x, -deep - 0.6, marker=marker, markersize=10, color="0.2")
    foot = (0.0, -deep - (brace.at + 0.8) * np.tan(brace.angle))
    axes.fill([-4, -0.8, -0.8, -4], [0, 0, foot[1] - 1, foot[1] - 1], color="0.8")
    axes.plot([-0.8, brace.at], [foot[1], -deep], color=PHYSICAL, linewidth=4, solid_capstyle="round")
    axes.annotate("damper (physical)", (brace.at / 2, (foot[1] - deep) / 2), (6.0, foot[1] - 0.4), color=PHYSICAL)
    front = 34.0
    for behind, _ in zip(train.behind, train.loads, strict=True):
        x = front - behind
        if -6 < x < L:
            axes.annotate("", (x, 0.05), (x, 2.4), arrowprops={"arrowstyle": "-|>", "color": AXLE})
    axes.annotate("", (front + 6, 3.0), (front - 2, 3.0), arrowprops={"arrowstyle": "->", "color": "0.2"})
    axes.text(front + 1, 3.2, "V", ha="center")
    axes.text(L / 2, -deep / 2 + 0.15, f"deck, {girder.modes} modes (computed)", ha="center", color=COMPUTED)
    axes.text(-3.9, 3.1, f"{train.loads.size} axles of {train.loads[0] / 1e3:.0f} kN", color=AXLE)
    axes.annotate("", (0, foot[1] - 2.2), (L, foot[1] - 2.2), arrowprops={"arrowstyle": "<->", "color": "0.4"})
    axes.text(L / 2, foot[1] - 2.0, f"{L:g} m", ha="center", color="0.3")
    axes.set_xlim(-6, L + 4)
    axes.set_ylim(foot[1] - 3, 5)


def _draw_rig(axes: Axes) -> None:
    boxes = (
        (0, "deck under\nthe train", COMPUTED),
        (11, "controller\nwith preview", COMPUTED),
        (22, "hydraulic\nactuator", PHYSICAL),
        (33, "MR damper", PHYSICAL),
    )
    for x, words, colour in boxes:
        axes.fill([x, x + 7, x + 7, x], [0, 0, 4, 4], color=colour, alpha=0.25, linewidth=0)
        axes.text(x + 3.5, 2.0, words, ha="center", va="center", color=colour)
    for x, words in ((7, "stretch"), (18, "command"), (29, "motion")):
        axes.annotate("", (x + 4, 2.0), (x, 2.0), arrowprops={"arrowstyle": "-|>", "color": "0.2"})
        axes.text(x + 2, 2.3, words, ha="center", fontsize=8)
    axes.plot([36.5, 36.5, 3.5], [0, -1.6, -1.6], color="0.2", linewidth=1)
    axes.annotate("", (3.5, 0), (3.5, -1.65), arrowprops={"arrowstyle": "-|>", "color": "0.2"})
    axes.text(20, -1.4, "measured force", ha="center", fontsize=8)
    axes.set_xlim(-2, 44)
    axes.set_ylim(-3, 5)


def pictures(result: Mapping[str, Any], record: Record | None) -> Sequence[tuple[Figure, str]]:
    """Return what the report shows: maxima over speed and, where its record is there, the crossing at resonance."""
    found = []
    nominal = result["nominal"].get("full") or {}
    table = maxima_by_speed(nominal)
    if any(len(row) > 1 for row in table["mm"].values()):
        caption = (
            "Largest deflection and acceleration of the deck over the speed of the train: without damper (computed), "
            "and with the damper in the virtual rig, without and with voltage. Dashed: 3.5 m/s2, the limit of EN 1990 "
            "for decks with ballast."
        )
        found.append((_over_speed(table), caption))
    if record is not None:
        found.append(
            (_crossing(record), "Midspan and damper in the recorded crossing; the damper turns motion into heat.")
        )
    return found


def maxima_by_speed(metrics: Mapping[str, float]) -> dict[str, dict[str, dict[float, float]]]:
    """Return {"mm" | "m_s2": {"bare" | "off" | "on": {km/h: value}}} of the metrics of a run."""
    table: dict[str, dict[str, dict[float, float]]] = {unit: {name: {} for name in LINES} for unit in ("mm", "m_s2")}
    for key, value in metrics.items():
        match = re.fullmatch(r"(bare|off|on)_([\d.]+)_(mm|m_s2)", key)
        if match:
            table[match[3]][match[1]][float(match[2])] = value
    return table


def _over_speed(table: Mapping[str, Mapping[str, Mapping[float, float]]]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    for axes, (unit, words) in zip(
        figure.subplots(1, 2),
        {"mm": "largest deflection [mm]", "m_s2": "largest acceleration [m/s2]"}.items(),
        strict=True,
    ):
        for name, (label, colour) in LINES.items():
            row = table[unit][name]
            speeds = sorted(row)
            axes.plot(speeds, [row[v] for v in speeds], "o-", color=colour, label=label, markersize=4)
        if unit == "m_s2":
            axes.axhline(ACCELERATION_LIMIT, color="0.3", linestyle="--", linewidth=1)
        axes.set_xlabel("speed [km/h]")
        axes.set_ylabel(words)
        axes.set_ylim(bottom=0.0)
        axes.grid(alpha=0.3)
    axes.legend()
    return figure


def _crossing(record: Record) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    history, loop = figure.subplots(1, 2, width_ratios=[2, 1])
    history.plot(record.time, 1e3 * record["deflection[2]"][:, 0], color=COMPUTED, linewidth=1)
    history.set_xlabel("time [s]")
    history.set_ylabel("deflection at midspan [mm]")
    loop.plot(1e3 * record["position"], record["force"] / 1e3, color=PHYSICAL, linewidth=0.6)
    loop.set_xlabel("stroke [mm]")
    loop.set_ylabel("force of the damper [kN]")
    for axes in (history, loop):
        axes.grid(alpha=0.3)
    return figure
