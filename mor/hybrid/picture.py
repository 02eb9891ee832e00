"""A hybrid model as a picture: boxes on the diagonal in the order of a tick, signals run along rows and columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rt_runtime.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mor.hybrid.model import HybridModel

WIDTH, HEIGHT = 0.78, 0.5


def draw(model: HybridModel, path: Path) -> Path:
    """Draw `model` into `path` (.png, .svg or .pdf)."""
    if path.suffix not in {".png", ".svg", ".pdf"}:
        raise ConfigError(f"Picture of {model.of} must be a .png, .svg or .pdf file, got '{path.name}'.")
    hybrid_figure(model).savefig(path, dpi=150)
    return path


def hybrid_figure(model: HybridModel) -> Figure:
    """Return the picture of `model`.

    A signal leaves its box to the right (to boxes later in the tick) or to the left (to earlier ones, which read the
    value of the last tick; dashed where that is a delay of one tick) and enters its reader from above or below.
    """
    from matplotlib.figure import Figure

    nodes = model._wiring.nodes
    heads = [name for name in model.excitations if name in model._wiring.signals]
    boxes = [*heads, *[node.name for node in nodes]]
    places = {name: i for i, name in enumerate(boxes)}
    writers = {signal: node.name for node in nodes for signal in node.outputs} | {name: name for name in heads}
    size = len(boxes)
    figure = Figure(figsize=(1.6 * size + 0.6, 0.95 * size + 0.6), layout="constrained")
    axes = figure.add_subplot()
    labels: dict[tuple[int, int, bool], list[str]] = {}
    for node in nodes:
        for port, signal in zip(node.part.inputs, node.inputs, strict=True):
            lags = f"{signal} -> {node.name}.{port.name}" in model.delays
            labels.setdefault((places[writers[signal]], places[node.name], lags), []).append(signal)
    for (i, j, lags), signals in labels.items():
        _connect(axes, i, j, lags, "\n".join(dict.fromkeys(signals)))
    kinds = {node.name: node.part.kind for node in nodes} | dict.fromkeys(heads, "excitation")
    for name, i in places.items():
        colour = "#eef2f7" if name in heads else "#d9e8fb"
        _box(axes, i, name, kinds[name], colour)
    axes.set(xlim=(-0.7, size - 0.3), ylim=(-size + 0.35, 0.65))
    axes.axis("off")
    return figure


def _box(axes, i: int, name: str, kind: str, colour: str) -> None:  # type: ignore[no-untyped-def]
    from matplotlib.patches import FancyBboxPatch

    corner = (i - WIDTH / 2, -i - HEIGHT / 2)
    shape = "round,pad=0,rounding_size=0.06"
    axes.add_patch(FancyBboxPatch(corner, WIDTH, HEIGHT, boxstyle=shape, fc=colour, ec="#33475b", zorder=3))
    axes.text(i, -i + 0.06, name, ha="center", va="center", fontsize=9, zorder=4)
    axes.text(i, -i - 0.14, kind, ha="center", va="center", fontsize=7, color="#55697d", zorder=4)


def _connect(axes, i: int, j: int, lags: bool, label: str) -> None:  # type: ignore[no-untyped-def]
    """Line from box i along its row to column j, then to box j; the label stands on the row."""
    ahead = j > i
    start = i + (WIDTH if ahead else -WIDTH) / 2
    end = -j + (HEIGHT if ahead else -HEIGHT) / 2
    colour = "#33475b" if ahead else "#b0472f"
    style = "--" if lags else "-"
    offset = 0.0 if ahead else 0.08  # keeps a way back clear of the way ahead that shares the row
    axes.plot([start, j + offset, j + offset], [-i, -i, end], color=colour, lw=1.1, ls=style, zorder=1)
    axes.annotate(
        "",
        (j + offset, end),
        (j + offset, end + (0.05 if ahead else -0.05)),
        arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.1},
        zorder=2,
    )
    axes.text(
        j + offset,
        -i + 0.05,
        label,
        ha="center",
        va="bottom",
        fontsize=7.5,
        color=colour,
        zorder=5,
        bbox={"fc": "white", "ec": "none", "pad": 0.6, "alpha": 0.9},
    )
