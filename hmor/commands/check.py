"""`hmor check`: what this machine can hold, and whether a study can be run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from hmor.options import JsonOption, study_files


def check(path: Path | None, seconds: float) -> dict[str, Any]:
    """Check the study (all problems at once) and measure the host; return what `--json` prints."""
    from rt_runtime.host_check import RATES, check_host

    result: dict[str, Any] = {}
    rates, pacing = set(RATES), None
    if path is not None:
        from hmor.run_section import prepare
        from hmor.study import load_study

        study = load_study(path)
        result["study"] = study.study.name
        if study.run is not None:
            prepared = prepare(study.run, study.folder, study.study.seed)
            result |= {"signals": len(prepared.loop.signals), "blocks": len(prepared.loop.blocks)}
            result["rate_hz"] = study.run.rate
            rates.add(study.run.rate)
            pacing = study.run.pacing.build()
    host = check_host(seconds=seconds, pacing=pacing, rates=sorted(rates))
    return result | host.as_dict()


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("check")
    def command(
        study: Annotated[
            Path | None,
            typer.Argument(
                metavar="STUDY", help="A study file (TOML) to check as well.", autocompletion=study_files
            ),
        ] = None,
        seconds: Annotated[
            float, typer.Option(min=0.1, max=600.0, metavar="SECONDS", help="How long to measure, in s.")
        ] = 3.0,
        as_json: JsonOption = False,
    ) -> None:
        """Say which rates this machine holds; check a study.

        The wake-up latency of a paced loop is measured for some seconds. A study is built as hmor run would build it
        (its rig need not be there); all its problems are listed at once. For example:

        \b
            hmor check
            hmor check test.toml --seconds 30
        """
        result = check(study, seconds)
        if as_json:
            print(json.dumps(result, indent=2))
            return
        from rich.console import Console
        from rich.table import Table

        console = Console()
        if "study" in result:
            size = f", {result['blocks']} blocks, {result['signals']} signals" if "blocks" in result else ""
            console.print(f"Study '{result['study']}' is in order{size}.")
        table = Table(title="wake-up latency of this machine", title_justify="left", show_header=False)
        for key, value in result["wake_us"].items():
            table.add_row(key, f"{value:.1f} us")
        for key, words in (result["host"] | result["facts"]).items():
            table.add_row(key, words)
        console.print(table)
        rates = Table("rate", "verdict", title="rates", title_justify="left")
        for rate, verdict in result["rates"].items():
            marked = " (this study)" if "rate_hz" in result and float(rate) == result["rate_hz"] else ""
            rates.add_row(f"{rate} Hz{marked}", verdict)
        console.print(rates)
