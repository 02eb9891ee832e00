"""Studies made of several steps: find them by name or file, make one step or all, tell what came out."""

from __future__ import annotations

import contextlib
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from hmor.options import PIPELINES
from hmor.pipeline import Pipeline, Result


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
    """Print a result: one JSON object, or a table of its plain values."""
    if as_json:
        print(json.dumps(result, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=step, title_justify="left", show_header=False)
    for key, value in _flat(result):
        table.add_row(key, value)
    Console().print(table)


def _flat(result: Any, prefix: str = "", depth: int = 0) -> list[tuple[str, str]]:
    """Turn nested results into rows; long lists and what lies deep are left to --json."""
    if isinstance(result, dict) and depth < 3:
        return [row for key, value in result.items() for row in _flat(value, f"{prefix}{key}  ", depth + 1)]
    if isinstance(result, float):
        return [(prefix.strip(), f"{result:.4g}")]
    if isinstance(result, dict) and len(result) <= 6 and all(isinstance(value, float) for value in result.values()):
        return [(prefix.strip(), ", ".join(f"{key} {value:.4g}" for key, value in result.items()))]
    if isinstance(result, dict | list) and len(result) > 6:
        return [(prefix.strip(), f"{len(result)} entries, see --json")]
    return [(prefix.strip(), str(result))]
