"""`hmor sample`: run the campaign of a study."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hmor.options import FolderOption, ForceOption, JsonOption, QuickOption, study_argument
from hmor.pipelines import made

if TYPE_CHECKING:
    from mor.campaign import Store
    from mor.dataset import Dataset


def run(
    path: Path,
    *,
    retry_failed: bool = False,
    executor: str | None = None,
    workers: int | None = None,
    progress: bool | None = None,
) -> tuple[Store, Dataset]:
    """Run (or resume) the campaign of a study file and return its store and dataset."""
    from hmor.study import load_study
    from mor.campaign import Store, run_design

    study = load_study(path)
    sample = study.need("sample", study.sample)
    data = run_design(
        study.sample_model(),
        study.sample_design(),
        store=study.sample_store(),
        executor=executor or sample.executor,
        workers=workers or sample.workers,
        timeout=sample.timeout,
        retry_failed=retry_failed,
        progress=progress,
    )
    return Store(study.sample_store()), data


def figures(data: Dataset) -> dict[str, dict[str, Any]]:
    """Return mean, std, smallest and largest value of each output."""
    return {
        port.name: {
            "unit": port.unit,
            "mean": float(data[port.name].mean()),
            "std": float(data[port.name].std(ddof=1)) if len(data) > 1 else 0.0,
            "min": float(data[port.name].min()),
            "max": float(data[port.name].max()),
        }
        for port in data.outputs
    }


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("sample")
    def command(
        study: Annotated[Path, study_argument("sample")],
        retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Repeat the samples that failed.")] = False,
        executor: Annotated[
            str | None,
            typer.Option(metavar="WHERE", help="processes, serial or dask://host:port; the study's if not given."),
        ] = None,
        workers: Annotated[
            int | None, typer.Option(min=1, metavar="N", help="Number of processes; one per CPU if not given.")
        ] = None,
        folder: FolderOption = None,
        force: ForceOption = False,
        quick: QuickOption = False,
        as_json: JsonOption = False,
    ) -> None:
        """Run a model on the samples of a design.

        Every sample is kept in a folder beside the study file (STUDY.store), those that failed with their reason.
        Started again after an interruption, it goes on where it stopped. For example:

        \b
            hmor sample spring.toml --workers 4
            hmor info spring.store
        """
        if made("sample", study, folder, force=force, quick=quick, as_json=as_json) is not None:
            return
        from hmor.commands.info import store_content

        try:
            with contextlib.redirect_stdout(sys.stderr):  # what a model prints is not the command's answer
                store, data = run(study, retry_failed=retry_failed, executor=executor, workers=workers)
        except KeyboardInterrupt:
            print("hmor: interrupted; finished samples are safe, run the command again to go on.", file=sys.stderr)
            raise typer.Exit(130) from None
        outputs = figures(data)
        if as_json:
            print(json.dumps({**store_content(store), "outputs": outputs}, indent=2))
            return
        from rich.console import Console
        from rich.table import Table

        print(store.summary())
        if outputs:
            table = Table(title="outputs of the finished samples", title_justify="left")
            for head in ("output", "unit", "mean", "std", "min", "max"):
                table.add_column(head)
            for name, row in outputs.items():
                table.add_row(name, row["unit"], *(f"{row[key]:.6g}" for key in ("mean", "std", "min", "max")))
            Console().print(table)
