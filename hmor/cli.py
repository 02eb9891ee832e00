"""The `hmor` command: one typer app, one module per command."""

from __future__ import annotations

import sys

import typer

from hmor.commands import bench, check, demo, export, info, report, rig, run, sample, simulate, studies, train, validate
from rt_runtime.errors import BundleError, ConfigError, MissingExtra, Tripped

app = typer.Typer(
    name="hmor",
    help="Reduced models for real-time hybrid tests: sample, train, export, run.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, studies, sample, train, validate, export, simulate, info, check, run, rig, report, bench):
    command.register(app)


@app.callback()
def options(debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error.")) -> None:
    """Reduced models for real-time hybrid tests: sample, train, export, run."""
    _debug[0] = debug


_debug = [False]


def main() -> None:
    """Run the command line; an error the user can mend is one sentence on standard error and exit code 2."""
    try:
        app()
    except (ConfigError, BundleError, MissingExtra, Tripped, FileNotFoundError) as error:
        if _debug[0]:
            raise
        print(f"hmor: {error}", file=sys.stderr)
        sys.exit(2)
