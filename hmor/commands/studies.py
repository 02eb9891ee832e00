"""`hmor studies`: list the built-in studies."""

from __future__ import annotations

import json

import typer

from hmor.options import PIPELINES, JsonOption


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("studies")
    def command(
        as_json: JsonOption = False,
    ) -> None:
        """List the built-in studies.

        What is uncertain in a study varies with --runs of hmor simulate; its settings are changed with --set.
        """
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

        heads = ("study", "what it is", "uncertain parameters", "settings (--set)")
        table = Table(*heads, title="built-in studies", title_justify="left")
        for study in found:
            table.add_row(
                study.name,
                study.summary,
                ", ".join(study.space.names) if study.space else "-",
                ", ".join(study.settings) or "-",
            )
        for name, text in PIPELINES.items():
            table.add_row(name, text, "-", "-")
        Console().print(table)
