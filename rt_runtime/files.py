"""Write files whole or not at all, and say in a sentence what is wrong with one that was damaged."""

from __future__ import annotations

import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rt_runtime.errors import BundleError, ConfigError, printable

_DAMAGE = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError, RecursionError, TypeError,
    ValueError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


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


def write_file(path: str | Path, content: str | bytes | memoryview) -> None:
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


@contextmanager
def reading(what: str, remedy: str = "it is damaged or of another kind") -> Iterator[None]:
    """Turn what a damaged file makes its reader raise into a `ConfigError` of one printable sentence.

    Parameters
    ----------
    what : str
        The file, as the sentence begins: "Store x", "Table y".
    remedy : str
        What to do, as the sentence ends.
    """
    try:
        yield
    except (ConfigError, BundleError):
        raise
    except UnicodeDecodeError as error:
        raise ConfigError(printable(f"{what} must be UTF-8 text, byte {error.start} is not; {remedy}.")) from error
    except _DAMAGE as error:
        why = " ".join(f"{type(error).__name__} {error}".split())[:200]
        raise ConfigError(printable(f"{what} cannot be read ({why}); {remedy}.")) from error


def read_json(path: str | Path, what: str, remedy: str = "it is damaged or of another kind") -> dict[str, Any]:
    """Read a JSON object from a UTF-8 file; `what` and `remedy` as in `reading`."""
    with reading(what, remedy):
        text = Path(path).read_text(encoding="utf-8")
        try:
            content = json.loads(text)
        except ValueError as error:
            raise ConfigError(printable(f"{what} must be JSON, got: {error}; {remedy}.")) from None
        if not isinstance(content, dict):
            raise ConfigError(f"{what} must be a JSON object, got a {type(content).__name__}; {remedy}.")
        return content
