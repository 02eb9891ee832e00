"""`hmor demo`: the main job in one command, from the full-order brakes to the report."""

from __future__ import annotations

import contextlib
import json
import resource
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmor.options import FolderOption, JsonOption

if TYPE_CHECKING:
    from hmor.study.stages.steps import Pipeline

STUDY = "motorcycle_brakes"
SIGNALS = {"tau_rw": "rear brake torque", "tau_fw": "front brake torque", "v": "speed"}
PUBLISHED_SPEEDUP = {"ffnn": 42 / 19, "pce": 42 / 20, "mixed": 42 / 21}
"""Run time of the published full-order hybrid model over that with static brakes, in s."""


def run(pipeline: Pipeline, *, force: bool = False) -> dict[str, Any]:
    """Make all steps; return their results, the seconds of each and the largest memory the program had."""
    from hmor.study.stages.pipeline import find_pipeline
    from hmor.study.stages.steps import warm_processes

    start = time.perf_counter()
    if force or not all(pipeline.holds(name) for name in pipeline.steps):
        warm_processes()  # imports beside the samples
    groups = [group for group in pipeline.groups if group not in ("sample", "train", "validate", "report")]
    results: dict[str, Any] = {}
    for some in (("sample",), ("train", "validate"), *((group,) for group in groups)):
        results |= pipeline.run_groups(some, force=force)
    with_report = find_pipeline(STUDY, pipeline.folder, quick=pipeline.called.endswith("--quick"))
    results["report"] = with_report.run("report", force=force)
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
    from hmor.report.figures import label, speed_words

    hybrid, run_ = result["simulate"]["hybrid"], result["run"]
    times, rows = hybrid["run_time"], []
    for kind, errors in hybrid["nrmse_percent"].items():
        for signal, what in SIGNALS.items():
            mark = hybrid["published_percent"].get(kind, {}).get(signal)
            known = "-" if mark is None else f"{mark:g} % published"
            rows.append((f"NRMSE, {label(kind)}, {what}", f"{errors[signal]:.3f} %", known))
    rows.append(("full-order hybrid model", f"{times['full']['real_time_factor']:.0f} x real time", "-"))
    for kind in hybrid["nrmse_percent"]:
        if kind in times:
            speed = (
                f"{times[kind]['real_time_factor']:.0f} x real time, {speed_words(times[kind]['speedup_over_full'])}"
            )
            known = f"{PUBLISHED_SPEEDUP[kind]:.1f} x faster published" if kind in PUBLISHED_SPEEDUP else "-"
            rows.append((f"hybrid model, {label(kind)}", speed, known))
    rows += controlled_lines(result["simulate"].get("control"))
    worst = max(max(row["rows"] or 0.0, row["run"] or 0.0) for row in result["export"]["parity"])
    rows.append(("largest difference between export targets", f"{worst:.1e}", "-"))
    if run_["tracking"] is not None:
        rows.append(("real time: tracking error J2", f"{run_['tracking']['J2_percent']:.2f} %", "0.32 % published"))
    torques = " and ".join(f"{run_['ranges'][s][1]:.0f} Nm {w}" for s, w in (("tau_rw", "rear"), ("tau_fw", "front")))
    rows.append(("real time: largest torque of the reduced brakes", torques, "-"))
    rows.append(("real time: missed ticks", f"{run_['missed']} of {run_['ticks']}", "-"))
    return rows


def controlled_lines(result: dict[str, Any] | None) -> list[tuple[str, str, str]]:
    """Return the lines of the virtual test under adaptive MPC, none when it was left out."""
    if result is None:
        return []
    errors = result["nrmse_percent"].get("reduced_against_full")
    if errors is None or not result["stochastic"]:
        return [
            ("virtual test, adaptive MPC: runs that diverged", str(sum(result["unstable"].values())), "0 published")
        ]
    names = [f"adaptive_{name}" for name in ("J1_ms", "J2_percent", "J3_percent")]
    mean, mark = result["stochastic"]["reduced"], result["published"]["mean"]
    found, known = ("{:.2g} ms, {:.2f} %, {:.2f} %".format(*values)
                    for values in ([mean[name]["mean"] for name in names], [mark[name] for name in names]))  # fmt: skip
    three = ", ".join(f"{errors[signal]:.3f} %" for signal in SIGNALS)
    return [
        ("virtual test, adaptive MPC: J1, J2, J3", found, f"{known} published"),
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
        from hmor.study.stages.pipeline import find_pipeline

        with contextlib.redirect_stdout(sys.stderr):
            result = run(find_pipeline(STUDY, folder, quick=not full, force=force), force=force)
        if as_json:
            print(json.dumps(result, indent=2))
            return
        from rich.console import Console
        from rich.table import Table

        print(f"Real time: {result['run']['verdict']}")
        table = Table("quantity", "measured", "beside", title="Reduced brakes of a motorcycle", title_justify="left")
        for row in headlines(result):
            table.add_row(*row)
        Console().print(table)
        print(f"{result['seconds']} s, {result['peak_memory_mb']} MB at most; report in {result['report']['page']}")
