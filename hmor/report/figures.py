"""The pictures of a report, one function each; all take plain results and give a matplotlib figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from mor import Trajectory
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError
from rt_runtime.files import replacing

GREY = "#555555"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9")
DASHES: tuple[Any, ...] = ("-", (0, (6, 4)), (3, (2, 6)), (6, (8, 3, 2, 3)), (1, (1, 3)), (0, (4, 8)))
"""Dashes with different starts, so that curves that lie on each other all show."""

DENSE = 1500
"""Curves with more points are drawn by their extremes in so many intervals."""


def label(name: str, labels: Mapping[str, str] | None = None) -> str:
    """Return the words for a name: those the study gives, else "ffnn_memory" -> "FFNN, memory"."""
    if labels and name in labels:
        return labels[name]
    kind, _, rest = name.partition("_")
    known = {
        "ffnn": "FFNN",
        "pce": "PCE",
        "full": "full order",
        "kriging": "Kriging",
        "pck": "PC-Kriging",
        "glam": "lambda model",
        "spce": "stochastic PCE",
    }
    return known[kind] + (f", {rest.replace('_', ' ')}" if rest else "") if kind in known else name.replace("_", " ")


def speed_words(ratio: float) -> str:
    """Say how a time compares with the full-order one, given full-order time over own time."""
    if ratio >= 1.05:
        return f"{ratio:.1f} x faster"
    return "as fast" if ratio > 0.95 else f"{1.0 / ratio:.1f} x slower"


def panels(
    rows: int,
    columns: int,
    width: float = 4.4,
    height: float = 3.2,
    *,
    sharex: bool = False,
    sharey: bool = False,
    height_ratios: Sequence[float] | None = None,
) -> tuple[Figure, Any]:
    """Return a figure and its axes (rows, columns), each with a light grid, without touching the state of pyplot."""
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey, height_ratios=height_ratios)
    for ax in axes.flat:
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def line(ax: Any, x: Array, y: Array, i: int, name: str | None = None, *, thin: bool = True) -> None:
    """Draw a curve in the colour and the dashes of number i; -1 is the full-order one, broad and grey."""
    style: dict[str, Any] = {"color": GREY, "linewidth": 2.6, "alpha": 0.4}
    if i >= 0:
        style = {"color": COLOURS[i % len(COLOURS)], "linewidth": 1.1, "linestyle": DASHES[i % len(DASHES)]}
    ax.plot(*(thinned(x, y) if thin else (x, y)), label=name, **style)


def thinned(x: Array, y: Array) -> tuple[Array, Array]:
    """Return a curve with at most 2 DENSE points that looks alike: least and largest y of each of DENSE intervals."""
    size = len(x) // DENSE
    if size <= 2:
        return x, y
    rows = y[: size * DENSE].reshape(DENSE, size)
    ends = np.sort(np.stack([rows.argmin(axis=1), rows.argmax(axis=1)], axis=1), axis=1)
    at = (ends + size * np.arange(DENSE)[:, None]).ravel()
    return x[at], y[at]


def few_decades(axis: Any) -> None:
    """Label at most five decades of a logarithmic axis, in plain text."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(numticks=5))
    axis.set_major_formatter(lambda value, _: f"{value:.0e}")
    axis.set_minor_formatter(NullFormatter())


def legend(figure: Figure, ax: Any) -> None:
    """Put one legend above all panels."""
    handles, names = ax.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=min(len(names), 4), frameon=False)


def titled(name: str, unit: str, labels: Mapping[str, str]) -> str:
    """Return a name with its unit."""
    return f"{label(name, labels)} [{unit}]" if unit else label(name, labels)


