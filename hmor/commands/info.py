"""`hmor info`: say what is in a file or folder that this software wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from hmor.options import JsonOption


class Kind(NamedTuple):
    """Something `hmor info` knows: a name with what tells it, a test of a path, content as (plain values, text)."""

    name: str
    matches: Callable[[Path], bool]
    describe: Callable[[Path], tuple[dict[str, Any], str]]


def _store(path: Path) -> tuple[dict[str, Any], str]:
    from hmor.views.store import store_content
    from mor.campaign import Store

    store = Store(path)
    return store_content(store), f"{store.summary()}\n\n{store.design.space.summary()}"


def _is_bundle(path: Path) -> bool:
    return (path / "bundle.json").is_file() or (path.is_file() and path.suffix == ".zip")


def _bundle(path: Path) -> tuple[dict[str, Any], str]:
    from hmor.views.bundle import bundle_content, bundle_text
    from rt_runtime.bundle.read import read_bundle

    bundle = read_bundle(path)
    return bundle_content(bundle), bundle_text(bundle)


def _run(path: Path) -> tuple[dict[str, Any], str]:
    from hmor.views.run import run_content, run_text
    from rt_runtime.files import reading

    with reading(f"Run {path}"):
        content = run_content(path)
        return content, run_text(content)


def _is_run(path: Path) -> bool:
    return (path / "run.json").is_file() or (path / "frames.json").is_file()


KINDS = [
    Kind("a store (folder with campaign.json)", lambda path: (path / "campaign.json").is_file(), _store),
    Kind("a bundle (folder with bundle.json, or a zip file of one)", _is_bundle, _bundle),
    Kind("the folder of a run (with run.json)", _is_run, _run),
]


def describe(path: Path) -> tuple[dict[str, Any], str]:
    """Return the content of whatever is at `path` as plain values and as text."""
    from rt_runtime.errors import ConfigError

    if not path.exists():
        raise ConfigError(f"PATH of hmor info must exist, found nothing at {path}.")
    for kind in KINDS:
        if kind.matches(path):
            return kind.describe(path)
    raise ConfigError(f"PATH of hmor info must be {' or '.join(kind.name for kind in KINDS)}, got {path}.")


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("info")
    def command(
        path: Annotated[
            Path, typer.Argument(metavar="PATH", help="A store (of samples), a bundle or its zip file, or a run.")
        ],
        as_json: JsonOption = False,
    ) -> None:
        """Show what is in a store, a bundle or the folder of a run.

        A bundle is checked from end to end: every hash, every file. For example:

        \b
            hmor info runs/spring/samples/spring
            hmor info runs/spring/bundle
            hmor info runs/rig_test/run/20260101-120000
        """
        content, text = describe(path)
        print(json.dumps(content, indent=2) if as_json else text)
