"""`hmor console`: the operator's desk of a running test in the browser, or the replay of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("console")
    def command(
        folder: Annotated[
            Path, typer.Argument(metavar="FOLDER", help="Folder of a run, or one above; the newest run below it.")
        ] = Path("."),
        port: Annotated[int, typer.Option(min=0, max=65535, metavar="PORT", help="TCP port; 0 takes a free one.")] = 0,
        host: Annotated[
            str,
            typer.Option(metavar="ADDRESS", help="Address to listen on; all but this machine need --cert and --key."),
        ] = "127.0.0.1",
        cert: Annotated[Path | None, typer.Option(metavar="FILE", help="Certificate, for https.")] = None,
        key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its private key.")] = None,
        text: Annotated[bool, typer.Option("--text", help="Show the desk as text in this terminal instead.")] = False,
        leave: Annotated[
            bool, typer.Option("--leave", help="End by itself some time after the test and the last page have gone.")
        ] = False,
    ) -> None:
        """Open the operator's desk of a test, or replay a run.

        Two addresses for the browser are printed, for the operator and for viewers. The page shows signals, rules and
        events, and gives orders: arm, start, hold, resume, stop, trip. It is no safety function: the emergency stop
        is hardware. It may be closed, killed and started again; the test does not notice. From another machine use an
        SSH tunnel. For example:

        \b
            hmor run spring.toml --console
            hmor console runs/spring_test
        """
        from hmor.console.aside import loop_cpu, stand_aside
        from hmor.console.find import newest

        if text:
            from hmor.console.screen import watch

            stand_aside(loop_cpu(newest(folder)))
            watch(newest(folder))
            return
        from hmor.console.extra import need_console

        need_console()
        from hmor.console.web.serve import serve

        stand_aside(loop_cpu(newest(folder)))
        serve(folder, host=host, port=port, cert=cert, key=key, leave=leave)
