"""Read the files of a bundle from a folder or a zip file: bounded, in memory, never outside of it. Outside the loop."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rt_runtime.errors import BundleError

DESCRIPTION = "bundle.json"
SIGNATURE = "bundle.sig"
MAX_DESCRIPTION = 4 * 2**20  # bytes of bundle.json
MAX_MODEL = 16 * 2**20  # bytes of an ONNX file, and of golden vectors packed or unpacked
MAX_FILE = 64 * 2**20  # bytes of any other file
MAX_TOTAL = 128 * 2**20  # bytes of all files of a bundle
MAX_FILES = 1000
MAX_MODELS = 64
MAX_DEPTH = 32  # nesting of bundle.json
UNREADABLE = (OSError, ValueError, RuntimeError, EOFError, MemoryError, struct.error, zlib.error, zipfile.BadZipFile)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*\Z")


def safe_name(name: object) -> bool:
    """Tell whether `name` is a plain relative path (letters, digits, `_ . -`, forward slashes) that stays inside."""
    return isinstance(name, str) and len(name) <= 200 and _NAME.match(name) is not None and ".." not in name


def sha256(content: bytes) -> str:
    """Return the SHA-256 of `content` as 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def description_hash(description: dict[str, Any]) -> str:
    """Return the SHA-256 of a description without its own "sha256" entry, keys sorted, no spaces."""
    rest = {key: value for key, value in description.items() if key != "sha256"}
    return sha256(json.dumps(rest, sort_keys=True, separators=(",", ":"), allow_nan=False).encode())


