"""`hmor run`: run the test of a study, against the clock or as fast as it can, and keep everything."""

from __future__ import annotations

import json
import sys
import warnings
from typing import Annotated, Any

import typer

from hmor.options import FolderOption, JsonOption, QuickOption, study_argument

TRIPPED, FRAMES_LOST = 3, 4
"""Exit codes after a trip, and after a test whose record lacks frames."""


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("run")
    def command(
        study: Annotated[str, study_argument("[run]")],
        paced: Annotated[
            bool | None,
            typer.Option(
                "--paced/--unpaced", help="Against the clock, or as fast as possible; the study's if not given."
            ),
        ] = None,
        duration: Annotated[
            float | None, typer.Option(min=1e-3, metavar="SECONDS", help="How long to test; the study's if not given.")
        ] = None,
        console: Annotated[
            bool, typer.Option("--console", help="Open the operator's console with the test and print its address.")
        ] = False,
        folder: FolderOption = None,
        quick: QuickOption = False,
        as_json: JsonOption = False,
    ) -> None:
        """Run the test of a study, against the clock or not.

        A test is run each time it is asked for. Every tick is kept in a folder of its own below runs/NAME/run. Ctrl-C
        is a soft stop: the command goes to rest. On a terminal the desk is shown as text, with keys for the orders;
        with --console it is a page in the browser, and hmor tell gives orders from a shell. The exit code is 0 after a
        test that ended by itself or by a soft stop, 3 after a trip, 4 when the record lacks frames. For example, with a
        rig that is played on this machine:

        \b
            hmor run spring_test
            hmor run motorcycle_brakes --unpaced
        """
        from hmor.study.file import load_study
        from hmor.study.stages.pipeline import run_step
        from rt_runtime.errors import RecordWarning

        warnings.simplefilter("ignore", RecordWarning)  # `ended` says it
        given = {"paced": paced, "duration": duration}
        changes: dict[str, Any] = {"run": {name: value for name, value in given.items() if value is not None}}
        if console:
            from hmor.console.extra import need_console

            need_console()
            changes["run"]["console"] = {"open": True}
        if not changes["run"] or load_study(study, quick=quick).run is None:  # nothing to change
            changes = {}
        result = run_step("run", study, folder, force=True, quick=quick, changes=changes or None)
        if as_json:
            print(json.dumps(result, indent=2))
        else:
            print_table(result)
        if result["tripped"] or result["frames_lost"]:
            print(f"hmor: {result['ended']}", file=sys.stderr)
            raise typer.Exit(TRIPPED if result["tripped"] else FRAMES_LOST)


def print_table(result: dict[str, Any]) -> None:
    """Print how a test went: the verdict on the host, figures, peaks with units, and the last events in sentences."""
    from pathlib import Path

    from rich.console import Console

    from hmor.console.lamps import OURS
    from hmor.console.text import result_view
    from hmor.console.words import told
    from rt_runtime.engine.records.run_folder import RUN
    from rt_runtime.files import read_json

    if "verdict" in result:
        print(result["verdict"])
    figures = {}
    for key, value in result.items():
        if key in ("ended", "events", "histograms", "verdict", "settings", "parts", "ranges"):
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in value.items())
        figures[key] = value
    peaks = [[name, *found] for name, found in result["ranges"].items() if not OURS.search(name)]
    run = read_json(Path(result["folder"]) / RUN, RUN)
    events = told(run.get("events", []), run.get("operator", []), run.get("rules", []))
    Console().print(result_view(result["ended"], figures, peaks, events))
