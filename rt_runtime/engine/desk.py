"""What an operator needs of a running loop: its newest frames in shared memory, and orders that it takes."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rt_runtime import _core
from rt_runtime.engine.pacing import STATES
from rt_runtime.errors import ConfigError

if TYPE_CHECKING:
    from rt_runtime.safety.monitor import Monitor

ORDERS = ("none", "arm", "start", "hold", "resume", "stop", "trip", "limit", "note", "tune")
LEGAL = {
    "checked": ("arm", "trip", "limit", "note", "tune"),
    "armed": ("start", "stop", "trip", "limit", "note", "tune"),
    "running": ("hold", "stop", "trip", "limit", "note", "tune"),
    "holding": ("resume", "stop", "trip", "limit", "note", "tune"),
    "ramping": ("trip", "limit", "note"),
    "tripped": ("note",),
    "idle": ("note",),
}
"""The orders a state allows; the monitor decides."""
REFUSALS = {
    1: "it is not possible while the test is {state}",
    2: "a rule is broken: {rules}",
    3: "the rules must hold for the whole arming time first",
    4: "a limit is widened only before the start, and never beyond the study's",
    5: "there is no such order or rule",
}
LIVE_SECONDS = 2.0
TAKEN_WITHIN = 2.0
"""Longest wait in s for the loop to take an order; a loop that runs takes it in the next tick."""


def live_folder() -> Path:
    """Return the folder of live files, which only this user can read; files of tests that died are removed."""
    folder = Path("/dev/shm") / f"hmor-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    if about.st_uid != os.getuid() or about.st_mode & 0o077 or folder.is_symlink():
        raise ConfigError(f"Folder {folder} must belong to this user alone; remove it.")
    for file in folder.glob("*.live"):
        owner = file.name.partition("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            file.unlink(missing_ok=True)
    return folder


class Desk:
    """The operator's side of one run; `Loop.run` opens and closes it.

    Parameters
    ----------
    live
        Whether frames go to shared memory too, for a console.
    """

    def __init__(self, *, live: bool = True) -> None:
        self.live = live
        self.run_id = secrets.token_hex(8)
        self.path: Path | None = None
        self.opened, self.begun, self.closed = threading.Event(), threading.Event(), threading.Event()
        self.paced: _core.PacedRun | None = None
        self.rate = 0.0
        self.monitor: Monitor | None = None
        self._core: _core.Loop | None = None
        self._ring: _core.LiveRing | None = None
        self._lock = threading.Lock()
        self._sequence = 0
        self._last = "idle"
        self.orders: list[dict[str, Any]] = []
        self.facts: Callable[[], dict[str, Any]] = dict  # what else run.json keeps

    def open(self, core: _core.Loop, indices: Sequence[int], rate: float, every: int, monitor: Monitor | None) -> None:
        """Make the live file and give it to the loop; before its first tick."""
        self._core, self.rate, self.monitor = core, rate, monitor
        if self.live:
            try:
                path = live_folder() / f"{os.getpid()}-{secrets.token_hex(8)}.live"
                self._ring = _core.LiveRing(
                    str(path), list(indices), every, round(LIVE_SECONDS * rate / every) + 1, rate
                )
            except (OSError, RuntimeError) as error:  # a test does not depend on its pictures
                print(f"No live view: {error}", file=sys.stderr)
            else:
                self.path = path
                core.show(self._ring)
        self.opened.set()

    def begin(self, run: _core.PacedRun) -> None:
        """Take note that the ticks begin."""
        self.paced = run
        self.begun.set()

    def close(self) -> None:
        """End: readers are told that no frame follows, and the file goes."""
        self.closed.set()
        if self._ring is not None:
            self._ring.finish()
        self._last, self.paced, self._core, self._ring = self.state, None, None, None  # threads may outlive the run
        if self.path is not None:
            with contextlib.suppress(OSError):
                self.path.unlink()

    @property
    def state(self) -> str:
        """The state of the monitor by its name."""
        run = self.paced
        return STATES[run.state] if run else self._last

    def order(self, name: str, *arguments: float, who: str = "operator", text: str = "") -> str:
        """Give an order and wait until the loop has taken it; return why it was refused, or nothing."""
        if name not in ORDERS[1:]:
            return f"{name!r} is no order; the orders are {', '.join(ORDERS[1:])}"
        with self._lock:
            core, run = self._core, self.paced
            if core is None or run is None or self.closed.is_set():
                return "the test is not running"
            before, self._sequence = self.state, self._sequence + 1
            core.order(self._sequence, ORDERS.index(name), *arguments)
            until = time.monotonic() + TAKEN_WITHIN
            while core.taken >> 8 != self._sequence:
                if time.monotonic() > until or self.closed.is_set():
                    return "the loop did not take it in time"
                time.sleep(0.0005)
            why = self._words(core.taken & 255, before)
            entry = {"tick": run.tick, "time": run.tick / self.rate, "do": name, "who": who}
            entry |= {"arguments": list(arguments)} if arguments else {}
            self.orders.append(entry | ({"text": text} if text else {}) | ({"refused": why} if why else {}))
            return why

    def _words(self, refusal: int, state: str) -> str:
        if refusal == 0:
            return ""
        rules: list[str] = []
        if self.monitor is not None:
            shown = zip(self.monitor.rules, self.monitor.shown(), strict=True)
            rules = [rule.name for rule, now in shown if now[5] and rule.action != "warn"]
        return REFUSALS[refusal].format(state=state, rules=", ".join(rules) or "an actuator stands out of reach")
