"""`hmor report`: write the report of a built-in study."""

from __future__ import annotations

from typing import Annotated

import typer

from hmor.pipelines import FolderOption, ForceOption, QuickOption, made
from rt_runtime.errors import ConfigError


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("report")
    def command(
        study: Annotated[str, typer.Argument(help="motorcycle_brakes, or a copy of its file.")],
        folder: FolderOption = None,
        force: ForceOption = False,
        quick: QuickOption = False,
        as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    ) -> None:
        """Write the report of a study as one HTML page, its figures as PNG beside it."""
        if not made("report", study, folder, force=force, quick=quick, as_json=as_json):
            raise ConfigError(f"Study of hmor report must be motorcycle_brakes or a file that names it, got {study}.")
