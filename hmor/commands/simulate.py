"""`hmor simulate`: run the hybrid models and virtual tests of a study, once or over a Latin-hypercube design."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from hmor.options import FolderOption, ForceOption, JsonOption, QuickOption, StudyArgument


def read_settings(pairs: list[str]) -> dict[str, Any]:
    """Turn ["name=value", ...] into a dictionary; numbers, true and false are recognised."""
    from rt_runtime.errors import ConfigError

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


def changes(
    study: str, runs: int | None, seed: int | None, record: Path | None, settings: dict[str, Any]
) -> dict[str, Any]:
    """Return the keys that the options change; an option that would do nothing is refused."""
    from hmor.study.file import load_study
    from rt_runtime.errors import ConfigError

    has = load_study(study)
    sections = [name for name in ("hybrid", "control") if getattr(has, name) is not None]
    if (settings or record is not None) and "control" not in sections:
        raise ConfigError(f"Study {study} has no section [control]: --set and --record would do nothing.")
    found: dict[str, Any] = {}
    if runs is not None:
        found |= {name: {"prototypes": runs} for name in sections}
    if seed is not None:
        found["study"] = {"seed": seed}
    control: dict[str, Any] = {} if record is None else {"record": str(record.resolve())}
    if settings:
        control["settings"] = settings
    return found | ({"control": found.get("control", {}) | control} if control else {})


def print_control(name: str, result: dict[str, Any]) -> None:
    """Print the indices of a virtual test beside the published ones."""
    from rich.console import Console
    from rich.table import Table

    from hmor.views.tables import print_whole

    console = Console()
    for kind, nominal in result["nominal"].items():
        stochastic = result["stochastic"].get(kind, {})
        motion = f" ({result['record']} motion)" if result["record"] else ""
        title = name + motion + ("" if kind == "full" else f", {kind} parts")
        if nominal is None:
            console.print(f"{title}: the nominal run diverged")
            continue
        grid = [re.fullmatch(r"(.+)_(J\d+)", metric) for metric in nominal]
        table = (
            Table(title=title, title_justify="left", box=None)
            if all(grid)
            else Table(title=title, title_justify="left")
        )
        if all(grid):
            _grid(table, [match for match in grid if match is not None], nominal, stochastic, result["published"])
        else:
            _list(table, nominal, stochastic, result["published"])
        print_whole(table)
    if result["prototypes"] > 1:
        unstable = ", ".join(f"{count} unstable" + ("" if kind == "full" else f" with {kind} parts")
                             for kind, count in result["unstable"].items())  # fmt: skip
        console.print(f"{result['prototypes']} runs, {unstable}, {result['wall_s']:.1f} s")


def _grid(table: Any, grid: list[re.Match[str]], nominal: Any, stochastic: Any, published: Any) -> None:
    """Fill one row per variant, one column per index."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for match in grid:
        name, index = match[1], match[2]
        rows.setdefault((name, name), {})[index] = f"{nominal[match[0]]:.2f}"
        if stochastic:
            rows.setdefault((name, "  mean"), {})[index] = f"{stochastic[match[0]]['mean']:.2f}"
        if name in published:
            rows.setdefault((name, "  published"), {})[index] = f"{published[name][index]:.2f}"
    table.add_column("", no_wrap=True)
    heads = list(dict.fromkeys(index for columns in rows.values() for index in columns))
    for index in heads:
        table.add_column(index, justify="right", no_wrap=True)
    for (_, label), columns in rows.items():
        table.add_row(label, *(columns.get(index, "") for index in heads))


def _list(table: Any, nominal: Any, stochastic: Any, published: Any) -> None:
    """Fill one row per index, with mean, standard deviation, median and largest value; below it what is published."""
    known = {name for values in published.values() for name in values} & set(nominal)
    heads = [key for key in published if known and (stochastic or key not in ("mean", "std", "median"))]
    own = ("nominal", *(("mean", "std", "median", "max") if stochastic else ()))
    beside = [head for head in heads if head not in own]
    table.add_column("index")
    for head in (*own, *(f"published\n{head}" for head in beside)):
        table.add_column(head, justify="right")

    def known_of(name: str, columns: Sequence[str]) -> list[str]:
        return [f"{published[head][name]:g}" if name in published.get(head, {}) else "" for head in columns]

    for name, value in nominal.items():
        found = ["-" if value is None else f"{value:.4g}"] + [f"{stochastic[name][head]:.4g}" for head in own[1:]]
        table.add_row(name, *found, *known_of(name, beside))
        if any(below := known_of(name, own) if known else []):
            table.add_row("  published", *below)


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("simulate")
    def command(
        study: StudyArgument,
        runs: Annotated[
            int | None,
            typer.Option(min=1, metavar="N", help="Number of Latin-hypercube prototypes; 1: the nominal run."),
        ] = None,
        seed: Annotated[int | None, typer.Option(min=0, metavar="N", help="Seed of sensor noise and design.")] = None,
        record: Annotated[
            Path | None,
            typer.Option(metavar="FILE", help="Ground motion: CSV of time in s and m/s2; the study's if not given."),
        ] = None,
        setting: Annotated[
            list[str] | None,
            typer.Option("--set", metavar="NAME=VALUE", help="A setting of the virtual test; may be repeated."),
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
        """Run hybrid models and virtual tests and print their indices.

        They stand beside the published ones. J1 is the delay in ms, J2 and J3 are root mean square and peak error of
        tracking in percent. For example:

        \b
            hmor simulate pendulum --runs 200 --picture pendulum.png
            hmor simulate benchmark_frame --set case=4
            hmor simulate motorcycle_brakes --quick
        """
        from hmor.study.stages.pipeline import run_step
        from hmor.views.tables import show
        from rt_runtime.errors import ConfigError

        given = changes(study, runs, seed, record, read_settings(setting or []))
        result = run_step("simulate", study, folder, force=force, quick=quick, changes=given)
        control = result.get("control")
        if (save or picture) and (control is None or "full" not in control["records"]):
            raise ConfigError(f"Study {study} has no record of a virtual test: --save and --picture would do nothing.")
        if save is not None and control is not None:
            if not save.parent.is_dir():
                raise ConfigError(f"Folder of the record must exist, got {save.parent}; make it first.")
            shutil.copyfile(control["records"]["full"], save)
        if picture is not None and control is not None:
            from hmor.report.figures import draw_test

            draw_test(picture, study, control)
        if as_json:
            print(json.dumps(result, indent=2))
            return
        if "hybrid" in result:
            show("hybrid models", result["hybrid"], as_json=False)
        if control is not None:
            print_control(study, control)