class BundleFiles:
    """The files of one bundle by relative name; `read` gives the bytes or a `BundleError` that names the file."""

    def __init__(self, path: Path, archive: zipfile.ZipFile | None, top: str) -> None:
        self.path = path
        self._archive = archive
        self._top = top

    def read(self, name: str, limit: int = MAX_FILE) -> bytes:
        """Return the content of file `name`, at most `limit` bytes."""
        if not safe_name(name):
            raise BundleError(f"File name {name!r} in bundle '{self.path}' must be a plain relative path inside it.")
        try:
            content = self._from_folder(name, limit) if self._archive is None else self._from_archive(name, limit)
        except (KeyError, FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise BundleError(
                f"File '{name}' of bundle '{self.path}' is missing; copy the whole bundle or export it again."
            ) from None
        except UNREADABLE as error:
            if isinstance(error, BundleError):
                raise
            why = " ".join(str(error).split())[:200]
            raise BundleError(f"File '{name}' of bundle '{self.path}' cannot be read: {why}.") from None
        if len(content) > limit:
            raise BundleError(
                f"File '{name}' of bundle '{self.path}' must have at most {limit} bytes, got more; export it again."
            )
        return content

    def has(self, name: str) -> bool:
        """Tell whether there is something of that name."""
        if self._archive is None:
            return os.path.lexists(self.path / name)
        return self._top + name in self._archive.namelist()

    def _from_folder(self, name: str, limit: int) -> bytes:
        file = self.path / name
        if not file.resolve().is_relative_to(self.path.resolve()):
            raise BundleError(f"File '{name}' of bundle '{self.path}' must not be a link out of the bundle.")
        if not file.exists():
            raise FileNotFoundError(name)
        if not stat.S_ISREG(file.stat().st_mode):
            raise BundleError(f"File '{name}' of bundle '{self.path}' must be a regular file.")
        with file.open("rb") as handle:
            return handle.read(limit + 1)

    def _from_archive(self, name: str, limit: int) -> bytes:
        assert self._archive is not None
        with self._archive.open(self._top + name) as handle:
            return handle.read(limit + 1)


@contextmanager
def open_bundle(path: Path) -> Iterator[BundleFiles]:
    """Open the folder or zip file `path`; a zip may hold the bundle itself or one folder with the bundle in it."""
    if path.is_dir():
        yield BundleFiles(path, None, "")
        return
    if not path.exists():
        raise BundleError(f"Bundle '{path}' does not exist; write it with export.write or hmor export.")
    try:
        archive = zipfile.ZipFile(path)
    except UNREADABLE as error:
        raise BundleError(f"Bundle '{path}' must be a folder or a zip file of one, got: {error}.") from None
    with archive:
        yield BundleFiles(path, archive, _checked_top(path, archive))


def _checked_top(path: Path, archive: zipfile.ZipFile) -> str:
    """Check every entry of a zipped bundle and return the folder in it that holds bundle.json ("" or "name/")."""
    entries = archive.infolist()
    if len(entries) > MAX_FILES:
        raise BundleError(f"Zipped bundle '{path}' must have at most {MAX_FILES} entries, got {len(entries)}.")
    names = [entry.filename for entry in entries]
    for entry in entries:
        if not safe_name(entry.filename.removesuffix("/")):
            raise BundleError(
                f"Entry {entry.filename!r} of zipped bundle '{path}' must be a plain relative path inside it; "
                "do not use this file."
            )
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise BundleError(f"Entry {entry.filename!r} of zipped bundle '{path}' must not be a link.")
        if entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BundleError(
                f"Entry {entry.filename!r} of zipped bundle '{path}' must be stored or deflated and not encrypted."
            )
    if len(set(names)) != len(names):
        raise BundleError(f"Zipped bundle '{path}' must name each file once, got a name twice; do not use this file.")
    total = sum(entry.file_size for entry in entries)
    if total > MAX_TOTAL:
        raise BundleError(f"Zipped bundle '{path}' must unpack to at most {MAX_TOTAL} bytes, got {total}.")
    tops = {name.removesuffix(DESCRIPTION) for name in names if name.split("/")[-1] == DESCRIPTION}
    tops = {top for top in tops if top.count("/") <= 1}
    if len(tops) != 1:
        raise BundleError(f"Zipped bundle '{path}' must hold one {DESCRIPTION}, found {len(tops)}.")
    return tops.pop()


def read_description(files: BundleFiles) -> tuple[dict[str, Any], bytes]:
    """Read bundle.json, bounded in size, as parsed by `strict_json` and as it stands; its hash is for the caller."""
    content = files.read(DESCRIPTION, MAX_DESCRIPTION)
    try:
        description = strict_json(content.decode())
    except ValueError as error:
        raise BundleError(
            f"{DESCRIPTION} of bundle '{files.path}' must be valid JSON as export.write makes it, got: {error}."
        ) from None
    if not isinstance(description, dict):
        got = type(description).__name__
        raise BundleError(f"{DESCRIPTION} of bundle '{files.path}' must be an object, got a {got}.")
    return description, content


def strict_json(text: str) -> Any:
    """Parse JSON that comes from outside; raise ValueError for what is not plain.

    Nesting is bounded, no key stands twice, every number is finite, and every text is printable (line ends and tabs
    apart): what is shown on a terminal must not be able to act there.
    """

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in items}) != len(items):
            raise ValueError("a key stands twice in one object")
        return dict(items)

    def constant(text: str) -> float:
        raise ValueError(f"{text} is not a JSON number")

    def number(text: str) -> float:
        if not math.isfinite(value := float(text)):
            raise ValueError(f"{text[:40]} is too large for a number")
        return value

    if not isinstance(text, str):
        raise TypeError("a JSON text must be UTF-8")
    if _depth(text) > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH}")
    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=constant, parse_float=number)
    except RecursionError:
        raise ValueError(f"nested deeper than {MAX_DEPTH}") from None
    for one in _texts(value):
        if not one.isprintable() and not one.replace("\n", "").replace("\t", "").isprintable():
            raise ValueError(f"a text with characters that cannot be printed, {one[:60]!a}")
    return value


def _texts(value: object) -> Iterator[str]:
    """Every key and text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _depth(text: str) -> int:
    """Return the nesting of brackets outside of strings, before anything is parsed."""
    deepest = depth = 0
    for token in re.finditer(r'"(?:[^"\\]|\\.)*+"?+|[\[{]|[\]}]', text, re.S):
        if token[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] in "]}":
            depth -= 1
    return deepest
