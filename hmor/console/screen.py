"""The desk in a terminal: the text view while a test runs, and keys for the orders."""

from __future__ import annotations

import contextlib
import select
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hmor.console.control import LIVE, Telling
from hmor.console.lamps import Recent, lamps
from hmor.console.text import KEYS, View, layout, result_view
from rt_runtime import _core
from rt_runtime.engine.pacing import STATES, Status
from rt_runtime.files import read_json

LINES = {
    "n": ("note", "note: "),
    "l": ("limit", "limit: RULE LOWER UPPER (- leaves one as it is): "),
    "k": ("tick", "items to tick: "),
}
"""Keys after which a line is typed: the order, and what is asked for."""


class Screen:
    """Shows the desk on standard error while a test runs, and takes its keys from the terminal.

    Parameters
    ----------
    about
        The test, as in live.json.
    ask
        Asks the control socket of the run: ask("hold", {"who": "keyboard"}).
    live
        Returns the live file, once there is one.
    """

    def __init__(
        self,
        about: dict[str, Any],
        ask: Callable[..., dict[str, Any]],
        live: Callable[[], Path | None] = lambda: None,
    ) -> None:
        self.about, self._ask, self._path = about, ask, live
        self._live: Any = None
        self._ending = threading.Event()
        self._state = "idle"
        self._reader: _core.LiveReader | None = None
        self._recent: Recent | None = None
        self._typing, self._typed, self._said = "", "", ""  # key of the line, the line so far, the last refusal

    def __enter__(self) -> Screen:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        waiting = Text(f"starting: waiting for {self.about['actuator']} to answer")
        self._live = Live(waiting, console=Console(file=sys.stderr), refresh_per_second=8, transient=True)
        self._live.start()
        if sys.stdin.isatty():
            threading.Thread(target=self._keys, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._live.stop()

    def show(self, status: Status) -> None:
        """Draw anew."""
        look = self._ask("look")
        self._state = look["state"]
        rows = max(
            4, self._live.console.size.height - 20 - (len(look["sheet"] or ()) if self._state == "checked" else 0)
        )
        self._live.update(layout(self.about, look, status, self._view(look), rows=rows))

    def _view(self, look: Mapping[str, Any]) -> View:
        path = self._path()
        if self._recent is None and path is not None:
            with contextlib.suppress(RuntimeError):  # it may have just ended
                self._reader = _core.LiveReader(str(path))
                self._recent = Recent(_core.LiveReader(str(path)), self.about)
        line = f"{LINES[self._typing][1]}{self._typed}_" if self._typing in LINES else self._said
        if self._reader is None or self._recent is None:
            return View(line=line)
        seen = self._recent.extremes()
        return View(lamps(self.about, self._reader.status, seen, look.get("wake_us")), seen, line)

    def _keys(self) -> None:
        import termios
        import tty

        before = termios.tcgetattr(sys.stdin)
        try:
            tty.setcbreak(sys.stdin)
            while not self._ending.is_set():
                if select.select([sys.stdin], [], [], 0.1)[0]:
                    self.key(sys.stdin.read(1))
        finally:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)

    def key(self, key: str) -> dict[str, Any] | None:
        """Do what a key stands for: an order, a letter of a line, an item of the sheet; return the answer."""
        if self._typing in LINES:
            return self._type(key)
        confirmed, self._typing, self._said = self._typing == key, "", ""
        if key.isdigit():
            return self._heard(self._ask("tick", {"item": int(key) - 1}))
        if key in LINES:
            self._typing, self._typed = key, ""
            return None
        order = "resume" if key == " " and self._state == "holding" else KEYS.get(key)
        if order == "arm" and not confirmed:  # two steps, as on the page
            self._typing, self._said = key, "press a again to arm"
            return None
        return self._heard(self._ask(order, {"who": "keyboard"})) if order else None

    def _type(self, key: str) -> dict[str, Any] | None:
        if key in ("\x7f", "\b"):
            self._typed = self._typed[:-1]
        elif key == "\x1b":
            self._typing = ""
        elif key in ("\n", "\r"):
            (order, _), text, self._typing = LINES[self._typing], self._typed.strip(), ""
            return self._line(order, text) if text else None
        elif key.isprintable():
            self._typed += key
        return None

    def _line(self, order: str, text: str) -> dict[str, Any]:
        who = {"who": "keyboard"}
        if order == "note":
            return self._heard(self._ask("note", who | {"text": text}))
        try:
            if order == "tick":
                return [self._heard(self._ask("tick", {"item": int(n) - 1})) for n in text.split()][-1]
            rule, *limits = text.rsplit(maxsplit=2)
            lower, upper = (None if word == "-" else float(word) for word in limits)
        except ValueError:
            self._said = f"{order} must be {LINES['l'][1] if order == 'limit' else 'numbers'}, got {text!r}"
            return {"refused": True, "why": self._said}
        return self._heard(self._ask("limit", who | {"rule": rule, "lower": lower, "upper": upper}))

    def _heard(self, answer: dict[str, Any]) -> dict[str, Any]:
        self._said = f"Refused: {answer['why']}." if "refused" in answer else ""
        return answer


def watch(folder: Path) -> None:
    """Show the desk of a test of another process until it ends; one that has ended as it went."""
    from rich.console import Console

    from hmor.console.summary import summary

    if not (folder / LIVE).is_file():
        about = summary(folder)
        found = about["summary"]
        figures = {k: found[k] for k in ("ticks", "missed", "frames_lost", "folder")} | (found["tracking"] or {})
        Console().print(result_view(found["ended"], figures, found["peaks"], about["events"]))
        return
    about = read_json(folder / LIVE, f"{LIVE} of {folder}, which must hold a running test", "start one with hmor run")
    reader = _core.LiveReader(about["live"])
    with Telling(folder) as test, Screen(about, test.ask, lambda: Path(about["live"])) as screen:
        while not (now := reader.status)["ended"]:
            ticks = round(about["duration"] * about["rate"])
            state = STATES[now["state"]]
            screen.show(Status(now["tick"], ticks, now["missed"], state, now["lost"], False, now["test_tick"]))
            time.sleep(0.1)
