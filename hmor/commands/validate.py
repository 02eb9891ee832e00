"""`hmor validate`: judge the reduced model of a study on data it has not seen."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hmor.options import FolderOption, ForceOption, JsonOption, QuickOption, study_argument
from hmor.pipelines import made


def run(path: Path) -> dict[str, Any]:
    """Judge the model of a study file, draw the pictures, and return the table as plain values."""
    from hmor.fitting import judge, load_model
    from hmor.study import load_study

    study = load_study(path)
    section = study.validate_
    model = load_model(study)
    data, found = judge(study, model, against=section.against)
    drawn = _pictures(model, data, study.folder / f"{study.study.name}.validation") if section.pictures else []
    worst = found.worst()
    return {
        "study": study.study.name,
        "model": str(study.model_file()),
        "rows": len(data),
        **found.to_dict(),
        "worst_nrmse": worst,
        "max_nrmse": section.max_nrmse,
        "passed": section.max_nrmse is None or worst <= section.max_nrmse,
        "pictures": [str(p) for p in drawn],
        "text": str(found),
    }


def _pictures(model: Any, data: Any, folder: Path) -> list[Path]:
    from mor import pictures
    from mor.history import split_runs
    from mor.memory import Memory

    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(model, Memory):
        return [pictures.save(pictures.free_run(model, split_runs(data)[0]), folder / "free_run.png")]
    drawn = [pictures.save(pictures.parity(model, data), folder / "parity.png")]
    if len(data.inputs) > 1:
        drawn.append(pictures.save(pictures.error_map(model, data), folder / "error_map.png"))
    return drawn


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("validate")
    def command(
        study: Annotated[Path, study_argument("train")],
        folder: FolderOption = None,
        force: ForceOption = False,
        quick: QuickOption = False,
        as_json: JsonOption = False,
    ) -> None:
        """Judge the fitted model on samples it has not seen.

        Prints errors and cost, draws pictures into STUDY.validation. The exit code is 1 when the model is worse than
        max_nrmse of the section [validate].
        """
        if made("validate", study, folder, force=force, quick=quick, as_json=as_json) is not None:
            return
        from rich.console import Console

        with contextlib.redirect_stdout(sys.stderr), Console(stderr=True).status("validating"):
            result = run(study)
        text = result.pop("text")
        print(json.dumps(result, indent=2) if as_json else text)
        for picture in [] if as_json else result["pictures"]:
            print(f"picture {picture}")
        if not result["passed"]:
            print(
                f"hmor: NRMSE of {result['model']} must be at most {result['max_nrmse']:g}, "
                f"got {result['worst_nrmse']:.4g}; sample more, or choose another model.",
                file=sys.stderr,
            )
            raise typer.Exit(1)
