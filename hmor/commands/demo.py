"""`hmor demo`: the main job in one command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer


def run(folder: Path) -> dict[str, Any]:
    """Shake a three-storey frame for 20 s at 4096 Hz; return peak drifts and speed, draw the response to a PNG."""
    import time

    import matplotlib
    import numpy as np

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from mor.excitation import synthetic_ground_motion
    from mor.models.benchmark_frame import RATE, benchmark_frame
    from mor.substructures import LinearSubstructure

    ground = synthetic_ground_motion(duration=20.0, rate=RATE, peak=3.0, seed=1)
    reference = benchmark_frame(1).reference
    floors = {f"x{i + 1}": ("m", "x", row) for i, row in enumerate(np.eye(3))}
    frame = LinearSubstructure.from_structure(
        "frame", reference, inputs={"a_g": ("m/s2", -reference.ground_mass)}, outputs=floors
    )
    start = time.perf_counter()
    response = frame.simulate({"a_g": ground.values}, dt=1 / RATE, hold="foh")
    seconds = time.perf_counter() - start

    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
    for i, name in enumerate(floors, 1):
        axes.plot(response.time, 1e3 * response[name], label=f"floor {i}", linewidth=0.8)
    axes.set(xlabel="time [s]", ylabel="displacement [mm]", title="Three-storey frame, synthetic ground motion")
    axes.legend(loc="upper right")
    picture = folder / "frame.png"
    figure.savefig(picture, dpi=150)
    pyplot.close(figure)
    return {
        "peaks_mm": {name: float(1e3 * abs(response[name]).max()) for name in floors},
        "frequencies_hz": [float(f) for f in reference.modes().frequencies],
        "real_time_factor": ground.duration / seconds,
        "picture": str(picture),
    }


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("demo")
    def command(
        folder: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("runs/demo"),
        as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    ) -> None:
        """Step a full-order model, print a table and draw a picture."""
        result = run(folder)
        if as_json:
            print(json.dumps(result, indent=2))
            return
        from rich.console import Console
        from rich.table import Table

        table = Table(title="Three-storey frame, 20 s of ground motion at 4096 Hz", title_justify="left")
        for column in ("floor", "peak displacement [mm]", "natural frequency of the mode [Hz]"):
            table.add_column(column, justify="right")
        for i, (peak, frequency) in enumerate(
            zip(result["peaks_mm"].values(), result["frequencies_hz"], strict=True), 1
        ):
            table.add_row(str(i), f"{peak:.2f}", f"{frequency:.3f}")
        Console().print(table)
        print(f"{result['real_time_factor']:.0f} times faster than real time; picture in {result['picture']}")
