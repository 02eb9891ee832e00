"""Arguments and options that several commands share, and what the tab key completes them to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

PIPELINES = {"motorcycle_brakes": "reduced brakes of a motorcycle, from samples to a report"}
"""Built-in studies of several steps."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object on standard output.")]
FolderOption = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Folder of the results of a built-in study; runs/STUDY when not given."),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Repeat a step of a built-in study although nothing it depends on has changed.")
]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="Take the quick profile of a built-in study, as hmor demo does.")
]


def study_files(incomplete: str) -> list[str]:
    """Complete to the TOML files and folders that begin so."""
    folder, begin = Path(incomplete), ""
    if not incomplete.endswith("/"):
        folder, begin = folder.parent, folder.name
    if not folder.is_dir():
        return []
    shown = incomplete[: len(incomplete) - len(begin)]
    found = [p for p in sorted(folder.iterdir()) if p.name.startswith(begin) and (begin or p.name[0] != ".")]
    return [shown + p.name + ("/" if p.is_dir() else "") for p in found if p.is_dir() or p.suffix == ".toml"]


def studies_of_steps(incomplete: str) -> list[str]:
    """Complete to built-in studies of several steps, and study files."""
    return [name for name in PIPELINES if name.startswith(incomplete)] + study_files(incomplete)


def virtual_tests(incomplete: str) -> list[str]:
    """Complete to what hmor simulate runs."""
    from hmor.studies import NAMES

    return [name for name in NAMES if name.startswith(incomplete)] + studies_of_steps(incomplete)


def rigs(incomplete: str) -> list[str]:
    """Complete to what hmor rig plays by name."""
    from hmor.rigs import CATALOGUE, RIGS

    return [name for name in (*RIGS, *CATALOGUE) if name.startswith(incomplete)]


def study_argument(section: str) -> Any:
    """Return the argument STUDY of a command that reads `section` of a study file."""
    names = ", ".join(PIPELINES)
    return typer.Argument(
        metavar="STUDY",
        help=f"A study file (TOML) with a section [{section}], or the built-in study {names}.",
        autocompletion=studies_of_steps,
    )
