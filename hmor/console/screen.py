"""The desk as text in a terminal: state, rules with their margins, events, and keys for the orders."""

from __future__ import annotations

import contextlib
import select
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hmor.console.control import LIVE, Telling
from hmor.console.words import event_words, order_words
from rt_runtime import _core
from rt_runtime.engine.desk import LEGAL
from rt_runtime.engine.pacing import STATES, Status
from rt_runtime.files import read_json

if TYPE_CHECKING:
    from rich.console import RenderableType

KEYS = {"a": "arm", "s": "start", " ": "hold", "r": "resume", "q": "stop", "T": "trip"}
"""The key of each order; the space bar resumes a hold as well."""
BAR = 20
NO_SAFETY = "They are no safety function: the emergency stop is hardware."
STYLES = {"running": "bold cyan", "holding": "bold yellow", "tripped": "bold white on red", "armed": "bold magenta"}


def bar(used: float) -> str:
    """Draw the part of a margin that is used, 1 at the limit."""
    n = min(BAR, max(0, round(BAR * used)))
    return "#" * n + "." * (BAR - n)


def rule_rows(about: dict[str, Any], rules: list[list[Any]]) -> list[tuple[str, str, str, str, str]]:
    """Return name, value, limits, bar and action of each rule, the fullest first."""
    from hmor.console.sheet import share

    rows = []
    for rule, (value, least, most, lower, upper, acting) in zip(about["rules"], rules, strict=False):
        low = float("-inf") if lower is None else lower
        high = float("inf") if upper is None else upper
        now = 0.0 if value is None else share(value, value, low, high)
        peak = 0.0 if least is None or most is None else share(least, most, low, high)
        shown = "not a number" if value is None else f"{value:.4g}"
        limits = f"{'' if lower is None else f'{lower:g}'} .. {'' if upper is None else f'{upper:g}'}"
        mark = "  BROKEN" if acting else ""
        rows.append((peak, (rule["name"], shown, limits, f"{bar(now)} {100 * peak:3.0f} %{mark}", rule["action"])))
    return [row for _, row in sorted(rows, key=lambda item: -item[0])]


def layout(about: dict[str, Any], look: dict[str, Any], status: Status | None, *, rows: int = 12) -> RenderableType:
    """Return the whole view as something rich can print."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    state = look["state"]
    head = Text()
    head.append(f" {state.upper()} ", style=STYLES.get(state, "bold reverse"))
    if status is not None:
        t = max(0, status.test_tick + 1) / about["rate"]
        head.append(
            f"  test time {t:.2f} of {about['duration']:g} s  missed {status.missed}  frames lost {status.lost}"
        )
        if status.stopping:
            head.append("  stopping")
    if look.get("wake_us"):
        head.append(f"  wake p99 {look['wake_us']:.0f} us")
    parts: list[Any] = [head]
    if look.get("sheet") and state == "checked":
        sheet = Table("", "pre-test sheet", "", title_justify="left", box=None)
        for i, item in enumerate(look["sheet"]):
            mark = {"good": "ok", "bad": "BAD", "open": "..."}.get(
                item["result"], "x" if item["done"] else f"[{i + 1}]"
            )
            sheet.add_row(Text(mark), Text(item["what"]), Text(item["words"]))
        parts.append(sheet)
    table = Table("rule", "value", "limits", "margin used now and at most", "action", box=None)
    found = rule_rows(about, look["rules"])
    for row in found[:rows]:
        table.add_row(*(Text(cell) for cell in row))
    parts.append(table)
    if len(found) > rows:
        parts.append(Text(f"and {len(found) - rows} rules more"))
    told = [*(event_words(e, about) for e in look["events"]), *(order_words(o) for o in look["orders"])]
    parts += [Text(words) for _, words in sorted(told)[-6:]]
    keys = [f"{'space' if key == ' ' else key} {order}" for key, order in KEYS.items() if order in LEGAL[state]]
    parts.append(Text(f"keys: {', '.join([*keys, 'Ctrl-C soft stop'])}. {NO_SAFETY}"))
    return Group(*parts)


class Screen:
    """Shows the desk on standard error while a test runs, and takes its keys from the terminal.

    Parameters
    ----------
    about
        The test, as in live.json.
    ask
        Asks the control socket of the run: ask("hold", {"who": "keyboard"}).
    """

    def __init__(self, about: dict[str, Any], ask: Callable[..., dict[str, Any]]) -> None:
        self.about, self._ask = about, ask
        self._live: Any = None
        self._ending = threading.Event()
        self._state = "idle"

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
        self._live.update(layout(self.about, look, status))

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
        """Do what a key stands for: an order, or an item of the sheet to tick."""
        if key.isdigit():
            return self._ask("tick", {"item": int(key) - 1})
        order = "resume" if key == " " and self._state == "holding" else KEYS.get(key)
        return self._ask(order, {"who": "keyboard"}) if order else None


def watch(folder: Path) -> None:
    """Show the desk of a test of another process until it ends."""
    about = read_json(folder / LIVE, f"{LIVE} of {folder}, which must hold a running test", "start one with hmor run")
    reader = _core.LiveReader(about["live"])
    with Telling(folder) as test, Screen(about, test.ask) as screen:
        while not (now := reader.status)["ended"]:
            ticks = round(about["duration"] * about["rate"])
            state = STATES[now["state"]]
            screen.show(Status(now["tick"], ticks, now["missed"], state, now["lost"], False, now["test_tick"]))
            time.sleep(0.1)
