"""The `hmor` command: one typer app, one module per command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from hmor.commands import bench, demo, identify, info, new, sign, simulate, steps, studies
from hmor.commands.live import check, console, rig, run, tell
from hmor.gateway import serve

app = typer.Typer(
    name="hmor",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: markup would eat [sample], and a flag needs no type beside it
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    demo,
    studies,
    new,
    steps,
    sign,
    simulate,
    identify,
    info,
    check,
    run,
    console,
    tell,
    rig,
    serve,
    bench,
):
    command.register(app)


_debug = [False]


def _version(wanted: bool) -> None:
    if wanted:
        from hmor.study.stages.steps import program_version

        print(f"hybrid-mor {program_version()}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Reduced models for real-time hybrid tests: sample, train, export, run.

    A study is one TOML file; each step of it is a command: sample, train, validate, export, run. The built-in
    studies run by name. To begin with:

    \b
        hmor demo                    the main job in about two minutes, with a report
        hmor simulate pendulum       a published virtual test
        hmor new shaker              a study of your own, which runs as it is
        hmor check                   which rates this machine holds

    Every command has --help and --json.
    """
    _debug[0] = debug


def main() -> None:
    """Run the command line; an error the user can mend is one sentence on standard error and exit code 2."""
    try:
        app(prog_name="hmor")
    except Exception as error:
        from rt_runtime.errors import BundleError, ConfigError, MissingExtra, Tripped, printable

        if _debug[0] or not isinstance(error, ConfigError | BundleError | MissingExtra | Tripped | OSError):
            raise
        print(f"hmor: {printable(sentence(error))}", file=sys.stderr)
        sys.exit(2)


def sentence(error: Exception) -> str:
    """Say an error in one sentence: our own as they are, those of the system without their number."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}." if error.filename else f"{error.strerror}."
    return str(error)
