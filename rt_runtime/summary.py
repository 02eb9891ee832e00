"""One screen of text, or a small HTML table in a notebook, for things that hold too much to print whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from rt_runtime.checks import Array

ROWS = 20


@dataclass(frozen=True)
class Summary:
    """A title, a table and lines below it.

    Parameters
    ----------
    title
        What it is, in one line.
    head, rows
        The table; more than twenty rows are cut, and it says so.
    lines
        What else there is to say.
    """

    title: str
    head: tuple[str, ...] = ()
    rows: Sequence[tuple[str, ...]] = ()
    lines: Sequence[str] = ()

    @property
    def _below(self) -> list[str]:
        more = [f"... and {len(self.rows) - ROWS} more"] if len(self.rows) > ROWS else []
        return [*more, *self.lines]

    def text(self) -> str:
        """Return plain text, columns two spaces apart."""
        rows = [self.head, *self.rows[:ROWS]] if self.rows else []
        widths = [max(len(row[i]) for row in rows) for i in range(len(self.head))] if rows else []
        table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([self.title, *table, *self._below])

    def html(self) -> str:
        """Return HTML for a notebook; every text is escaped."""

        def line(cells: Sequence[str], tag: str) -> str:
            return "<tr>" + "".join(f'<{tag} style="text-align:left">{escape(c)}</{tag}>' for c in cells) + "</tr>"

        table = ""
        if self.rows:
            body = "".join(line(row, "td") for row in self.rows[:ROWS])
            table = f"<table><thead>{line(self.head, 'th')}</thead><tbody>{body}</tbody></table>"
        below = "".join(f"<div>{escape(text)}</div>" for text in self._below)
        return f"<div><strong>{escape(self.title)}</strong>{table}{below}</div>"


def min_max_last(column: Array) -> list[str]:
    """Return smallest, largest and last value of a column as text; dashes where there is none."""
    seen = column[np.isfinite(column)]
    return [f"{v:.6g}" for v in (seen.min(), seen.max(), column[-1])] if len(seen) else ["-"] * 3


class Summarised:
    """What prints as its summary, and shows it as a table in a notebook."""

    def _summary(self) -> Summary:
        raise NotImplementedError

    def __str__(self) -> str:
        return self._summary().text()

    def _repr_html_(self) -> str:
        return self._summary().html()
