"""Drawings of the set-ups on the shake table, and pictures of their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hmor.report.figures import COLOURS, GREY, line, panels
from mor.models.track_sink import track_height
from rt_runtime import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEEL, SOFT = "#3b4a59", "#9aa7b4"
WIDTH, STOREY = 0.36, 0.5
LABELS = {"ff": "FF", "mbc": "MBC", "mmbc": "mMBC", "amrc": "aMRC", "mpc": "MPC"}


def draw_table(*, sink: bool) -> Figure:
    """Draw the table with the frame on it; with `sink` the frame is computed and the track with its mass is tested."""
    figure, axes = panels(1, 2 if sink else 1, 4.6, 4.4)
    for ax in axes[0]:
        ax.set_axis_off()
        ax.set_aspect("equal")
    if not sink:
        _table(axes[0, 0], "drive [V]", "acceleration")
        _frame(axes[0, 0], 0.12, SOFT, "frame\nwithout braces")
        return figure
    _frame(axes[0, 0], 0.0, SOFT, "frame,\ncomputed", base="ground")
    _track(axes[0, 0], 2 * STOREY + 0.01, SOFT, label=False)
    axes[0, 0].set_title("numerical", fontsize=10, color=GREY)
    _table(axes[0, 1], "command", "displacement")
    _track(axes[0, 1], 0.14, STEEL, label=True)
    axes[0, 1].set_title("physical", fontsize=10, color=GREY)
    axes[0, 1].set_ylim(*axes[0, 0].get_ylim())
    words = "target: motion of floor 2 $\\rightarrow$\n$\\leftarrow$ force of the sink on floor 2"
    axes[0, 1].text(-0.62, 0.93, words, fontsize=9, color=COLOURS[1])
    return figure


def _table(ax: Any, into: str, out: str) -> None:
    """Draw the platform on its rail, the motor, and what goes in and out."""
    from matplotlib.patches import Circle, Rectangle

    ax.add_patch(Rectangle((-0.30, 0.05), 0.60, 0.06, color=STEEL))
    for x in (-0.22, 0.22):
        ax.add_patch(Circle((x, 0.025), 0.025, color=SOFT))
    ax.plot([-0.62, 0.42], [0, 0], color=GREY, linewidth=1.5)
    ax.add_patch(Rectangle((-0.62, 0.04), 0.16, 0.08, color=COLOURS[0], alpha=0.75))
    ax.plot([-0.46, -0.30], [0.08, 0.08], color=STEEL, linewidth=2.5)
    ax.annotate(
        into, (-0.54, 0.12), (-0.54, 0.30), ha="center", fontsize=9, color=COLOURS[0],
        arrowprops={"arrowstyle": "->", "color": COLOURS[0]},
    )  # fmt: skip
    ax.annotate(
        "", (0.52, 0.08), (0.32, 0.08), arrowprops={"arrowstyle": "<->", "color": COLOURS[1]},
    )  # fmt: skip
    ax.text(0.42, 0.12, out, fontsize=9, ha="center", color=COLOURS[1])
    ax.set_xlim(-0.68, 0.66)
    ax.set_ylim(-0.08, 1.35)


def _frame(ax: Any, foot: float, colour: str, words: str, base: str = "") -> None:
    """Draw two storeys, at rest and in their first mode."""
    shape = np.array([0.0, 0.62, 1.0]) * 0.06
    for scale, style in ((0.0, {"color": colour, "linewidth": 2.0}), (1.0, {"color": COLOURS[0], "linewidth": 1.0})):
        y = np.linspace(0, 1, 40)
        for i in range(2):
            bend = shape[i] + (shape[i + 1] - shape[i]) * (3 * y**2 - 2 * y**3)
            for x in (-WIDTH / 2, WIDTH / 2):
                ax.plot(x + scale * bend, foot + STOREY * (i + y), **style)
            ends = np.array([-WIDTH / 2, WIDTH / 2]) + scale * shape[i + 1]
            broad = 5.0 if scale == 0 else 1.0
            ax.plot(ends, [foot + STOREY * (i + 1)] * 2, color=style["color"], linewidth=broad)
    if base:
        ax.plot([-0.42, 0.42], [foot, foot], color=GREY, linewidth=2)
        ax.annotate(
            "", (0.12, foot - 0.05), (-0.12, foot - 0.05), arrowprops={"arrowstyle": "<->", "color": COLOURS[1]}
        )
        ax.text(0.15, foot - 0.065, base, fontsize=9, color=COLOURS[1])
        ax.set_xlim(-0.5, 0.66)
        ax.set_ylim(-0.12, 1.35)
    for i in range(2):
        ax.text(WIDTH / 2 + 0.08, foot + STOREY * (i + 1) - 0.015, f"floor {i + 1}", fontsize=9, color=GREY)
    ax.text(0.0, foot + 0.24, words, fontsize=9, color=GREY, ha="center")


def _track(ax: Any, foot: float, colour: str, *, label: bool) -> None:
    """Draw the track h = a x^4 and the mass on it."""
    from matplotlib.patches import Circle

    x = np.linspace(-0.085, 0.085, 80)
    h = track_height(x, 1600.0)
    scale = 1.9
    style = {"color": colour, "linewidth": 2 if label else 1.2, "linestyle": "-" if label else ":"}
    ax.plot(scale * x, foot + scale * h, **style)
    for side in (-1, 1):
        ax.plot([side * scale * x[-1]] * 2, [foot, foot + scale * h[-1]], **style)
    ax.plot([-scale * x[-1], scale * x[-1]], [foot, foot], **style)
    at = 0.055
    where = (scale * at, foot + scale * float(track_height(np.array(at), 1600.0)) + 0.03)
    ax.add_patch(Circle(where, 0.03, color=COLOURS[1] if label else SOFT, zorder=3, fill=label))
    if not label:
        ax.text(-scale * 0.085, foot + 0.2, "sink, tested on the table", fontsize=9, color=GREY)
    if label:
        ax.text(scale * 0.085 + 0.03, foot + 0.11, "track $h = a x^4$", fontsize=9, color=GREY)
        ax.annotate(
            "mass 2.46 kg", where, (0.02, foot + 0.30), fontsize=9, color=GREY,
            arrowprops={"arrowstyle": "-", "color": SOFT},
        )  # fmt: skip


def draw_iteration(result: Mapping[str, Any], record: Record | None) -> Sequence[tuple[Figure, str]]:
    """Draw the error of every run of every case, and response spectra of target and table in the best run."""
    nominal = result["nominal"]["full"] or {}
    cases = [name.removesuffix("_run_1") for name in nominal if name.endswith("_run_1")]
    figure, axes = panels(1, 1, 6.2, 3.4)
    for i, case in enumerate(cases):
        errors = [value for name, value in nominal.items() if name.startswith(f"{case}_run_")]
        made = int(nominal[f"{case}_runs"])
        runs = np.arange(1, len(errors) + 1)
        axes[0, 0].plot(runs[:made], errors[:made], "o-", color=COLOURS[i % 6], label=case.replace("_", ", "))
    axes[0, 0].set(yscale="log", xlabel="run", ylabel="error [%]")
    axes[0, 0].locator_params(axis="x", integer=True, nbins=8)
    axes[0, 0].legend(frameon=False, fontsize=8)
    found = [(figure, "Error of every run; a series ends when its error grows, and the best drive is kept.")]
    if record is not None:
        figure, axes = panels(1, 1, 6.2, 3.2)
        f = np.asarray(np.fft.rfftfreq(len(record.time), 1 / record.rate), dtype=np.float64)
        keep = (f > 0.2) & (f < 20)
        for i, name in enumerate(("target", "acceleration")):
            line(axes[0, 0], f[keep], np.abs(np.fft.rfft(record[name]))[keep] / record.rate, i - 1, name, thin=False)
        axes[0, 0].set(xlabel="frequency [Hz]", ylabel="spectrum [m/s]", xscale="log", yscale="log")
        axes[0, 0].legend(frameon=False, fontsize=8)
        found.append((figure, "Fourier spectra of target and table in the best run of the last case."))
    return found


def draw_sink(result: Mapping[str, Any], record: Record | None) -> Sequence[tuple[Figure, str]]:
    """Draw the errors of all controllers, the motions of floor and sink, the force over the position of the mass."""
    nominal = result["nominal"]["full"] or {}
    cases = [name.removesuffix("_tracking") for name in nominal if name.endswith("_tracking")]
    figure, axes = panels(1, 1, 6.2, 3.0)
    for i, (key, words) in enumerate((("tracking", "table against target"), ("floor_2", "floor 2 against complete"))):
        at = np.arange(len(cases)) + 0.36 * i - 0.18
        axes[0, 0].bar(at, [nominal[f"{case}_{key}"] for case in cases], 0.34, color=COLOURS[i], label=words)
    axes[0, 0].set(yscale="log", ylabel="error [%]", xticks=range(len(cases)), xticklabels=cases)
    axes[0, 0].legend(frameon=False, fontsize=8)
    found = [(figure, "Errors of the controllers: none, feedforward, predictive with either preview.")]
    if record is not None:
        figure, axes = panels(1, 2, 4.4, 3.0)
        line(axes[0, 0], record.time, 1e3 * record["x_2"], 0, "floor 2 to ground")
        line(axes[0, 0], record.time, 1e3 * record["position"], 1, "mass to table")
        axes[0, 0].set(xlabel="time [s]", ylabel="[mm]")
        axes[0, 0].legend(frameon=False, fontsize=8)
        axes[0, 1].plot(1e3 * record["position"], record["force"], color=COLOURS[1], linewidth=0.5)
        axes[0, 1].set(xlabel="position of the mass [mm]", ylabel="force [N]")
        found.append((figure, "The last case: motions, and the force of the sink over the position of its mass."))
    return found


def draw_sweep() -> Figure:
    """Draw what the compensators do: a sweep, a compensator designed on a wrong model, the plant."""
    from matplotlib.patches import FancyBboxPatch

    figure, axes = panels(1, 1, 7.6, 2.4)
    ax = axes[0, 0]
    ax.set_axis_off()
    t = np.linspace(0, 1, 400)
    ax.plot(0.2 + 1.1 * t, 0.5 + 0.22 * np.sin(2 * np.pi * 6 * t**2), color=COLOURS[0], linewidth=1)
    ax.text(0.75, 0.12, "target: 0 to 10 Hz in 5 s", ha="center", fontsize=9, color=GREY)
    for x, words, colour in (
        (1.9, "compensator\ndesigned on a model", COLOURS[1]),
        (3.6, "plant\n50 rad/s, 0.5", STEEL),
    ):
        box = FancyBboxPatch((x, 0.28), 1.1, 0.44, boxstyle="round,pad=0.04", facecolor="none", edgecolor=colour)
        ax.add_patch(box)
        ax.text(x + 0.55, 0.5, words, ha="center", va="center", fontsize=9, color=colour)
    ax.text(2.45, 0.12, "45 to 55 rad/s, 0.25 to 0.75", ha="center", fontsize=9, color=GREY)
    arrow = {"arrowstyle": "->", "color": GREY}
    for a, b in ((1.4, 1.85), (3.06, 3.55), (4.76, 5.3)):
        ax.annotate("", (b, 0.5), (a, 0.5), arrowprops=arrow)
    ax.text(3.3, 0.56, "command", ha="center", fontsize=8, color=GREY)
    ax.text(5.35, 0.48, "measured", fontsize=9, color=COLOURS[1])
    ax.plot([5.0, 5.0, 2.45], [0.5, 0.95, 0.95], color=GREY, linewidth=1)
    ax.annotate("", (2.45, 0.77), (2.45, 0.96), arrowprops=arrow)
    ax.set(xlim=(0.1, 6.0), ylim=(0.0, 1.05))
    return figure


def draw_compensators(result: Mapping[str, Any], record: Record | None) -> Sequence[tuple[Figure, str]]:
    """Draw the spread of the errors over the models: median, quartiles, extremes; published medians beside."""
    table = result["stochastic"].get("full", {})
    if not table:
        return []
    published = result["published"]["median"]
    figure, axes = panels(1, 2, 4.6, 3.2)
    for ax, key, words in zip(axes[0], ("rmse", "maxe"), ("RMSE [%]", "largest error [%]"), strict=True):
        names = [name for name in table if name.endswith(key)]
        rows = [table[name] for name in names]
        boxes = [
            {"med": r["median"], "q1": r["q25"], "q3": r["q75"], "whislo": r["min"], "whishi": r["max"]} for r in rows
        ]
        ax.bxp(boxes, showfliers=False, medianprops={"color": COLOURS[1]})
        marks = [(i, published[name]) for i, name in enumerate(names, 1) if name in published]
        ax.plot(*zip(*marks, strict=True), "x", color=COLOURS[0], label="published median")
        ax.set_xticks(range(1, len(names) + 1), [LABELS[name.removesuffix(f"_{key}")] for name in names])
        ax.set(yscale="log", ylabel=words)
    axes[0, 0].legend(frameon=False, fontsize=8)
    count = result["prototypes"]
    return [(figure, f"Errors over {count} models: median, quartiles and extremes.")]
