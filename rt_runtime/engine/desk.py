"""What an operator needs of a running loop: its newest frames in shared memory, and orders that it takes."""

from __future__ import annotations

import contextlib
import math
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
STAYING = ("hold", "stop", "trip")
"""Orders that stay posted although the loop did not take them in time; a later one is worse."""
WITHDRAWN = "the loop did not take it in time, and it was withdrawn"
POSTED = "the loop did not take it in time; it stays posted and acts as soon as the loop goes on"
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
        self._posted: tuple[int, dict[str, Any], str] | None = None  # sequence, entry in `orders`, state before it
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
        with self._lock:
            if self._core is not None and self._posted is not None:
                self._settle(self._core)
            if self._posted is not None:
                self._posted[1]["refused"] = "the test ended before the loop took it"
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
        """Give an order and wait until the loop has taken it; return why it was refused, or nothing.

        What the loop does not take in time is withdrawn, so that no start or resume acts later; a hold, stop or trip
        stays, until a worse one takes its place. `orders` tells what became of each.
        """
        if name not in ORDERS[1:]:
            return f"{name!r} is no order; the orders are {', '.join(ORDERS[1:])}"
        if not all(map(math.isfinite, arguments)):
            return f"arguments of '{name}' must be finite"  # they are signals, and one that is not trips the test
        with self._lock:
            core, run = self._core, self.paced
            if core is None or run is None or self.closed.is_set():
                return "the test is not running"
            self._settle(core)
            if self._posted is not None and not self._replaced(core, name):
                return f"the loop has not taken '{self._posted[1]['do']}' yet"
            before, self._sequence = self.state, self._sequence + 1
            core.order(self._sequence, ORDERS.index(name), *arguments)
            withdrawn, taken = False, self._taken(core)
            if not taken and name not in STAYING:
                withdrawn = core.withdraw()
                taken = not withdrawn and self._taken(core)  # the loop had it just then
            entry = {"tick": run.tick, "time": run.tick / self.rate, "do": name, "who": who}
            entry |= {"arguments": list(arguments)} if arguments else {}
            if not taken and not withdrawn:
                self._posted = self._sequence, entry, before
            why = self._words(core.taken & 255, before) if taken else WITHDRAWN if withdrawn else POSTED
            entry |= ({"text": text} if text else {}) | ({"refused": why} if why else {})
            self.orders.append(entry)
            return why

    def _taken(self, core: _core.Loop) -> bool:
        until = time.monotonic() + TAKEN_WITHIN
        while core.taken >> 8 != self._sequence:
            if time.monotonic() > until or self.closed.is_set():
                return False
            time.sleep(0.0005)
        return True

    def _settle(self, core: _core.Loop) -> None:
        """Keep what became of an order that was still posted."""
        if self._posted is None or core.taken >> 8 != self._posted[0]:
            return
        _, entry, before = self._posted
        why = self._words(core.taken & 255, before)
        entry.pop("refused")
        entry |= {"late": True} | ({"refused": why} if why else {})
        self._posted = None

    def _replaced(self, core: _core.Loop, name: str) -> bool:
        """Take back a posted order for a worse one; False when `name` is none."""
        assert self._posted is not None
        entry = self._posted[1]
        rank = {order: i for i, order in enumerate(STAYING)}
        if rank.get(name, -1) <= rank.get(entry["do"], -1):
            return False
        if core.withdraw():
            entry["refused"] = f"the loop did not take it in time, and '{name}' took its place"
        else:  # the loop is in the tick in which it acts; the events tell how
            entry.pop("refused")
            entry["late"] = True
        self._posted = None
        return True

    def _words(self, refusal: int, state: str) -> str:
        if refusal == 0:
            return ""
        rules: list[str] = []
        if self.monitor is not None:
            shown = zip(self.monitor.rules, self.monitor.shown(), strict=True)
            rules = [rule.name for rule, now in shown if now[5] and rule.action != "warn"]
        return REFUSALS[refusal].format(state=state, rules=", ".join(rules) or "an actuator stands out of reach")
