"""`hmor simulate`: run a built-in study, once or over a Latin-hypercube design."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from hmor.options import PIPELINES, FolderOption, ForceOption, JsonOption, QuickOption, virtual_tests
from hmor.pipelines import made
from rt_runtime.errors import ConfigError


def read_settings(pairs: list[str]) -> dict[str, Any]:
    """Turn ["name=value", ...] into a dictionary; numbers, true and false are recognised."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise ConfigError(f"Option --set must be name=value, got {pair!r}.")
        try:
            settings[name] = json.loads(text)
        except json.JSONDecodeError:
            settings[name] = text
    return settings


def simulate(
    name: str,
    runs: int,
    seed: int,
    record: Path | None,
    settings: dict[str, Any],
    save: Path | None,
    picture: Path | None,
) -> dict[str, Any]:
    """Run the study and return what `--json` prints."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    from hmor.studies import NAMES, find
    from hmor.studies.base import Options

    if name not in NAMES:
        known = ", ".join((*NAMES, *PIPELINES))
        raise ConfigError(f"Study must be one of {known}, got {name!r}; see `hmor studies`.")
    study = find(name)
    if record is not None and not record.is_file():
        raise ConfigError(f"Record file must exist, got {record}.")
    options = Options(seed=seed, record=record, settings=settings)
    begin = time.perf_counter()
    nominal = study.simulate(options)
    result: dict[str, Any] = {
        "study": name,
        "record": "synthetic" if record is None else record.name,
        "seed": seed,
        "settings": settings,
        "nominal": nominal.metrics,
        "published": {key: dict(value) for key, value in study.published.items()},
    }
    if save is not None and nominal.record is not None:
        result["saved"] = str(nominal.record.save(save))
    many = None
    if runs > 1:
        columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
        begin = time.perf_counter()
        with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
            task = progress.add_task(name, total=runs)
            many = study.simulate_many(runs, options, done=lambda: progress.advance(task))
        result |= {"runs": runs, "unstable": many.unstable, "stochastic": many.summary()}
        result["histograms"] = {
            metric: dict(zip(("density", "edges"), (part.tolist() for part in many.histogram(metric)), strict=True))
            for metric in many.indices
        }
    result["seconds"] = time.perf_counter() - begin
    if picture is not None:
        from hmor.studies.picture import draw

        result["picture"] = str(draw(picture, name, nominal, many))
    return result


def print_table(result: dict[str, Any]) -> None:
    """Print the indices of a result beside the published ones."""
    from rich.console import Console
    from rich.table import Table

    nominal, published, stochastic = result["nominal"], result["published"], result.get("stochastic", {})
    title = f"{result['study']} ({result['record']} motion)"
    console = Console()
    grid = [re.fullmatch(r"(.+)_(J\d)", name) for name in nominal]
    if all(grid):  # one row per variant, one column per index
        rows: dict[tuple[str, str], dict[str, str]] = {}
        for match in grid:
            assert match is not None
            name, index = match[1], match[2]
            rows.setdefault((name, name), {})[index] = f"{nominal[match[0]]:.2f}"
            if stochastic:
                rows.setdefault((name, "  mean"), {})[index] = f"{stochastic[match[0]]['mean']:.2f}"
            if name in published:
                rows.setdefault((name, "  published"), {})[index] = f"{published[name][index]:.2f}"
        table = Table(title=title, title_justify="left", box=None)
        table.add_column("", no_wrap=True)
        for index in next(iter(rows.values())):
            table.add_column(index, justify="right", no_wrap=True)
        for (_, label), columns in rows.items():
            table.add_row(label, *columns.values())
        console.print(table)
    else:
        known = {name for values in published.values() for name in values} & set(nominal)
        heads = [key for key in published if known and (stochastic or key not in ("mean", "std"))]
        spread = ("mean", "std", "max") if stochastic else ()
        table = Table(title=title, title_justify="left")
        table.add_column("index", no_wrap=True)
        for head in ("nominal", *spread, *(f"published\n{head}" for head in heads)):
            table.add_column(head, justify="right")
        for name, value in nominal.items():
            cells = [f"{value:.4g}"] + [f"{stochastic[name][head]:.4g}" for head in spread]
            cells += [f"{published[head][name]:g}" if name in published[head] else "" for head in heads]
            table.add_row(name, *cells)
        console.print(table)
    if stochastic:
        console.print(f"{result['runs']} runs, {result['unstable']} unstable, {result['seconds']:.1f} s")


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("simulate")
    def command(
        name: Annotated[
            str,
            typer.Argument(
                metavar="STUDY", help="A built-in study; hmor studies lists them.", autocompletion=virtual_tests
            ),
        ],
        runs: Annotated[
            int, typer.Option(min=1, metavar="N", help="Number of Latin-hypercube prototypes; 1: the nominal run.")
        ] = 1,
        seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of sensor noise and design.")] = 0,
        record: Annotated[
            Path | None,
            typer.Option(metavar="FILE", help="Ground motion: CSV of time in s and m/s2; synthetic if not given."),
        ] = None,
        setting: Annotated[
            list[str] | None,
            typer.Option("--set", metavar="NAME=VALUE", help="A setting of the study; may be repeated."),
        ] = None,
        save: Annotated[
            Path | None, typer.Option(metavar="FILE", help="Write the signals of the nominal run as netCDF (.nc).")
        ] = None,
        picture: Annotated[
            Path | None, typer.Option(metavar="FILE", help="Draw tracking and histograms (.png, .svg or .pdf).")
        ] = None,
        folder: FolderOption = None,
        force: ForceOption = False,
        quick: QuickOption = False,
        as_json: JsonOption = False,
    ) -> None:
        """Run a virtual hybrid test and print its indices.

        They stand beside the published ones. J1 is the delay in ms, J2 and J3 are root mean square and peak error of
        tracking in percent. For example:

        \b
            hmor simulate pendulum --runs 200 --picture pendulum.png
            hmor simulate benchmark_frame --set case=4
            hmor simulate motorcycle_brakes --quick
        """
        if made("simulate", name, folder, force=force, quick=quick, as_json=as_json) is not None:
            return
        result = simulate(name, runs, seed, record, read_settings(setting or []), save, picture)
        if as_json:
            print(json.dumps(result, indent=2))
            return
        print_table(result)
