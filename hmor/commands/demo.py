"""`hmor demo`: the main job in one command."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("demo")
    def command() -> None:
        """Step a full-order model, print a table and draw a picture."""
