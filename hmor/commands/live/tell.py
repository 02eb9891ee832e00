"""`hmor tell`: give an order to a running test from a shell."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hmor.options import JsonOption

ARGUMENTS = {"limit": ("rule", "lower", "upper"), "tune": ("name", "value"), "note": ("text",), "tick": ("item",)}
"""The arguments of the orders that have some."""
REFUSED = 5
"""Exit code after an order that was refused."""


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("tell")
    def command(
        folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the run, or one above a single one.")],
        order: Annotated[
            str,
            typer.Argument(
                metavar="ORDER", help="arm, start, hold, resume, stop, trip, note, limit, tune, tick or look."
            ),
        ],
        arguments: Annotated[
            list[str] | None,
            typer.Argument(metavar="ARGUMENTS", help="note TEXT; limit RULE LOWER UPPER; tune NAME VALUE; tick ITEM."),
        ] = None,
        as_json: JsonOption = False,
    ) -> None:
        """Give an order to a running test.

        The answer comes when the loop has taken the order. The exit code is 0 when it was followed and 5 when it was
        refused, with the reason. These orders are no safety function: the emergency stop is hardware. For example:

        \b
            hmor tell runs/spring_test hold
            hmor tell runs/spring_test limit force -- -500 500
        """
        from hmor.console.control import Telling
        from hmor.console.find import running

        with Telling(running(folder)) as test:
            answer = test.ask(order, named(order, arguments or []) | {"who": "shell"})
        if as_json or order == "look":
            print(json.dumps(answer, indent=2))
        if "refused" in answer:
            print(f"hmor: Refused: {answer['why']}.", file=sys.stderr)
            raise typer.Exit(REFUSED)


def named(order: str, arguments: list[str]) -> dict[str, Any]:
    """Give the arguments of an order their names; numbers become numbers."""
    from rt_runtime.errors import ConfigError

    names = ARGUMENTS.get(order, ())
    if len(arguments) != len(names):
        wanted = " ".join(name.upper() for name in names) or "no arguments"
        raise ConfigError(f"Order '{order}' takes {wanted}, got {len(arguments)} arguments.")
    result: dict[str, Any] = {}
    for name, text in zip(names, arguments, strict=True):
        try:
            result[name] = text if name in ("rule", "name", "text") else float(text)
        except ValueError:
            raise ConfigError(f"{name} of order '{order}' must be a number, got {text!r}.") from None
    return result
