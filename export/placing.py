"""Put a set of files into a folder, whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from rt_runtime.errors import ConfigError

T = TypeVar("T")


def place(files: Mapping[str, bytes], target: Path, check: Callable[[], None], read: Callable[[Path], T]) -> T:
    """Write all files into a new folder beside `target`, then swap it in by renaming.

    `check` refuses a target that must not be replaced; it is asked again just before the swap. `read` reads the new
    folder back, and what it refuses is not swapped in; what it returns is returned.
    """
    check()
    target.parent.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        new = stage / "new"
        for name, data in files.items():
            file = new / name
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("wb") as handle:
                handle.write(data)
                handle.flush()
                os.fsync(handle.fileno())
        found = read(new)
        if target.exists():
            check()
            os.rename(target, stage / "old")
        os.rename(new, target)
        return found
    except BaseException:
        if (stage / "old").exists() and not target.exists():
            os.rename(stage / "old", target)
        raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def check_export(target: Path, description: str, overwrite: bool) -> None:
    """Refuse a folder that is not new, unless with `overwrite` it holds nothing but what its `description` lists."""
    if not target.exists() and not target.is_symlink():
        return
    if not target.is_dir() or target.is_symlink():
        raise ConfigError(f"Folder '{target}' must be a folder, got a file or a link; choose another name.")
    there = {p.relative_to(target).as_posix() for p in target.rglob("*") if not p.is_dir() or p.is_symlink()}
    if not there:
        return
    if description in there and not overwrite:
        raise ConfigError(f"Folder '{target}' already holds an export; choose another folder or give overwrite=True.")
    try:
        listed = set(json.loads((target / description).read_text())["files"]) | {description}
    except (OSError, ValueError, KeyError, TypeError):
        listed = set()
    if strangers := there - listed:
        raise ConfigError(
            f"Folder '{target}' must be new or hold an export, got other files ({sorted(strangers)[0]}); move them or "
            "choose another folder."
        )
