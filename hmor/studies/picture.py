"""The picture of a study: target and measured over time, their difference, and histograms of a stochastic one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hmor.studies.base import Run, Stochastic
from rt_runtime.errors import ConfigError
from rt_runtime.files import replacing


def draw(path: Path, title: str, run: Run, many: Stochastic | None = None) -> Path:
    """Draw the nominal run and, for a stochastic study, one histogram per index; the suffix names the format."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    record = run.record
    names = [] if record is None else [signal.name for signal in record.signals]
    measured = "torque" if "torque" in names else "measured"
    if record is None or "target" not in names or measured not in names:
        raise ConfigError(f"Study '{title}' records no target and measured signal, so that it has no picture.")
    unit = next(signal.unit for signal in record.signals if signal.name == "target")
    metrics = [] if many is None else many.indices[:6]
    figure = plt.figure(figsize=(9, 5 if not metrics else 7.5), layout="constrained")
    grid = figure.add_gridspec(2 + bool(metrics), max(1, len(metrics)))
    top = figure.add_subplot(grid[0, :])
    bottom = figure.add_subplot(grid[1, :], sharex=top)
    target, signal = record["target"], record[measured]
    top.plot(record.time, target, label="target", color="0.2", linewidth=1.2)
    top.plot(record.time, signal, label="measured", color="tab:orange", linewidth=0.8)
    top.set_ylabel(f"[{unit}]")
    top.set_title(title, loc="left")
    top.legend(loc="upper right")
    bottom.plot(record.time, 100 * (signal - target) / np.abs(target).max(), color="tab:blue", linewidth=0.6)
    bottom.set_ylabel("error [% of peak]")
    bottom.set_xlabel("time [s]")
    for i, name in enumerate(metrics):
        assert many is not None
        axes = figure.add_subplot(grid[2, i])
        density, edges = many.histogram(name)
        axes.stairs(density, edges, fill=True, color="tab:blue", alpha=0.6)
        axes.set_xlabel(name.replace("_ms", " [ms]").replace("_percent", " [%]"))
        axes.set_ylabel("density" if i == 0 else "")
    kinds = sorted(figure.canvas.get_supported_filetypes())
    if path.suffix[1:] not in kinds or not path.parent.is_dir():
        plt.close(figure)
        raise ConfigError(
            f"Picture must be a file in an existing folder that ends in one of {', '.join(kinds)}, got {path}."
        )
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=130, format=path.suffix[1:])
    plt.close(figure)
    return path
