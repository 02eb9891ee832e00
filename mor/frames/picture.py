"""Pictures of frames in space: the structure and its modes, with the shapes of the beams between the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mor.frames.beam import DIRECTIONS
from mor.frames.frame import Frame3d
from rt_runtime.checks import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_modes(frame: Frame3d, count: int = 4, *, scale: float = 0.12) -> Figure:
    """Draw the lowest modes of a frame over its undeformed shape.

    Parameters
    ----------
    frame
        The frame.
    count
        How many modes.
    scale
        Largest displacement as a share of the frame's size.
    """
    from matplotlib.figure import Figure

    modes = frame.modes(count)
    columns = min(count, 3)
    rows = -(-count // columns)
    figure = Figure(figsize=(4.2 * columns, 3.4 * rows), layout="constrained")
    points = np.array(list(frame.nodes.values()))
    size = float(np.ptp(points, axis=0).max())
    for i in range(count):
        axes = figure.add_subplot(rows, columns, i + 1, projection="3d")
        moved = _by_node(frame, modes.shapes[:, i])
        largest = max(float(np.abs(motion[:3]).max()) for motion in moved.values())
        for a, b, _ in frame.elements:
            line = np.array([frame.nodes[a], frame.nodes[b]])
            axes.plot(line[:, 0], line[:, 2], line[:, 1], color="0.75", linewidth=1)  # y is drawn upwards
            bent = _curve(frame.nodes[a], frame.nodes[b], moved[a], moved[b], scale * size / largest)
            axes.plot(bent[:, 0], bent[:, 2], bent[:, 1], color="#0072B2", linewidth=2)
        axes.set_title(f"mode {i + 1}: {modes.frequencies[i]:.4g} Hz")
        axes.set_box_aspect(np.maximum(np.ptp(points[:, [0, 2, 1]], axis=0), 0.25 * size))
        axes.set_axis_off()
    return figure


def _by_node(frame: Frame3d, shape: Array) -> dict[str, Array]:
    motion = {name: np.zeros(6) for name in frame.nodes}
    for value, freedom in zip(shape, frame.freedoms, strict=True):
        node, _, direction = freedom.rpartition(".")
        motion[node][DIRECTIONS.index(direction)] = value
    return motion


def _curve(p: Array, q: Array, at_p: Array, at_q: Array, factor: float) -> Array:
    """Return points (9, 3) along a bent beam: Hermite's cubics across it, linear along it."""
    s = np.linspace(0.0, 1.0, 9)[:, None]
    along = (q - p) / np.linalg.norm(q - p)
    L = float(np.linalg.norm(q - p))
    slopes = [np.cross(motion[3:], along) for motion in (at_p, at_q)]
    cubic = (
        (1 - 3 * s**2 + 2 * s**3) * at_p[:3] + L * (s - 2 * s**2 + s**3) * slopes[0]
        + (3 * s**2 - 2 * s**3) * at_q[:3] + L * (s**3 - s**2) * slopes[1]
    )  # fmt: skip
    straight = (1 - s) * at_p[:3] + s * at_q[:3]
    bent = cubic - np.outer((cubic - straight) @ along, along)
    return np.asarray((1 - s) * p + s * q + factor * bent)
