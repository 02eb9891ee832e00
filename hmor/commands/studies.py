"""`hmor studies`: list the built-in studies."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from hmor.pipelines import PIPELINES


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("studies")
    def command(
        as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    ) -> None:
        """List the built-in studies with their uncertain parameters and settings."""
        from hmor.studies import NAMES, find

        found = [find(name) for name in NAMES]
        if as_json:
            rows = {
                study.name: {
                    "summary": study.summary,
                    "parameters": list(study.space.names) if study.space else [],
                    "settings": list(study.settings),
                }
                for study in found
            }
            rows |= {name: {"summary": text, "parameters": [], "settings": []} for name, text in PIPELINES.items()}
            print(json.dumps(rows, indent=2))
            return
        from rich.console import Console
        from rich.table import Table

        table = Table("study", "what it is", "uncertain parameters", title="built-in studies", title_justify="left")
        for study in found:
            table.add_row(study.name, study.summary, ", ".join(study.space.names) if study.space else "-")
        for name, text in PIPELINES.items():
            table.add_row(name, text, "-")
        Console().print(table)
