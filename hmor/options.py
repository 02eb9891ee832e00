"""Arguments and options that several commands share, and what the tab key completes them to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

STUDIES = Path(__file__).parent / "studies"
BUILT_IN = {path.stem: path for path in sorted(STUDIES.rglob("*.toml"), key=lambda path: path.stem)}
"""The files of the built-in studies, by name."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object on standard output.")]
FolderOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Folder of the results; runs/NAME beside the study file when not given (built-in: in this folder).",
    ),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Make the step again although nothing it depends on has changed.")
]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="Take the keys of the section [quick] in the place of the others.")
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


def studies(incomplete: str) -> list[str]:
    """Complete to built-in studies, and study files."""
    return [name for name in BUILT_IN if name.startswith(incomplete)] + study_files(incomplete)


def rigs(incomplete: str) -> list[str]:
    """Complete to what hmor rig plays by name."""
    from hmor.rigs.catalogue import CATALOGUE, RIGS

    return [name for name in (*RIGS, *CATALOGUE) if name.startswith(incomplete)]


def study_argument(sections: str) -> Any:
    """Return the argument STUDY of a command that reads some sections of a study file."""
    words = f"A study file (TOML) with {sections}, or a built-in study; hmor studies lists them."
    return typer.Argument(metavar="STUDY", help=words, autocompletion=studies)


StudyArgument = Annotated[str, study_argument("its sections")]