def samples(columns: Mapping[str, Array], units: Mapping[str, str], labels: Mapping[str, str]) -> Figure:
    """Draw up to five columns against each other, with their histograms on the diagonal."""
    names = list(columns)[:5]
    figure, axes = panels(len(names), len(names), 2.4, 2.1)
    for row, below in enumerate(names):
        for column, name in enumerate(names):
            ax = axes[row, column]
            ax.tick_params(labelsize=7)
            ax.locator_params(nbins=3)
            if row == column:
                ax.hist(columns[name], bins=min(20, 5 + len(columns[name]) // 10), color=COLOURS[0], alpha=0.7)
            elif column < row:
                ax.scatter(columns[name], columns[below], s=6, color=COLOURS[0], alpha=0.6, linewidths=0)
            else:
                ax.set_visible(False)
            if row == len(names) - 1:
                ax.set_xlabel(titled(name, units.get(name, ""), labels), fontsize=8)
            if column == 0 and row > 0:
                ax.set_ylabel(titled(below, units.get(below, ""), labels), fontsize=8)
    return figure


def parity(points: Mapping[str, tuple[Array, Array]], what: str) -> Figure:
    """Draw reduced against full-order values, one panel a model: {model: (truth, predicted)}."""
    figure, axes = panels(1, len(points), 3.6, 3.4)
    for i, (ax, (name, (truth, predicted))) in enumerate(zip(axes[0], points.items(), strict=True)):
        ends = [float(min(truth.min(), predicted.min())), float(max(truth.max(), predicted.max()))]
        ax.plot(ends, ends, color=GREY, linewidth=0.8)
        ax.scatter(truth, predicted, s=14, color=COLOURS[i % len(COLOURS)], alpha=0.7, linewidths=0)
        ax.set_title(label(name), fontsize=10)
        ax.set_xlabel(f"{what}, full order", fontsize=9)
        ax.locator_params(nbins=5)
    axes[0, 0].set_ylabel(f"{what}, reduced", fontsize=9)
    return figure


def learning(curves: Mapping[str, Mapping[str, Array]]) -> Figure:
    """Draw the errors of fits over their iterations, one panel a model: {model: {column: values}}."""
    figure, axes = panels(1, len(curves), 4.0, 3.0)
    for ax, (name, columns) in zip(axes[0], curves.items(), strict=True):
        for i, (column, values) in enumerate((key, v) for key, v in columns.items() if key != "iteration"):
            ax.plot(columns["iteration"], values, color=COLOURS[i], linestyle=DASHES[i], label=column.replace("_", " "))
        ax.set(yscale="log", xlabel="iteration", title=name)
        few_decades(ax.yaxis)
        ax.title.set_fontsize(10)
        ax.legend(frameon=False, fontsize=8)
    axes[0, 0].set_ylabel("mean square error (scaled)")
    return figure


def runs(truth: Trajectory, answers: Mapping[str, Trajectory], labels: Mapping[str, str]) -> Figure:
    """Draw signals over time with the differences below, and beside them around the largest difference."""
    signals = [name for name in truth.names if np.any(truth[name])][:4]
    figure, axes = panels(2 * len(signals), 2, 5.2, 1.9, height_ratios=[2, 1] * len(signals))
    for row, signal in enumerate(signals):
        first = next(iter(answers.values()))
        worst = float(truth.time[int(np.abs(first[signal] - truth[signal]).argmax())])
        length = max(float(truth.time[-1] - truth.time[0]) / 20.0, 10 * float(truth.time[1] - truth.time[0]))
        begin = min(max(worst - length / 2, float(truth.time[0])), float(truth.time[-1]) - length)
        for column, (start, end) in enumerate(((truth.time[0], truth.time[-1]), (begin, begin + length))):
            top, bottom = axes[2 * row, column], axes[2 * row + 1, column]
            inside = (truth.time >= start) & (truth.time <= end)
            line(top, truth.time[inside], truth[signal][inside], -1, "full order")
            for i, (name, answer) in enumerate(answers.items()):
                line(top, truth.time[inside], answer[signal][inside], i, label(name, labels))
                line(bottom, truth.time[inside], (answer[signal] - truth[signal])[inside], i)
            bottom.set_xlabel("time [s]", fontsize=9)
            bottom.locator_params(axis="x", nbins=5)
            bottom.locator_params(axis="y", nbins=3)
            top.tick_params(labelbottom=False)
        unit = truth.units[truth.names.index(signal)]
        axes[2 * row, 0].set_title(titled(signal, unit, labels), fontsize=10, loc="left")
        axes[2 * row, 1].set_title("around the largest difference", fontsize=10, loc="left")
        axes[2 * row + 1, 0].set_ylabel("difference", fontsize=8)
    legend(figure, axes[0, 0])
    return figure


def histories(means: Mapping[str, Trajectory], labels: Mapping[str, str], *, difference: bool = False) -> Figure:
    """Draw the mean responses of the hybrid models, or their differences to the first in percent of its peak."""
    truth = next(iter(means.values()))
    signals = truth.names
    columns = min(3, len(signals))
    rows = -(-len(signals) // columns)
    figure, axes = panels(rows, columns, 3.8, 2.4, sharex=True)
    for ax, signal in zip(axes.flat, signals, strict=False):
        peak = float(np.abs(truth[signal]).max()) or 1.0
        for i, (name, mean) in enumerate(means.items(), -1):
            if difference and i >= 0:
                line(ax, mean.time, 100 * (mean[signal] - truth[signal]) / peak, i, label(name, labels))
            elif not difference:
                line(ax, mean.time, mean[signal], i, label(name, labels))
        unit = "% of peak" if difference else truth.units[truth.names.index(signal)]
        ax.set_title(titled(signal, unit, labels), fontsize=9)
        ax.tick_params(labelsize=8)
    for ax in axes.flat[len(signals) :]:
        ax.set_visible(False)
    for ax in axes[-1]:
        ax.set_xlabel("time [s]", fontsize=9)
    legend(figure, axes[0, 0])
    return figure


def hysteresis(loops: Mapping[str, tuple[Array, Array]], x: str, y: str, labels: Mapping[str, str]) -> Figure:
    """Draw force over displacement, full-order and reduced: {model: (displacement, force)}, full order first."""
    figure, axes = panels(1, 1, 5.6, 4.0)
    for i, (name, (along, across)) in enumerate(loops.items(), -1):
        every = max(1, len(along) // 6000)  # a loop is no function of time: its points are taken evenly
        line(axes[0, 0], along[::every], across[::every], i, label(name, labels), thin=False)
    axes[0, 0].set(xlabel=x, ylabel=y)
    legend(figure, axes[0, 0])
    return figure


def bars(table: Mapping[str, float], notes: Sequence[str], what: str, labels: Mapping[str, str]) -> Figure:
    """Draw one bar a name with a note behind it."""
    figure = Figure(figsize=(8.4, 0.7 + 0.38 * len(table)), layout="constrained")
    ax = figure.subplots()
    at = range(len(table))[::-1]
    ax.barh(at, list(table.values()), color=[GREY, *(COLOURS * 3)][: len(table)], height=0.62)
    for i, value, note in zip(at, table.values(), notes, strict=True):
        ax.text(value, i, f"  {note}", va="center", fontsize=9)
    ax.set_yticks(at, [label(name, labels) for name in table])
    ax.set_xlabel(what)
    ax.set_xlim(0, 1.8 * max(table.values()))
    ax.spines[["top", "right"]].set_visible(False)
    return figure


def sobol(table: Mapping[str, Mapping[str, Mapping[str, float]]], labels: Mapping[str, str]) -> Figure:
    """Draw first-order and total Sobol' indices, one panel a polynomial: {title: {input: {first, total}}}."""
    figure, axes = panels(1, len(table), 3.6, 2.8, sharey=True)
    for ax, (name, inputs) in zip(axes[0], table.items(), strict=True):
        at = np.arange(len(inputs))
        ax.bar(at - 0.18, [row["first"] for row in inputs.values()], 0.36, color=COLOURS[0], label="first order")
        ax.bar(at + 0.18, [row["total"] for row in inputs.values()], 0.36, color=COLOURS[1], label="total")
        ax.set_xticks(at, [label(one, labels) for one in inputs], fontsize=8, rotation=90 if len(inputs) > 4 else 0)
        ax.set_title(name, fontsize=10)
        ax.set_ylim(0, 1.05)
    axes[0, 0].set_ylabel("Sobol' index [-]")
    legend(figure, axes[0, 0])
    return figure


def ticks(histograms: Mapping[str, Mapping[str, Any]], period_us: float) -> Figure:
    """Draw the histograms of own time and wake-up latency per tick on logarithmic axes."""
    figure, axes = panels(1, 1, 8.4, 3.2)
    ax = axes[0, 0]
    for i, (name, histogram) in enumerate(histograms.items()):
        start = np.asarray(histogram["from_us"], float)
        edges = np.append(start, 1.03 * start[-1])  # bins are 3 % wide
        counts = np.maximum(np.asarray(histogram["counts"], float), 0.5)
        ax.stairs(counts, edges, color=COLOURS[i], fill=True, alpha=0.35, baseline=0.5)
        ax.stairs(counts, edges, color=COLOURS[i], label=name, baseline=0.5)
    ax.axvline(period_us, color=GREY, linestyle=":", label=f"period {period_us:g} us")
    ax.set(xscale="log", yscale="log", xlabel="time [us]", ylabel="ticks")
    few_decades(ax.yaxis)
    legend(figure, ax)
    return figure


def tracking(time: Array, target: Array, measured: Array, what: str) -> Figure:
    """Draw target and measured with the difference below, and beside them around the largest difference."""
    truth = Trajectory(time, target[:, None], {"signal": ""})
    figure = runs(truth, {"measured": Trajectory(time, measured[:, None], {"signal": ""})}, {"signal": what})
    texts = figure.legends[0].get_texts()
    texts[0].set_text("target")
    return figure


def index_histograms(table: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """Draw the histograms of indices over prototypes: {index: {density, edges}}."""
    names = list(table)[:6]
    columns = min(3, len(names))
    figure, axes = panels(-(-len(names) // columns), columns, 3.4, 2.3)
    for ax, name in zip(axes.flat, names, strict=False):
        ax.stairs(table[name]["density"], table[name]["edges"], fill=True, color=COLOURS[0], alpha=0.7)
        ax.set_title(name.replace("_ms", " [ms]").replace("_percent", " [%]").replace("_", " "), fontsize=9)
        ax.locator_params(nbins=4)
        ax.tick_params(labelsize=7)
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    axes[0, 0].set_ylabel("density", fontsize=8)
    return figure


def draw_test(path: Path, title: str, result: Mapping[str, Any]) -> None:
    """Draw the nominal run of a virtual test into a file; the suffix names the format."""
    from rt_runtime import Record

    found = tracked_signals(Record.load(result["records"]["full"]))
    if found is None:
        raise ConfigError(f"Study '{title}' records no target and measured signal, so that it has no picture.")
    figure = tracking(*found)
    kinds = sorted(figure.canvas.get_supported_filetypes())
    if path.suffix[1:] not in kinds or not path.parent.is_dir():
        raise ConfigError(
            f"Picture must be a file in an existing folder that ends in one of {', '.join(kinds)}, got {path}."
        )
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=130, format=path.suffix[1:])


def tracked_signals(record: Any) -> tuple[Array, Array, Array, str] | None:
    """Return time, target, measured and their name of a recorded test; None when it has none."""
    names = [signal.name for signal in record.signals]
    measured = "torque" if "torque" in names else "measured"
    if "target" not in names or measured not in names:
        return None
    unit = next(signal.unit for signal in record.signals if signal.name == "target")
    return record.time, record["target"], record[measured], f"target and measured [{unit}]"
