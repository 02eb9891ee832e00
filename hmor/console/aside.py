"""Who runs where: the loop's CPU is for the loop alone, as far as this program and what it starts are concerned."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hmor.console.control import LIVE

NICE = 10


def loop_cpu(folder: Path) -> int | None:
    """Return the CPU of the loop that runs in a folder; None when it has none of its own, or nothing runs."""
    try:
        cpu = json.loads((folder / LIVE).read_text()).get("cpu")
    except (OSError, ValueError, AttributeError):
        return None
    return cpu if isinstance(cpu, int) else None


def stand_aside(loop_cpu: int | None) -> None:
    """Give this process a low priority and no share of the loop's CPU; twice is the same as once."""
    os.setpriority(os.PRIO_PROCESS, 0, max(NICE, os.getpriority(os.PRIO_PROCESS, 0)))
    others = os.sched_getaffinity(0) - {loop_cpu}
    if others:
        os.sched_setaffinity(0, others)


@contextmanager
def off_cpu(loop_cpu: int | None) -> Iterator[None]:
    """Keep this thread, and all threads and processes that it starts, off the loop's CPU.

    The thread of the loop moves there by itself (`Pacing.cpu`). A thread of SCHED_FIFO goes before all others, but not
    before a system call of theirs that is under way on its CPU: writing frames, a page fault, the rig's sockets.
    """
    before = os.sched_getaffinity(0)
    others = before - {loop_cpu}
    if loop_cpu is None or not others:
        yield
        return
    os.sched_setaffinity(0, others)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
