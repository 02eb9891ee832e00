"""An append-only file of checked records: what was appended is there after any crash, what was cut off is noticed."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rt_runtime.errors import ConfigError


def read_journal(path: Path) -> tuple[list[dict[str, Any]], int, int]:
    """Return the records of a journal, the bytes up to the end of the last whole line, and the number of damaged lines.

    A line is eight hexadecimal digits (CRC-32 of the rest), a blank and a JSON object. A last line without its end is
    an append that was cut off: it was never reported, and does not count as damage.
    """
    if not path.exists():
        return [], 0, 0
    data = path.read_bytes()
    size = data.rfind(b"\n") + 1
    records, damaged = [], 0
    for line in data[:size].split(b"\n")[:-1]:
        record = _record(line)
        if record is None:
            damaged += 1
        else:
            records.append(record)
    return records, size, damaged


def _record(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line, None when it was damaged."""
    if line[:9] != b"%08x " % zlib.crc32(line[9:]):
        return None
    try:
        record = json.loads(line[9:])
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def tells_a_sample(record: dict[str, Any]) -> bool:
    """Tell whether a record has what a finished or failed sample has."""
    try:
        numbers = [record["seconds"], *record.get("outputs", {}).values(), *record.get("parameters", {}).values()]
        failed = "failed" not in record or (
            {"kind", "reason"} <= set(record["failed"]) and isinstance(record["parameters"], dict)
        )
        has_result = "failed" in record or isinstance(record["outputs"], dict)
        whole = type(record["sample"]) is int and record["sample"] >= 0 and failed and has_result
        return whole and all(type(n) in (int, float) for n in numbers)
    except (KeyError, TypeError, AttributeError):
        return False


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn a full disk and the like into a sentence; what was reported before is safe."""
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"Store {path} cannot be written: {error.strerror or error}. Finished samples are safe; "
            "make room and run again to go on."
        ) from error


class Appended:
    """A file that is only appended to, whole after any crash; what follows `size` is cut off first."""

    def __init__(self, path: Path, size: int) -> None:
        self._size = size
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        os.ftruncate(self._file, self._size)
        os.fsync(self._file)

    def _append(self, data: bytes) -> None:
        done = 0
        try:
            while done < len(data):
                done += os.pwrite(self._file, data[done:], self._size + done)
            os.fdatasync(self._file)
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(data)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class Journal(Appended):
    """Open a journal to append to; a cut-off last line is removed first."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, read_journal(path)[1])

    def append(self, records: Sequence[dict[str, Any]]) -> None:
        """Append records; when this returns they are on disk, when it raises the file is as it was."""
        lines = [json.dumps(record, separators=(",", ":"), allow_nan=False).encode() for record in records]
        self._append(b"".join(b"%08x %s\n" % (zlib.crc32(line), line) for line in lines))
