"""`hmor demo`: the main job in one command, from the full-order brakes to the report."""

from __future__ import annotations

import contextlib
import json
import resource
import sys
import time
from typing import Annotated, Any

import typer

from hmor.options import FolderOption, JsonOption
from hmor.pipeline import Pipeline

STUDY = "motorcycle_brakes"
PUBLISHED_SPEEDUP = {"ffnn": 42 / 19, "pce": 42 / 20, "mixed": 42 / 21}
"""Run time of the published full-order hybrid model over that with static brakes, in s."""


def run(pipeline: Pipeline, *, force: bool = False) -> dict[str, Any]:
    """Make all steps; return their results, the seconds of each and the largest memory the program had."""
    start = time.perf_counter()
    results = {name: pipeline.run(name, force=force) for name in pipeline.steps}
    return {
        "study": pipeline.study,
        "folder": str(pipeline.folder),
        "seconds": round(time.perf_counter() - start, 1),
        "seconds_of_steps": {name: pipeline.seconds(name) for name in pipeline.steps},
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        **results,
    }


def headlines(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return what the demo shows: quantity, measured, published or goal."""
    simulated, run_ = result["simulate"], result["run"]
    errors, times = simulated["nrmse_percent"], simulated["run_time"]
    published = simulated["published_percent"]
    rows = []
    for kind, name in (("ffnn", "FFNN"), ("pce", "PCE"), ("mixed", "mixed")):
        for signal, what in (("tau_rw", "rear brake torque"), ("tau_fw", "front brake torque"), ("v", "speed")):
            mark = published[kind].get(signal)
            value, known = f"{errors[kind][signal]:.2f} %", "-" if mark is None else f"{mark:g} % published"
            rows.append((f"NRMSE, static {name}, {what}", value, known))
    for kind, name in (("ffnn_memory", "FFNN"), ("pce_memory", "PCE")):
        if kind in errors:
            for signal, what in (("tau_rw", "rear brake torque"), ("tau_fw", "front brake torque"), ("v", "speed")):
                rows.append((f"NRMSE, {name} with memory, {what}", f"{errors[kind][signal]:.3f} %", "-"))
    rows.append(("full-order hybrid model", f"{times['fom']['real_time_factor']:.0f} x real time", "-"))
    reduced = {"ffnn": "static FFNN", "pce": "static PCE", "mixed": "static mixed", "ffnn_memory": "FFNN with memory"}
    for kind, name in reduced.items():
        if kind in times:
            speed = "{real_time_factor:.0f} x real time, {speedup_over_fom:.1f} x faster".format(**times[kind])
            known = "-" if "memory" in kind else f"{PUBLISHED_SPEEDUP[kind]:.1f} x faster published"
            rows.append((f"reduced hybrid model, {name}", speed, known))
    rows += controlled_lines(simulated.get("controlled"))
    worst = max(max(row["rows"] or 0.0, row["run"] or 0.0) for row in result["export"]["parity"])
    rows.append(("largest difference between export targets", f"{worst:.1e}", "-"))
    if run_["tracking"] is not None:
        rows.append(("real time: tracking error J2", f"{run_['tracking']['J2']:.2f} %", "0.32 % published"))
    rows.append(("real time: missed ticks", f"{run_['missed']} of {run_['ticks']}", "-"))
    return rows


def controlled_lines(result: dict[str, Any] | None) -> list[tuple[str, str, str]]:
    """Return the lines of the virtual test under adaptive MPC, none when it was left out."""
    if result is None:
        return []
    errors = result["nrmse_percent"]["reduced_against_full_order"]
    if errors is None:
        diverged = str(sum(result["unstable"].values()))
        return [("virtual test, adaptive MPC: runs that diverged", diverged, "0 published")]
    mark, found = (
        "{J1_ms:.2g} ms, {J2_percent:.2f} %, {J3_percent:.2f} %".format(**result["mean"][name])
        for name in ("published", result["brakes"])
    )
    three = ", ".join(f"{errors[signal]:.3f} %" for signal in ("tau_rw", "tau_fw", "v"))
    return [
        ("virtual test, adaptive MPC: J1, J2, J3", found, f"{mark} published"),
        ("virtual test, adaptive MPC: NRMSE of rear, front torque, speed", three, "-"),
    ]


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("demo")
    def command(
        full: Annotated[
            bool, typer.Option("--full", help="All prototypes and the whole 45 s ride against the clock; takes longer.")
        ] = False,
        folder: FolderOption = None,
        force: Annotated[
            bool, typer.Option("--force", help="Repeat every step although nothing it depends on has changed.")
        ] = False,
        as_json: JsonOption = False,
    ) -> None:
        """Do the main job, from full-order brakes to a report.

        Runs all steps of the built-in study motorcycle_brakes (sample, train, validate, export, simulate, run, report),
        quickly unless --full is given. A step that is made already is not repeated. The report is one HTML page in
        runs/motorcycle_brakes_quick/report (runs/motorcycle_brakes/report with --full).
        """
        from hmor.pipelines import find_pipeline

        pipeline = find_pipeline(STUDY, folder, quick=not full)
        assert pipeline is not None
        with contextlib.redirect_stdout(sys.stderr):
            result = run(pipeline, force=force)
        if as_json:
            print(json.dumps(result, indent=2))
            return
        from rich.console import Console
        from rich.table import Table

        table = Table("quantity", "measured", "beside", title="Reduced brakes of a motorcycle", title_justify="left")
        for row in headlines(result):
            table.add_row(*row)
        Console().print(table)
        print(f"{result['seconds']} s, {result['peak_memory_mb']} MB at most; report in {result['report']['page']}")
