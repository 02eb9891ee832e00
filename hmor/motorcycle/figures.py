"""The pictures of the report, one function each; all take plain results and give a matplotlib figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from mor import Trajectory
from rt_runtime.checks import Floats

COLOURS = {"fom": "#222222", "ffnn": "#0072b2", "pce": "#d55e00", "mixed": "#009e73"}
LABELS = {"fom": "full order", "ffnn": "FFNN", "pce": "PCE", "mixed": "mixed"}
TITLES = {
    "tau_rw": "rear brake torque [Nm]",
    "tau_fw": "front brake torque [Nm]",
    "w_rw": "rear wheel speed [rpm]",
    "w_fw": "front wheel speed [rpm]",
    "w_en": "engine speed",
    "w_vd": "drive speed",
    "tau_en": "engine torque [Nm]",
    "tau_vd": "drive torque [Nm]",
    "v": "speed [m/s]",
}


def label(name: str) -> str:
    """Return the name of a hybrid model for a legend: "ffnn_memory" -> "FFNN, memory"."""
    kind, _, memory = name.partition("_")
    return LABELS[kind] + (", memory" if memory else "")


def title(signal: str, history: Trajectory) -> str:
    """Return a title with the unit the record gives."""
    unit = history.units[history.names.index(signal)]
    return f"{TITLES[signal].split(' [')[0]} [{unit or '-'}]"


def histories(means: Mapping[str, Trajectory], signals: tuple[str, ...]) -> Figure:
    """Draw the mean histories of the static hybrid models over the full-order one."""
    figure = Figure(figsize=(11, 7.2), layout="constrained")
    axes = figure.subplots(3, 3, sharex=True)
    for ax, signal in zip(axes.flat, signals, strict=True):
        for name in ("fom", "ffnn", "pce", "mixed"):
            mean = means[name]
            style = {"linewidth": 2.2, "alpha": 0.45} if name == "fom" else {"linewidth": 0.9}
            ax.plot(mean.time, mean[signal], color=COLOURS[name], label=label(name), **style)
        ax.set_title(title(signal, means["fom"]), fontsize=10)
        ax.grid(alpha=0.25)
    for ax in axes[-1]:
        ax.set_xlabel("time [s]")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=4, frameon=False)
    return figure


def differences(means: Mapping[str, Trajectory], signals: tuple[str, ...]) -> Figure:
    """Draw reduced minus full order in percent of the full-order peak: static models, and with memory."""
    figure = Figure(figsize=(11, 7.2), layout="constrained")
    axes = figure.subplots(3, 3, sharex=True)
    truth = means["fom"]
    shown = [name for name in ("ffnn", "pce", "ffnn_memory", "pce_memory") if name in means]
    for ax, signal in zip(axes.flat, signals, strict=True):
        peak = np.abs(truth[signal]).max()
        for name in shown:
            dashed = name.endswith("_memory")
            ax.plot(
                truth.time,
                100 * (means[name][signal] - truth[signal]) / peak,
                color=COLOURS[name.partition("_")[0]],
                linestyle="--" if dashed else "-",
                linewidth=1.0,
                label=label(name),
            )
        ax.set_title(title(signal, truth).split(" [")[0], fontsize=10)
        ax.grid(alpha=0.25)
    for ax in axes[:, 0]:
        ax.set_ylabel("difference [% of peak]")
    for ax in axes[-1]:
        ax.set_xlabel("time [s]")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=4, frameon=False)
    return figure


def torques(means: Mapping[str, Trajectory]) -> Figure:
    """Zoom on both brake torques while the lever is pulled, with the differences below."""
    figure = Figure(figsize=(11, 5.6), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, height_ratios=(2, 1))
    truth = means["fom"]
    shown = [name for name in ("ffnn", "ffnn_memory") if name in means]
    inside = (truth.time >= 19.0) & (truth.time <= 39.0)
    for column, signal in enumerate(("tau_rw", "tau_fw")):
        top, bottom = axes[:, column]
        time, full = truth.time[inside], truth[signal][inside]
        top.plot(time, full, color=COLOURS["fom"], linewidth=2.2, alpha=0.45, label="full order")
        for name in shown:
            style = "--" if name.endswith("_memory") else "-"
            colour = COLOURS["pce"] if name.endswith("_memory") else COLOURS["ffnn"]
            values = means[name][signal][inside]
            top.plot(time, values, style, color=colour, linewidth=1.1, label=label(name))
            bottom.plot(time, values - full, style, color=colour, linewidth=1.1)
        top.set_title(title(signal, truth), fontsize=10)
        top.legend(frameon=False)
        bottom.set_ylabel("difference [Nm]")
        bottom.set_xlabel("time [s]")
        for ax in (top, bottom):
            ax.grid(alpha=0.25)
    return figure


def run_times(table: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw the wall time of one 45 s scenario of each hybrid model as bars."""
    figure = Figure(figsize=(9, 0.55 + 0.42 * len(table)), layout="constrained")
    ax = figure.subplots()
    names = list(table)[::-1]
    seconds = [table[name]["wall_s"] for name in names]
    ax.barh(range(len(names)), seconds, color=[COLOURS[name.partition("_")[0]] for name in names], height=0.65)
    for i, name in enumerate(names):
        factor, gain = table[name]["real_time_factor"], table[name]["speedup_over_fom"]
        note = f" {seconds[i]:.2f} s, {factor:.0f} x real time" + ("" if name == "fom" else f", {gain:.1f} x faster")
        ax.text(seconds[i], i, note, va="center", fontsize=9)
    ax.set_yticks(range(len(names)), [label(name) for name in names])
    ax.set_xlabel("wall time of one scenario [s]")
    ax.set_xlim(0, 1.55 * max(seconds))
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def ticks(histograms: Mapping[str, Mapping[str, Any]], period_us: float) -> Figure:
    """Draw the histograms of own time and wake-up latency per tick on logarithmic axes."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    ax = figure.subplots()
    for (name, histogram), colour in zip(histograms.items(), (COLOURS["ffnn"], COLOURS["pce"]), strict=False):
        start = np.asarray(histogram["from_us"], float)
        edges = np.append(start, 1.03 * start[-1])  # bins are 3 % wide
        counts = np.asarray(histogram["counts"], float)
        ax.stairs(np.maximum(counts, 0.5), edges, color=colour, fill=True, alpha=0.35, baseline=0.5)
        ax.stairs(np.maximum(counts, 0.5), edges, color=colour, label=name, baseline=0.5)
    ax.axvline(period_us, color="#222222", linestyle=":", label=f"period {period_us:g} us")
    ax.set(xscale="log", yscale="log", xlabel="time [us]", ylabel="ticks")
    ax.legend(frameon=False)
    ax.grid(alpha=0.25)
    return figure


def tracking(
    time: Floats, target: Floats, measured: Floats, unit: str = "Nm", *, zoom: tuple[float, float] | None = None
) -> Figure:
    """Draw target and measured torque of the actuator, with the difference below; beside it from zoom[0] to zoom[1]."""
    spans = [(float(time[0]), float(time[-1])), *([] if zoom is None else [zoom])]
    figure = Figure(figsize=(9 if zoom is None else 11, 4.6), layout="constrained")
    axes = figure.subplots(2, len(spans), sharex="col", height_ratios=(2, 1), squeeze=False)
    for column, (begin, end) in enumerate(spans):
        top, bottom = axes[:, column]
        inside = (time >= begin) & (time <= end)
        shown, wanted, given = time[inside], target[inside], measured[inside]
        top.plot(shown, wanted, color=COLOURS["fom"], linewidth=2.2, alpha=0.45, label="target")
        top.plot(shown, given, color=COLOURS["ffnn"], linewidth=1.0, label="measured")
        bottom.plot(shown, given - wanted, color=COLOURS["pce"], linewidth=0.8)
        bottom.set_xlabel("time [s]")
        for ax in (top, bottom):
            ax.grid(alpha=0.25)
    for ax in axes[:, 0] if zoom is not None else ():
        ax.axvspan(*spans[-1], color=COLOURS["mixed"], alpha=0.25, linewidth=0, label="shown on the right")
    axes[0, 0].set_ylabel(f"engine torque [{unit}]")
    axes[1, 0].set_ylabel(f"difference [{unit}]")
    axes[0, 0].legend(frameon=False)
    return figure


def sensitivity(table: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Figure:
    """Draw first-order and total Sobol' indices of the brake torque."""
    figure = Figure(figsize=(9, 3.0), layout="constrained")
    axes = figure.subplots(1, len(table), sharey=True)
    for ax, (side, inputs) in zip(np.atleast_1d(axes), table.items(), strict=True):
        at = np.arange(len(inputs))
        ax.bar(at - 0.18, [row["first"] for row in inputs.values()], 0.36, color=COLOURS["ffnn"], label="first order")
        ax.bar(at + 0.18, [row["total"] for row in inputs.values()], 0.36, color=COLOURS["pce"], label="total")
        ax.set_xticks(at, [{"F_br": "lever force"}.get(name, "wheel speed") for name in inputs])
        ax.set_title(f"{side} brake", fontsize=10)
        ax.set_ylim(0, 1.05)
        ax.grid(axis="y", alpha=0.25)
    np.atleast_1d(axes)[0].set_ylabel("Sobol' index [-]")
    np.atleast_1d(axes)[-1].legend(frameon=False)
    return figure


def parity(points: Mapping[str, Mapping[str, tuple[Floats, Floats]]]) -> Figure:
    """Draw reduced against full-order torque on the test points, one panel a brake."""
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    axes = figure.subplots(1, len(points))
    for ax, (side, kinds) in zip(np.atleast_1d(axes), points.items(), strict=True):
        for kind, (truth, predicted) in kinds.items():
            marker = "o" if kind == "ffnn" else "x"
            ax.plot(truth, predicted, marker, color=COLOURS[kind], markersize=5, fillstyle="none", label=LABELS[kind])
        top = max(float(np.max(truth)) for truth, _ in kinds.values())
        ax.plot([0, top], [0, top], color=COLOURS["fom"], linewidth=0.8, alpha=0.6)
        ax.set(xlabel="full-order torque [Nm]", ylabel="reduced torque [Nm]", title=f"{side} brake, test points")
        ax.legend(frameon=False)
        ax.grid(alpha=0.25)
    return figure
