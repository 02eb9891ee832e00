"""`hmor new`: a study folder to begin with, or a copy of a built-in study."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from hmor.options import BUILT_IN, studies

TEMPLATE = Path(__file__).parents[1] / "template"


def new(name: str, copy_of: str | None = None) -> Path:
    """Write the folder of a new study and return it."""
    from rt_runtime.errors import ConfigError

    folder = Path(name)
    if not folder.name.replace("_", "").replace("-", "").isalnum():
        raise ConfigError(f"NAME of hmor new must be letters, digits, - and _, got {folder.name!r}.")
    if folder.exists():
        raise ConfigError(f"Folder {folder} must be new, but it is there; choose another name.")
    if copy_of is not None and copy_of not in BUILT_IN:
        raise ConfigError(f"--from must be one of {', '.join(BUILT_IN)}, got {copy_of!r}.")
    source = TEMPLATE if copy_of is None else BUILT_IN[copy_of]
    folder.mkdir(parents=True)
    files = [source] if source.is_file() else [path for path in sorted(source.iterdir()) if path.is_file()]
    for path in files:
        text = path.read_text(encoding="utf-8").replace("STUDY_NAME", folder.name)
        if copy_of is not None:
            text = text.replace(f'name = "{copy_of}"', f'name = "{folder.name}"', 1)
        name = "study.toml" if path.suffix == ".toml" else path.name.removesuffix(".txt")
        (folder / name).write_text(text, encoding="utf-8")
    if copy_of is not None:
        shutil.copymode(source, folder / "study.toml")
        (folder / "README.md").write_text(
            f"# {folder.name}\n\nA copy of the built-in study {copy_of}; edit study.toml "
            "(python -m hmor.study.reference prints every key), then, here:\n\n"
            + "".join(f"    hmor {step} study.toml\n" for step in _steps(folder)),
            encoding="utf-8",
        )
    return folder


def _steps(folder: Path) -> tuple[str, ...]:
    from hmor.study.stages.pipeline import find_pipeline

    return find_pipeline(folder / "study.toml").groups


def register(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("new")
    def command(
        name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the study and of its new folder.")],
        copy_of: Annotated[
            str | None,
            typer.Option("--from", metavar="STUDY", help="Copy a built-in study to edit.", autocompletion=studies),
        ] = None,
    ) -> None:
        """Write a study folder to begin with.

        It has a full-order model, a study file that explains itself, and a README with the commands; it runs as it is.
        For example:

        \b
            hmor new shaker
            hmor new my_brakes --from motorcycle_brakes
        """
        folder = new(name, copy_of)
        print(
            f"Wrote {', '.join(sorted(path.name for path in folder.iterdir()))} in {folder}; begin with its README.md."
        )
