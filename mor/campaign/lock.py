"""One writer at a time: a lock on a file that the system releases when its holder dies, however it dies."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rt_runtime.errors import ConfigError

_held: set[int] = set()


@contextmanager
def locked(path: Path, what: str) -> Iterator[str]:
    """Hold the lock file `path` of `what`; gives a sentence about a holder that died, or "".

    The lock itself is the system's (flock); the file's content only says who holds it. Content without a lock is
    stale: its writer died and the lock is taken over.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise ConfigError(f"{what} cannot be locked: {error.strerror}; choose a folder that can be written.") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(
                f"{what} is being written by {_holder(handle) or 'another process'}; "
                "wait for it to end or stop it, or use another store."
            ) from None
        stale = _holder(handle)
        me = {"pid": os.getpid(), "host": socket.gethostname(), "since": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"}
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(me).encode(), 0)
        _held.add(handle)
        try:
            yield f"The last writer ({stale}) died; its finished samples are kept." if stale else ""
        finally:
            _held.discard(handle)
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def release_in_child() -> None:
    """Let go of the parent's locks in a forked process, so that the lock ends with the parent."""
    while _held:
        os.close(_held.pop())


def _holder(handle: int) -> str:
    try:
        who = json.loads(os.pread(handle, 4096, 0))
        return f"process {who['pid']} on {who['host']} since {who['since']}"
    except (ValueError, KeyError, TypeError):
        return ""
