"""Write files so that a reader sees the old one or the new one, never a part, whatever happens in between."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary path in the folder of `path` to write to; on success it is flushed to disk and takes its place.

    When the body raises, the temporary file is removed and `path` is as it was.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write text (UTF-8) or bytes to `path` in one atomic step that survives a power cut."""
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


def flush_folder(folder: str | Path) -> None:
    """Make the names in a folder safe on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
