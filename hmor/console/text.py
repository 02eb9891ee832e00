"""The desk as text: state, lamps, values, rules with their margins, events; and how a test went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hmor.console.lamps import Extremes
from hmor.console.sheet import share
from hmor.console.words import interval, told
from rt_runtime.engine.desk import LEGAL
from rt_runtime.engine.pacing import Status

if TYPE_CHECKING:
    from rich.console import RenderableType

KEYS = {"a": "arm", "s": "start", " ": "hold", "r": "resume", "q": "stop", "T": "trip", "n": "note", "l": "limit"}
"""The key of each order; the space bar resumes a hold as well."""
BAR, VALUES = 20, 6
NO_SAFETY = "They are no safety function: the emergency stop is hardware."
STYLES = {
    "running": "bold white on blue",
    "holding": "bold black on yellow",
    "ramping": "bold black on yellow",
    "tripped": "bold white on red",
    "armed": "bold white on magenta",
}
LAMPS = {"good": ("●", "green"), "warn": ("▲", "yellow"), "bad": ("■", "bold red"), "off": ("○", "dim")}


@dataclass
class View:
    """What is drawn besides the test itself: lamps, extremes of the signals, and the line below."""

    lamps: Sequence[Sequence[str]] = ()
    seen: Extremes | None = None
    line: str = ""


def bar(used: float) -> str:
    """Draw the part of a margin that is used, 1 at the limit."""
    n = min(BAR, max(0, round(BAR * used)))
    return "#" * n + "." * (BAR - n)


def rule_rows(
    about: Mapping[str, Any], rules: Sequence[Sequence[Any]], seen: Extremes
) -> list[tuple[str, str, str, str, str]]:
    """Return name, value, limits, bar and action of each command, then of each rule, the fullest first."""
    commands = []
    for c in about.get("commands", ()):
        if c["name"] in seen:
            low, high = seen[c["name"]]
            used = bar(share(low, high, c["lower"], c["upper"]))
            commands.append((c["name"], f"{high:.4g}", interval(c["lower"], c["upper"]), used, "clip"))
    rows = []
    for rule, (value, least, most, lower, upper, acting) in zip(about["rules"], rules, strict=False):
        low = float("-inf") if lower is None else lower
        high = float("inf") if upper is None else upper
        now = 0.0 if value is None else share(value, value, low, high)
        peak = 0.0 if least is None or most is None else share(least, most, low, high)
        shown = "no number" if value is None else f"{value:.4g}"
        mark = "  BROKEN" if acting else ""
        text = f"{bar(now)} {100 * peak:3.0f} %{mark}"
        rows.append((acting, peak, (rule["name"], shown, interval(lower, upper), text, rule["action"])))
    return commands + [row for *_, row in sorted(rows, key=lambda item: (-item[0], -item[1]))]


def layout(
    about: Mapping[str, Any],
    look: Mapping[str, Any],
    status: Status | None,
    view: View | None = None,
    *,
    rows: int = 12,
) -> RenderableType:
    """Return the whole view as something rich can print."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    state, view = look["state"], view or View()
    seen = view.seen or {}
    head = Text()
    head.append(f" {state.upper()} ", style=STYLES.get(state, "bold reverse"))
    if status is not None:
        t = max(0, status.test_tick + 1) / about["rate"]
        head.append(f"  test time {t:.2f} of {about['duration']:g} s", style="bold")
        head.append("  stopping" if status.stopping else "")
        if not view.lamps:
            head.append(f"  missed {status.missed}  frames lost {status.lost}")
    for kind, words in view.lamps:
        sign, style = LAMPS[kind]
        head.append(f"   {sign} ", style=style)
        head.append(words, style="bold red" if kind == "bad" else "")
    parts: list[Any] = [head, Text()]
    if look.get("sheet") and state == "checked":
        parts.append(_sheet(look["sheet"]))
    own = [s for s in about["signals"] if not s.get("ours") and s["name"] in seen][:VALUES]
    if own:
        values = Table("signal", "from", "to", "", box=None, header_style="dim")
        for column in values.columns[1:3]:
            column.justify = "right"
        for s in own:
            values.add_row(Text(s["name"]), *(Text(f"{v:.4g}") for v in seen[s["name"]]), Text(s["unit"]))
        parts += [values, Text()]
    table = Table("rule", "value", "limit", "margin used now, at most", "action", box=None, header_style="dim")
    found = rule_rows(about, look["rules"], seen)
    for row in found[:rows]:
        table.add_row(*(Text(cell, style="bold red" if "BROKEN" in row[3] else "") for cell in row))
    parts.append(table)
    if len(found) > rows:
        parts.append(Text(f"and {len(found) - rows} rules more", style="dim"))
    happened = told(look["events"], look["orders"], about["rules"])
    parts += [Text(), *(Text(words, style="red" if broke else "") for _, _, words, broke in happened[-6:])]
    return Group(*parts, _foot(state, view.line, bool(look.get("sheet"))))


def _sheet(items: Sequence[Mapping[str, Any]]) -> Any:
    from rich.table import Table
    from rich.text import Text

    sheet = Table("", "pre-test sheet", "", box=None, header_style="dim")
    for i, item in enumerate(items):
        mark = {"good": "✓", "bad": "BAD", "open": "…"}.get(item["result"], "x" if item["done"] else f"[{i + 1}]")
        sheet.add_row(Text(mark, style="red" if mark == "BAD" else ""), Text(item["what"]), Text(item["words"]))
    return sheet


def _foot(state: str, line: str, sheet: bool) -> Any:
    """Return the line that is typed or answered, else the keys that are legal."""
    from rich.text import Text

    if line:
        return Text(line, style="bold")
    keys = [f"{'space' if key == ' ' else key} {order}" for key, order in KEYS.items() if order in LEGAL[state]]
    keys += ["k tick"] if sheet and state == "checked" else []
    return Text(f"keys: {', '.join([*keys, 'Ctrl-C soft stop'])}. {NO_SAFETY}", style="dim")


def result_view(
    ended: str, figures: Mapping[str, Any], peaks: Sequence[Sequence[Any]], events: Sequence[Sequence[Any]]
) -> RenderableType:
    """Return how a test went as something rich can print: why it ended, figures, peaks with units, events."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(ended), title_justify="left", title_style="bold", show_header=False)
    for name, value in figures.items():
        table.add_row(Text(name), Text(str(value)))
    shown = Table("signal", "min", "max", "unit", title="peaks", title_justify="left", box=None, header_style="dim")
    for name, low, high, unit in peaks:
        shown.add_row(Text(name), f"{low:.4g}", f"{high:.4g}", Text(unit))
    lines = [Text(words, style="red" if broke else "") for _, _, words, broke in events[-12:]]
    return Group(table, shown, *([Text("events", style="italic")] if lines else []), *lines)
