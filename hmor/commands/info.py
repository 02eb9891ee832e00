"""`hmor info`: say what is in a file or folder that this software wrote."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from hmor.options import JsonOption
from rt_runtime.errors import ConfigError

if TYPE_CHECKING:
    from mor.campaign import Store


class Kind(NamedTuple):
    """Something `hmor info` knows: a name with what tells it, a test of a path, content as (plain values, text)."""

    name: str
    matches: Callable[[Path], bool]
    describe: Callable[[Path], tuple[dict[str, Any], str]]


def store_content(store: Store) -> dict[str, Any]:
    """Return what is in a store as plain values."""
    return {
        "kind": "store",
        "path": str(store.path),
        "model": store.campaign["model"],
        "design": {"points": len(store.design), **store.campaign["design"]["made"]},
        "parameters": {name: _finite(law) for name, law in store.design.space.to_dict().items()},
        "finished": len(store.finished),
        "failed": [
            {"sample": f.index, "by": f.failure.kind, "reason": f.failure.reason, "parameters": f.parameters}
            for f in store.failed
        ],
        "open": len(store.open),
        "trajectories": store.with_trajectories,
        "damaged_lines": store.damaged,
        "model_seconds": store.seconds,
    }


def _finite(law: dict[str, Any]) -> dict[str, Any]:
    # JSON has no infinity; an open bound is null
    return {key: None if isinstance(value, float) and math.isinf(value) else value for key, value in law.items()}


def _store(path: Path) -> tuple[dict[str, Any], str]:
    from mor.campaign import Store

    store = Store(path)
    return store_content(store), f"{store.summary()}\n\n{store.design.space.summary()}"


def _is_bundle(path: Path) -> bool:
    return (path / "bundle.json").is_file() or (path.is_file() and path.suffix == ".zip")


def _bundle(path: Path) -> tuple[dict[str, Any], str]:
    from hmor.bundle_view import bundle_content, bundle_text
    from rt_runtime.bundle import read_bundle

    bundle = read_bundle(path)
    return bundle_content(bundle), bundle_text(bundle)


def _run(path: Path) -> tuple[dict[str, Any], str]:
    from hmor.run_view import run_content, run_text

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
            hmor info spring.store
            hmor info spring.bundle
            hmor info rig_test.runs/20260101-120000
        """
        content, text = describe(path)
        print(json.dumps(content, indent=2) if as_json else text)
