"""Find the run that a console or an order is meant for."""

from __future__ import annotations

from pathlib import Path

from hmor.console.control import LIVE, SOCKET
from rt_runtime.engine.records.run_folder import DATA, FRAMES, RUN
from rt_runtime.errors import ConfigError

DEPTH = 4


def _below(folder: Path, name: str) -> list[Path]:
    found = [path for depth in range(DEPTH + 1) for path in folder.glob("/".join(["*"] * depth + [name]))]
    return sorted((path.parent for path in found), key=lambda path: path.stat().st_mtime)


def running(folder: Path) -> Path:
    """Return the folder of the test that runs in `folder` or below it; there must be one."""
    found = _below(folder, SOCKET) if folder.is_dir() else []
    if not found:
        raise ConfigError(f"No test runs in {folder} or below it; start one with: hmor run STUDY.")
    if len(found) > 1:
        names = ", ".join(str(path) for path in found[:5])
        raise ConfigError(f"{len(found)} tests run below {folder}; name one of {names}.")
    return found[0]


def newest(folder: Path) -> Path:
    """Return the run to show: `folder` itself, else the one that runs below it, else the newest that has run."""
    if not folder.is_dir():
        raise ConfigError(f"Folder of a run must exist, got {folder}.")
    if any((folder / name).exists() for name in (LIVE, RUN, DATA, FRAMES)):
        return folder
    found = _below(folder, LIVE) or _below(folder, RUN)
    if not found:
        raise ConfigError(f"No run was found in {folder} or below it; make one with: hmor run STUDY.")
    return found[-1]
