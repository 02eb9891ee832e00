"""`hmor bench`: run the benchmarks of a checkout and print what they measured."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hmor.options import JsonOption

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


def topics(folder: Path = FOLDER) -> dict[str, Path]:
    """Name every benchmark of the checkout: bench_<topic>.py -> <topic>."""
    return {path.stem.removeprefix("bench_"): path for path in sorted(folder.glob("bench_*.py"))}


def run(names: list[str], *, quick: bool, folder: Path = FOLDER) -> dict[str, Any]:
    """Run the named benchmarks (all when none is named) and return {topic: measurements}."""
    from rt_runtime.errors import ConfigError

    known = topics(folder)
    if not known:
        raise ConfigError(
            f"hmor bench needs a checkout of the source with its folder benchmarks, found none at {folder}; "
            "an installed package has none: clone the repository, make build, and run .venv/bin/hmor bench there."
        )
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ConfigError(f"topic of hmor bench must be one of {', '.join(known)}, got {', '.join(unknown)}.")
    results = {}
    for name in names or known:
        spec = importlib.util.spec_from_file_location(f"benchmarks.bench_{name}", known[name])
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        print(f"benchmark {name} ...", file=sys.stderr)
        results[name] = module.run(quick)
    return results


def _topics(incomplete: str) -> list[str]:
    return [topic for topic in topics() if topic.startswith(incomplete)]


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("bench")
    def command(
        names: Annotated[
            list[str] | None,
            typer.Argument(metavar="TOPIC", help="What to measure; everything if not given.", autocompletion=_topics),
        ] = None,
        quick: Annotated[bool, typer.Option("--quick", help="Fewer repetitions: rougher numbers, sooner.")] = False,
        as_json: JsonOption = False,
    ) -> None:
        """Measure speed and counted work on this machine.

        Ratios come from one run each. The topics are the files benchmarks/bench_TOPIC.py of the checkout. For example:

        \b
            hmor bench engine
            hmor bench export control --json
        """
        results = run(names or [], quick=quick)
        if as_json:
            print(json.dumps(results, indent=2))
            return
        from rich.console import Console
        from rich.table import Table

        for topic, values in results.items():
            table = Table(title=topic, title_justify="left", show_header=False)
            for key, value in values.items():
                table.add_row(key, f"{value:.4g}" if isinstance(value, float) else str(value))
            Console().print(table)
