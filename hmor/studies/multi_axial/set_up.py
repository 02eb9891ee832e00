"""Drawings of the set-ups with loading boxes: what is computed, what stands in the laboratory, and six actuators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mor.models.multi_axial.curved_bridge import PIERS, curved_bridge
from mor.models.multi_axial.loading_box import platform
from mor.models.multi_axial.moment_frame import HEIGHT
from rt_runtime.checks import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COMPUTED, PHYSICAL, ACTUATOR = "#0072B2", "#D55E00", "0.35"


def draw_bridge() -> Figure:
    """Draw the curved bridge, piers 1 and 2 as specimens, and the loading box on each of them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    grid = figure.add_gridspec(1, 4)
    axes: Any = figure.add_subplot(grid[0, :2], projection="3d")
    frame = curved_bridge()
    tested = {f"base{number}" for number in (1, 2)}
    for a, b, _ in frame.elements:
        ends = np.array([frame.nodes[a], frame.nodes[b]])
        colour, width = (PHYSICAL, 4) if a in tested else (COMPUTED, 3)
        _line(axes, ends, color=colour, linewidth=width)
    for number, (node, _, _) in PIERS.items():
        x, y, z = frame.nodes[str(node)]
        axes.text(x, z, y + 0.12, f"pier {number}", color=PHYSICAL if number < 3 else COMPUTED)
    points = np.array(list(frame.nodes.values()))
    axes.set_box_aspect(np.maximum(np.ptp(points[:, [0, 2, 1]], axis=0), 1.2), zoom=1.3)
    axes.set_title("deck and pier 3 computed, piers 1 and 2 tested")
    axes.set_axis_off()
    for i in (1, 2):
        _draw_box(figure.add_subplot(grid[0, 1 + i], projection="3d"), i, PIERS[i][2])
    return figure


def draw_moment_frame() -> Figure:
    """Draw the moment frame, its right column as specimen, and the loading box on it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    grid = figure.add_gridspec(1, 2, width_ratios=[3, 2])
    axes = figure.add_subplot(grid[0, 0])
    h = HEIGHT
    axes.plot([0, 0, 4 * h], [0, h, h], color=COMPUTED, linewidth=5, solid_joinstyle="miter")
    axes.plot([4 * h, 4 * h], [0, h], color=PHYSICAL, linewidth=5)
    for x in (0.0, 4 * h):
        axes.plot([x - 0.1, x + 0.1], [0, 0], color="0.2", linewidth=3)
    axes.annotate("", (0.55, 1.25 * h), (0.1, 1.25 * h), arrowprops={"arrowstyle": "->", "color": "0.2"})
    axes.text(0.33, 1.3 * h, "$U_x$", ha="center")
    axes.text(4 * h, 1.12 * h, "$R_z$", ha="center")
    axes.text(0.0, 1.12 * h, "$R_z$ left", ha="center")
    axes.text(2 * h, 0.8 * h, "beam and left column: computed", ha="center", color=COMPUTED)
    axes.text(3.9 * h, 0.4 * h, "column: tested", ha="right", color=PHYSICAL)
    axes.set_xlim(-0.2, 4 * h + 0.3)
    axes.set_ylim(-0.1, 1.6 * h)
    axes.set_aspect("equal")
    axes.set_axis_off()
    _draw_box(figure.add_subplot(grid[0, 1], projection="3d"), 1, h)
    return figure


def _draw_box(axes: Any, number: int, height: float) -> None:
    """Draw six actuators between their joints, the platform, and the specimen below it; y is drawn upwards."""
    box = platform(number)
    for name, a, b in zip(box.limbs, box.fixed, box.moving, strict=True):
        _line(axes, np.array([a, b]), color=ACTUATOR, linewidth=2)
        axes.text(a[0], a[2], a[1], name, fontsize=8)
        _line(axes, np.array([[0.0, 0.0, 0.0], b]), color=PHYSICAL, linewidth=1.2)  # the platform
    _line(axes, np.array([[0.0, 0.0, 0.0], [0.0, -height, 0.0]]), color=PHYSICAL, linewidth=5)
    axes.set_title(f"box {number}: six actuators", fontsize=10)
    axes.set_box_aspect((1, 1, 1.4), zoom=1.05)
    axes.set_axis_off()


def _line(axes: Axes, points: Array, **style: Any) -> None:
    axes.plot(points[:, 0], points[:, 2], points[:, 1], **style)
