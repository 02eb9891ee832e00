"""A page that needs nothing beside itself: headings, tables and pictures as one HTML text, light and dark."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = str | tuple[str, bool]
"""A cell of a table: a text, or a text and whether it is good."""

STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #55626f; --line: #d9dfe5; --page: #fff; --tint: #f3f5f7;
  --good: #14713d; --bad: #a3261c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ee; --soft: #a3afba; --line: #38424c; --page: #14191e;
  --tint: #222a32; --good: #5fd08d; --bad: #ff9389; } figure svg { filter: invert(1) hue-rotate(180deg); } }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.55 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: var(--ink);
  background: var(--page); }
main { max-width: 1040px; margin: 0 auto; padding: 40px 28px 80px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 6px; overflow-wrap: anywhere; }
h2 { font-size: 21px; margin: 44px 0 10px; padding-top: 14px; border-top: 1px solid var(--line); }
h3 { font-size: 17px; margin: 26px 0 6px; }
p { margin: 8px 0 14px; max-width: 78ch; overflow-wrap: anywhere; }
.lead { color: var(--soft); margin-top: 0; }
.note { border-left: 4px solid var(--line); padding: 6px 14px; }
.facts { display: flex; flex-wrap: wrap; gap: 12px; margin: 20px 0 8px; }
.fact { flex: 1 1 150px; border: 1px solid var(--line); border-radius: 8px; padding: 12px 16px; }
.fact b { display: block; font-size: 24px; font-weight: 650; line-height: 1.25; }
.fact span { color: var(--soft); font-size: 14px; }
.wide, figure > div { overflow-x: auto; }
table { border-collapse: collapse; margin: 12px 0 18px; font-size: 14.5px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 14px 5px 0; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { color: var(--soft); font-weight: 600; }
td.good { color: var(--good); } td.bad { color: var(--bad); }
table.words th, table.words td { text-align: left; white-space: normal; vertical-align: top; overflow-wrap: anywhere; }
table.words th { white-space: nowrap; } table.words td:first-child { min-width: 16ch; }
table.words td.good, table.words td.bad { white-space: nowrap; }
figure { margin: 16px 0 22px; }
figure svg { max-width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: 14px; margin-top: 4px; }
code { font: 13.5px ui-monospace, "SF Mono", Consolas, monospace; background: var(--tint); padding: 1px 5px; }
@media (max-width: 640px) { main { padding: 20px 16px 60px; } h1 { font-size: 24px; }
  figure svg.broad { max-width: none; width: 640px; } }
@page { margin: 16mm 14mm; }
@media print { :root { color-scheme: light; --ink: #000; --soft: #444; --line: #bbb; --page: #fff; --tint: #f3f5f7;
  --good: #14713d; --bad: #a3261c; } figure svg { filter: none; } body { font-size: 10.5pt; }
  main { padding: 0; max-width: none; } h2, h3 { break-after: avoid; } h2 { margin-top: 20px; }
  figure, tr, .fact { break-inside: avoid; } thead { display: table-header-group; }
  table { font-size: 9pt; } .wide, figure > div { overflow: visible; } .facts { break-inside: avoid; } }
"""
ICON = "data:image/svg+xml,%3Csvg/%3E"


class Page:
    """Collects the parts of a page in their order."""

    def __init__(self, title: str, lead: str) -> None:
        self._title = title
        self._parts = [f"<h1>{html.escape(title)}</h1>", f'<p class="lead">{html.escape(lead)}</p>']

    def heading(self, text: str, level: int = 2) -> None:
        """Start a section."""
        self._parts.append(f"<h{level}>{html.escape(text)}</h{level}>")

    def text(self, text: str, *, note: bool = False) -> None:
        """Add a paragraph; `code` between backticks is set as such."""
        pieces = html.escape(text).split("`")
        marked = "".join(f"<code>{piece}</code>" if i % 2 else piece for i, piece in enumerate(pieces))
        kind = ' class="note"' if note else ""
        self._parts.append(f"<p{kind}>{marked}</p>")

    def facts(self, facts: Sequence[tuple[str, str]]) -> None:
        """Add large numbers, each with what it is."""
        cells = "".join(
            f'<div class="fact"><b>{html.escape(value)}</b><span>{html.escape(what)}</span></div>'
            for value, what in facts
        )
        self._parts.append(f'<div class="facts">{cells}</div>')

    def table(self, head: Sequence[str], rows: Sequence[Sequence[Cell]], *, words: bool = False) -> None:
        """Add a table; a cell (text, good) is coloured. With `words` its cells hold sentences, which are wrapped."""
        top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        body = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
        kind = ' class="words"' if words else ""
        self._parts.append(
            f'<div class="wide"><table{kind}><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
        )

    def figure(self, figure: Figure, caption: str) -> None:
        """Add a picture as SVG inside the page; the caption is also its alternative text."""
        import matplotlib

        text = io.StringIO()
        with matplotlib.rc_context({"svg.fonttype": "none"}):
            figure.savefig(text, format="svg", transparent=True, dpi=110, metadata={"Date": None})
        drawn = text.getvalue()
        drawn = drawn[drawn.index("<svg") :]
        drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.S)  # names of foreign hosts
        words = html.escape(caption)
        broad = ' class="broad"' if figure.get_figwidth() > 6.0 else ""
        drawn = drawn.replace("<svg", f'<svg role="img" aria-label="{words}"{broad}', 1)
        self._parts.append(f"<figure><div>{drawn}</div><figcaption>{words}</figcaption></figure>")

    def __str__(self) -> str:
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><link rel="icon" href="{ICON}">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{html.escape(self._title)}</title>"
            f"<style>{STYLE}</style></head><body><main>\n" + "\n".join(self._parts) + "\n</main></body></html>\n"
        )


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return f"<td>{html.escape(cell)}</td>"
    text, good = cell
    return f'<td class="{"good" if good else "bad"}">{html.escape(text)}</td>'
