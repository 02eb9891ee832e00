"""Studies made of several steps: find them by name or file, make one step or all, tell what came out."""

from __future__ import annotations

import contextlib
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hmor.options import PIPELINES
from hmor.pipeline import Pipeline, Result

if TYPE_CHECKING:
    from rich.table import Table


def find_pipeline(study: str | Path, folder: Path | None = None, *, quick: bool = False) -> Pipeline | None:
    """Return the pipeline of a built-in name, or of a file whose [study] names one; None for any other study."""
    pipeline = _find(study, folder, quick)
    if pipeline is not None:
        place = "" if folder is None else f" --folder {folder}"
        pipeline.called = f"{study}{place}{' --quick' if quick else ''}"
    return pipeline


def _find(study: str | Path, folder: Path | None, quick: bool) -> Pipeline | None:
    from hmor.motorcycle.settings import BUILT_IN as FILE
    from hmor.motorcycle.study import motorcycle_brakes

    if str(study) in PIPELINES:
        place = folder or Path("runs") / (f"{study}_quick" if quick else str(study))
        return motorcycle_brakes(FILE, place, quick=quick)
    path = Path(study)
    if not path.is_file():
        return None
    try:
        named = tomllib.loads(path.read_text(encoding="utf-8")).get("study", {}).get("pipeline")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError):
        return None  # the study's own reader says what is wrong
    return None if named is None else motorcycle_brakes(path, folder, quick=quick)


def made(
    step: str, study: str | Path, folder: Path | None, *, force: bool, quick: bool, as_json: bool
) -> Result | None:
    """Make a step when the study is a pipeline, print and return its result; None when it is none."""
    pipeline = find_pipeline(study, folder, quick=quick)
    if pipeline is None:
        return None
    with contextlib.redirect_stdout(sys.stderr):
        result = pipeline.run(step, force=force)
    show(step, result, as_json=as_json)
    return result


def show(step: str, result: Result, *, as_json: bool) -> None:
    """Print a result: one JSON object, or tables of its values; long lists are left to --json."""
    if as_json:
        print(json.dumps(result, indent=2))
        return
    from rich.console import Console

    console = Console()
    for title, table in _tables(step, result):
        console.print(title, style="bold")
        console.print(table)


def _tables(title: str, result: Mapping[str, Any]) -> Iterator[tuple[str, Table]]:
    """Lay a nested result out: its plain values first, then a grid for each part that has the same values of many."""
    plain = {key: value for key, value in result.items() if not isinstance(value, dict)}
    if plain:
        yield title, _table([], [[key, value] for key, value in plain.items()])
    parts = {key: value for key, value in result.items() if isinstance(value, dict)}
    if parts and all(not isinstance(value, dict) for part in parts.values() for value in part.values()):
        names = list(dict.fromkeys(name for part in parts.values() for name in part))
        if len(names) > len(parts):  # the longer side goes down
            rows = [[name, *(part.get(name, "") for part in parts.values())] for name in names]
            yield title, _table(list(parts), rows)
        else:
            rows = [[key, *(part.get(name, "") for name in names)] for key, part in parts.items()]
            yield title, _table(names, rows)
    else:
        for key, part in parts.items():
            yield from _tables(f"{title}, {key}", part)


def _table(columns: list[str], rows: list[list[Any]]) -> Table:
    """Return a table whose first column names its rows; what is too wide goes on below, nothing is cut."""
    from rich.box import SIMPLE
    from rich.table import Column, Table

    heads = [Column(name, overflow="fold") for name in ("", *columns)] if columns else []
    table = Table(*heads, show_header=bool(columns), box=SIMPLE, padding=(0, 1, 0, 0))
    for row in rows:
        table.add_row(*(_text(value) for value in row))
    return table


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000.0 else f"{value:.0f}"
    if isinstance(value, list) and len(value) > 6:
        return f"{len(value)} entries"
    return str(value)
