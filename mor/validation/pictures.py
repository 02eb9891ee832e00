"""Pictures that judge a reduced model: measured against predicted, error over the domain, learning curve, free run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mor.data.dataset import Dataset
from mor.reduced.base import ReducedModel
from mor.reduced.history import split_runs
from mor.validation.validate import nrmse
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLUE, _ORANGE, _GREY = "#1f5fa8", "#d9711c", "#8a8a8a"
_CELLS = 24  # of the map of errors, per axis


def _figure(columns: int, width: float = 4.6, height: float = 4.2) -> tuple[Figure, list[Any]]:
    """Return a figure with a row of axes, without touching the state of pyplot."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height), layout="constrained")
    return figure, list(np.atleast_1d(figure.subplots(1, columns)))


def save(figure: Figure, path: str | Path) -> Path:
    """Write a picture (.png, .pdf, .svg) and return where it is."""
    figure.savefig(path, dpi=150)
    return Path(path)


def _label(port: Any) -> str:
    return f"{port.name} [{port.unit}]" if port.unit else str(port.name)


def parity(model: ReducedModel, data: Dataset) -> Figure:
    """Plot predicted over measured, one panel per output: on the diagonal they agree."""
    Y = model.predict(data.X)
    figure, axes = _figure(len(data.outputs))
    for o, (port, axis) in enumerate(zip(data.outputs, axes, strict=True)):
        truth, answer = data.Y[:, o], Y[:, o]
        ends = [min(truth.min(), answer.min()), max(truth.max(), answer.max())]
        axis.plot(ends, ends, color=_GREY, linewidth=1.0, zorder=1)
        axis.scatter(truth, answer, s=12, color=_BLUE, alpha=0.6, linewidths=0, zorder=2)
        axis.set_xlabel(f"{_label(port)}, full-order model")
        axis.set_ylabel(f"{_label(port)}, reduced model")
        axis.set_title(f"{port.name}: NRMSE {100 * nrmse(answer, truth):.3g} %, {len(data)} points", fontsize=10)
        axis.set_aspect("equal", adjustable="datalim")
    return figure


def error_map(model: ReducedModel, data: Dataset, *, inputs: Sequence[str] | None = None) -> Figure:
    """Plot the root mean square error over two inputs (default: the two most important), one panel per output.

    A square shows the rows of `data` that fall into it; white ones have none. With one input it is a curve.
    """
    names = [p.name for p in data.inputs]
    chosen = list(inputs) if inputs is not None else names
    if inputs is None and len(names) > 2:
        chosen = sorted(important_inputs(model, data)[:2], key=names.index)
    unknown = [name for name in chosen if name not in names]
    if unknown or not 1 <= len(chosen) <= 2:
        raise ConfigError(f"inputs of error_map must be one or two of {', '.join(names)}, got {', '.join(chosen)}.")
    error = model.predict(data.X) - data.Y
    at = [names.index(name) for name in chosen]
    figure, axes = _figure(len(data.outputs), 5.2)
    for o, (port, axis) in enumerate(zip(data.outputs, axes, strict=True)):
        if len(at) == 1:
            order = np.argsort(data.X[:, at[0]])
            axis.plot(data.X[order, at[0]], error[order, o], color=_BLUE, linewidth=1.0)
            axis.set_ylabel(f"error of {_label(port)}")
        else:
            x, y = data.X[:, at[0]], data.X[:, at[1]]
            cells = int(np.clip(np.sqrt(len(data) / 4), 4, _CELLS))
            total, x_edges, y_edges = np.histogram2d(x, y, bins=cells, weights=error[:, o] ** 2)
            count = np.histogram2d(x, y, bins=(x_edges, y_edges))[0]
            mean = np.sqrt(np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0))
            mesh = axis.pcolormesh(x_edges, y_edges, mean.T, cmap="viridis")
            figure.colorbar(mesh, ax=axis, label=f"rms error of {_label(port)}")
            axis.set_ylabel(_label(data.inputs[at[1]]))
        axis.set_xlabel(_label(data.inputs[at[0]]))
        axis.set_title(f"{port.name}: largest error {np.abs(error[:, o]).max():.3g} {port.unit}", fontsize=10)
    return figure


def judged(model: ReducedModel, data: Dataset) -> Figure:
    """Plot a model beside data: `parity`, or the free run of the first run of one with memory."""
    return free_run(model, split_runs(data)[0]) if model.states else parity(model, data)


def important_inputs(model: ReducedModel, data: Dataset) -> list[str]:
    """Return the inputs by importance: how much the answers change, in mean square, when a column is shuffled.

    Each output counts in shares of its variance. For independent inputs it is twice the total Sobol' index.
    """
    Y, random = model.predict(data.X), np.random.default_rng(1)
    spread = np.var(Y, axis=0)
    scale = np.where(spread > 0.0, spread, 1.0)
    change = []
    for j in range(len(data.inputs)):
        X = data.X.copy()
        X[:, j] = random.permutation(X[:, j])
        change.append(float(np.mean((model.predict(X) - Y) ** 2 / scale)))
    return [data.inputs[j].name for j in np.argsort(change, kind="stable")[::-1]]


def learning(curve: Mapping[str, Array]) -> Figure:
    """Plot a `learning_curve`: error over design size, median with the range over seeds, both axes logarithmic."""
    outputs = [name for name in curve if name != "size"]
    figure, axes = _figure(len(outputs))
    for name, axis in zip(outputs, axes, strict=True):
        values = 100 * curve[name]
        axis.fill_between(curve["size"], values.min(axis=1), values.max(axis=1), color=_BLUE, alpha=0.2, linewidth=0)
        axis.loglog(curve["size"], np.median(values, axis=1), "o-", color=_BLUE, markersize=4)
        axis.set_xticks(curve["size"], [f"{n:g}" for n in curve["size"]])
        axis.minorticks_off()
        axis.set_xlabel("rows of the design")
        axis.set_ylabel(f"NRMSE of {name} [%]")
        axis.set_title(f"{name}: median and range of {values.shape[1]} designs", fontsize=10)
        axis.grid(alpha=0.3)
    return figure


def free_run(model: ReducedModel, run: Dataset) -> Figure:
    """Plot one trajectory: the full-order model, the free run of the reduced one, and below the difference."""
    names = [p.name for p in model.every_output]
    Y = model.everything(run.X)
    time = (model.dt or 1.0) * np.arange(len(run))
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 4.4 * len(run.outputs)), layout="constrained")
    axes = np.atleast_2d(figure.subplots(2 * len(run.outputs), 1, sharex=True, height_ratios=[3, 1] * len(run.outputs)))
    for o, port in enumerate(run.outputs):
        answer, (top, below) = Y[:, names.index(port.name)], axes.ravel()[2 * o : 2 * o + 2]
        top.plot(time, run.Y[:, o], color=_GREY, linewidth=2.5, label="full-order model")
        top.plot(time, answer, color=_ORANGE, linewidth=1.0, label="reduced model, free run")
        top.set_ylabel(_label(port))
        top.set_title(f"{port.name}: NRMSE {100 * nrmse(answer, run.Y[:, o]):.3g} %", fontsize=10)
        top.legend(frameon=False, fontsize=9)
        below.plot(time, answer - run.Y[:, o], color=_BLUE, linewidth=0.8)
        below.set_ylabel("difference")
        below.grid(alpha=0.3)
    axes.ravel()[-1].set_xlabel("time [s]" if model.dt else "step")
    return figure
