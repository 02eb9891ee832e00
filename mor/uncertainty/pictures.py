"""Pictures of sensitivity and uncertainty: bars of indices, convergence over the number of runs, distributions."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mor.marginals import Marginal
from mor.uncertainty.sensitivity.indices import Indices
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError
from rt_runtime.files import write_file


def _figure(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def save(figure: Any, path: str | Path) -> Path:
    """Write a figure whole or not at all; the suffix of `path` says which kind."""
    target = Path(path)
    kind = target.suffix.lstrip(".") or "png"
    if kind not in figure.canvas.get_supported_filetypes():
        raise ConfigError(f"File '{target}' of a picture must end with .png, .svg or .pdf, got '.{kind}'.")
    content = io.BytesIO()
    figure.savefig(content, format=kind, dpi=130)
    write_file(target, content.getvalue())
    return target


def draw_bars(found: Mapping[str, Indices], path: str | Path) -> Path:
    """Draw first-order (full) and total (pale) indices with intervals, one panel an output, one colour a method.

    Parameters
    ----------
    found
        {method: indices}.
    path
        File of the picture.
    """
    one = next(iter(found.values()))
    figure, axes = _figure(1, len(one.outputs), (1.2 + 0.5 * len(one.inputs) * max(1, 0.5 * len(found)), 3.2))
    width = 0.8 / len(found)
    x = np.arange(len(one.inputs))
    for o, (axis, output) in enumerate(zip(axes[0], one.outputs, strict=True)):
        for k, (label, indices) in enumerate(found.items()):
            place = x + (k - 0.5 * (len(found) - 1)) * width
            for estimate, alpha, name in ((indices.total, 0.35, "total"), (indices.first, 1.0, "first")):
                if estimate is not None:
                    half = None if estimate.lower is None else estimate.half_width[o]
                    axis.bar(
                        place, estimate.value[o], width, yerr=half, color=f"C{k}", alpha=alpha, capsize=2,
                        label=f"{label}, {name}",
                    )  # fmt: skip
        axis.set_xticks(x, one.inputs, rotation=60 if len(x) > 4 else 0)
        axis.set_title(output)
        axis.set_ylabel("share of the variance")
    axes[0][0].legend(fontsize=7)
    return save(figure, path)


def draw_convergence(found: Mapping[int, Indices], path: str | Path) -> Path:
    """Draw first-order (dashed) and total indices with their intervals over the number of runs, one panel an output.

    Parameters
    ----------
    found : mapping
        {runs: indices}, such as {n: sobol(model, space, n=n) for n in (2**8, 2**10, 2**12)}.
    path : path
        File of the picture; its suffix says which kind.
    """
    runs = sorted(found)
    if not runs:
        raise ConfigError("found of draw_convergence must have at least one number of runs, got none.")
    one = found[runs[0]]
    figure, axes = _figure(1, len(one.outputs), (4.2, 3.2))
    for o, (axis, output) in enumerate(zip(axes[0], one.outputs, strict=True)):
        for i, name in enumerate(one.inputs):
            for kind, dashes in (("total", "-"), ("first", "--")):
                estimates = [getattr(found[n], kind) for n in runs]
                if any(e is None for e in estimates):
                    continue
                value, half = (np.array([v[o, i] for v in column]) for column in
                               ([e.value for e in estimates], [e.half_width for e in estimates]))  # fmt: skip
                axis.plot(runs, value, dashes, color=f"C{i}", label=name if kind == "total" else None)
                axis.fill_between(runs, value - half, value + half, color=f"C{i}", alpha=0.15)
        axis.set(title=output, xlabel="runs", xscale="log", ylabel="share of the variance")
        axis.grid(alpha=0.3)
    axes[0][0].legend(fontsize=7)
    return save(figure, path)


def draw_distributions(samples: Mapping[str, Mapping[str, ArrayLike]], path: str | Path) -> Path:
    """Draw {output: {label: sample}} as outlined histograms of density, one panel an output."""
    figure, axes = _figure(1, len(samples), (3.6, 3.0))
    for axis, (output, lines) in zip(axes[0], samples.items(), strict=True):
        for label, values in lines.items():
            sample = np.ravel(np.asarray(values, dtype=np.float64))
            bins = min(80, max(10, int(np.sqrt(sample.size))))
            axis.hist(sample, bins=bins, density=True, histtype="step", label=label)
        axis.set_title(output)
        axis.set_ylabel("density")
        axis.legend(fontsize=7)
    return save(figure, path)


def draw_fit(data: Array, laws: Sequence[tuple[str, Marginal]], path: str | Path) -> Path:
    """Draw the histogram of data with densities, and data over the quantiles of the first law (Q-Q plot)."""
    figure, axes = _figure(1, 2, (3.8, 3.2))
    left, right = axes[0]
    left.hist(data, bins=max(8, int(np.sqrt(data.size))), density=True, color="0.8")
    x = np.linspace(data.min(), data.max(), 400)
    for name, law in laws:
        left.plot(x, law.pdf(x), label=name)
    left.set_ylabel("density")
    left.legend(fontsize=7)
    q = laws[0][1].ppf((np.arange(data.size) + 0.5) / data.size)
    right.plot([q.min(), q.max()], [q.min(), q.max()], color="0.6")
    right.plot(q, np.sort(data), ".", ms=4)
    right.set_xlabel(f"quantile of the {laws[0][0]} law")
    right.set_ylabel("data")
    return save(figure, path)
