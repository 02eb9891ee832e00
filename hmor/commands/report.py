"""`hmor report`: write the report of a built-in study."""

from __future__ import annotations

from typing import Annotated

import typer

from hmor.options import FolderOption, ForceOption, JsonOption, QuickOption, studies_of_steps
from hmor.pipelines import made
from rt_runtime.errors import ConfigError


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("report")
    def command(
        study: Annotated[
            str,
            typer.Argument(
                metavar="STUDY",
                help="The built-in study motorcycle_brakes, or an edited copy of its file.",
                autocompletion=studies_of_steps,
            ),
        ],
        folder: FolderOption = None,
        force: ForceOption = False,
        quick: QuickOption = False,
        as_json: JsonOption = False,
    ) -> None:
        """Write the report of a study as one HTML page.

        Its figures stand beside it as PNG. The steps it reports on must be made; it says which one is missing.
        """
        if made("report", study, folder, force=force, quick=quick, as_json=as_json) is None:
            raise ConfigError(f"Study of hmor report must be motorcycle_brakes or a file that names it, got {study}.")
