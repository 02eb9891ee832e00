"""`hmor train`: fit the reduced model of a study."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from hmor.options import FolderOption, ForceOption, JsonOption, QuickOption, study_argument
from hmor.pipelines import made


def run(path: Path, *, resume: bool = False, progress: bool = False) -> dict[str, Any]:
    """Fit the model of a study file, write it, and return what to tell: file, summary, selection table."""
    from hmor.fitting import fit
    from hmor.study import load_study

    study = load_study(path)
    began = time.perf_counter()
    model, table = fit(study, folder=study.folder / f"{study.study.name}.fit", resume=resume, progress=progress)
    file = model.save(study.model_file())
    return {
        "study": study.study.name,
        "model": str(file),
        "seconds": time.perf_counter() - began,
        "summary": model.describe(),
        "candidates": table,
    }


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("train")
    def command(
        study: Annotated[Path, study_argument("train")],
        resume: Annotated[bool, typer.Option("--resume", help="Go on with a fit that was interrupted.")] = False,
        folder: FolderOption = None,
        force: ForceOption = False,
        quick: QuickOption = False,
        as_json: JsonOption = False,
    ) -> None:
        """Fit a reduced model to the samples of a study.

        Writes STUDY.model.npz beside the study file; hmor sample comes before. For example:

        \b
            hmor train spring.toml
            hmor validate spring.toml
        """
        if made("train", study, folder, force=force, quick=quick, as_json=as_json) is not None:
            return
        try:
            with contextlib.redirect_stdout(sys.stderr):
                result = run(study, resume=resume, progress=True)
        except KeyboardInterrupt:
            print("hmor: interrupted; run the command again with --resume to go on.", file=sys.stderr)
            raise typer.Exit(130) from None
        if as_json:
            print(json.dumps(result, indent=2))
            return
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        if result["candidates"]:
            table = Table(title="candidates", title_justify="left")
            for head in result["candidates"][0]:
                table.add_column(head.replace("_", " "))
            for row in result["candidates"]:
                table.add_row(*(f"{v:.4g}" if isinstance(v, float) else escape(str(v)) for v in row.values()))
            Console().print(table)
        title = f"{result['summary']['kind']} in {result['model']}"
        table = Table(title=title, title_justify="left", show_header=False)
        for key, value in facts(result).items():
            table.add_row(key, f"{value:.4g}" if isinstance(value, float) else escape(str(value)))
        Console().print(table)


def facts(result: dict[str, Any]) -> dict[str, Any]:
    """Return the lines of the table a user reads."""
    summary = result["summary"]
    step = summary.get("step", summary)
    lines: dict[str, Any] = {
        "inputs": ", ".join(f"{p['name']} [{p['unit']}]" for p in summary.get("signals", summary["inputs"])),
        "outputs": ", ".join(f"{p['name']} [{p['unit']}]" for p in summary["outputs"]),
        "multiply-adds": summary["multiply_adds"],
        "bytes": summary["bytes"],
    }
    if "layers" in step:
        lines["layers"] = "-".join(map(str, step["layers"]))
    for key in ("trainer", "restart", "iterations", "effective_parameters", "train_mse", "valid_mse"):
        if key in step.get("origin", {}):
            lines[key.replace("_", " ")] = step["origin"][key]
    lines["time of the fit in s"] = result["seconds"]
    return lines
