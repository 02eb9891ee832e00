"""`hmor studies`: list the built-in studies."""

from __future__ import annotations

import json
import tomllib
from typing import Annotated, Any

import typer

from hmor.options import BUILT_IN, STUDIES, JsonOption


def describe(name: str) -> dict[str, Any]:
    """Return what a built-in study is, its steps, what is uncertain and what can be set; nothing is compiled."""
    from hmor.study.loading import import_object

    content = tomllib.loads(BUILT_IN[name].read_text(encoding="utf-8"))
    parts = content.get("parts", {}).values()
    models = any(part.get("models") for part in parts)
    has = {
        "sample": any("model" in part for part in parts),
        "sensitivity": "sensitivity" in content,
        "train": models,
        "validate": models,
        "export": models or "models" in content.get("export", {}),
        "simulate": "hybrid" in content or "control" in content,
        "run": "run" in content,
        "report": True,
    }
    test = import_object(content["control"]["test"], STUDIES) if "control" in content else None
    return {
        "summary": content["study"].get("description", ""),
        "steps": [step for step, there in has.items() if there],
        "parameters": list(test.space.names) if test is not None and test.space is not None else [],
        "settings": list(test.settings) if test is not None else [],
    }


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("studies")
    def command(
        names: Annotated[
            list[str] | None,
            typer.Argument(metavar="STUDY", help="Studies to tell more of.", autocompletion=lambda: list(BUILT_IN)),
        ] = None,
        as_json: JsonOption = False,
    ) -> None:
        """List the built-in studies.

        With names, what varies and what can be set in them. What is uncertain in a study varies with --runs of hmor
        simulate; its settings are changed with --set. Every one of them takes the same commands; hmor new NAME --from
        STUDY copies one to edit. For example:

        \b
            hmor studies
            hmor studies pendulum
        """
        for name in names or ():
            from rt_runtime.checks import one_of

            one_of(name, "STUDY", "hmor studies", tuple(BUILT_IN))
        rows = {name: describe(name) for name in names or BUILT_IN}
        if as_json:
            print(json.dumps(rows, indent=2))
            return
        from rich.console import Console
        from rich.table import Table

        def words(row: dict[str, Any]) -> list[str]:
            return [value if isinstance(value, str) else ", ".join(value) or "-" for value in row.values()]

        heads = ("what it is", "steps", "uncertain parameters", "settings (--set)")
        if names:
            for name, row in rows.items():
                one = Table(title=name, title_justify="left", show_header=False)
                for head, text in zip(heads, words(row), strict=True):
                    one.add_row(head, text)
                Console().print(one)
            return
        table = Table(title="built-in studies; hmor studies STUDY tells more of one", title_justify="left")
        for head in ("study", *heads[:2]):
            width = 18 if head == "steps" else None
            table.add_column(head, no_wrap=head == "study", overflow="fold", max_width=width)  # no name is cut short
        for name, row in rows.items():
            table.add_row(name, *words(row)[:2])
        Console().print(table)
