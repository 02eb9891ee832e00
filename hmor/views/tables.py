"""Results of steps as tables on the terminal, or as one JSON object."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

READABLE = 20
"""Letters of a word or number that are not broken; a path may go on below."""


def show(step: str, result: Mapping[str, Any], *, as_json: bool, leave_out: tuple[str, ...] = ()) -> None:
    """Print a result: one JSON object, or tables of its values; long lists are left to --json."""
    if as_json:
        print(json.dumps(result, indent=2))
        return
    from rich.console import Console

    console = Console()
    for title, table in _tables(step, _without(result, leave_out)):
        console.print(title, style="bold")
        console.print(table)


def print_whole(table: Table) -> None:
    """Print a table in which no word and no number is broken or cut, if need be wider than the terminal."""
    from rich.console import Console

    console = Console()
    needed = console.measure(table, options=console.options.update(width=10_000)).minimum
    Console(width=max(console.width, needed)).print(table)


def _without(result: Any, names: tuple[str, ...]) -> Any:
    if not isinstance(result, Mapping):
        return result
    return {key: _without(value, names) for key, value in result.items() if key not in names}


def _tables(title: str, result: Mapping[str, Any]) -> Iterator[tuple[str, Table]]:
    """Lay a nested result out: its plain values first, then a grid for each part that has the same values of many."""
    lists = {k: v for k, v in result.items() if isinstance(v, list) and v and isinstance(v[0], dict)}
    result = {key: value for key, value in result.items() if key not in lists and value not in ([], {}, None)}
    plain = {key: value for key, value in result.items() if not isinstance(value, dict)}
    if plain:
        yield title, _table([], [[key, value] for key, value in plain.items()])
    for key, rows in lists.items():
        yield f"{title}, {key}", _table(list(rows[0])[1:], [list(row.values()) for row in rows])
    parts = {key: value for key, value in result.items() if isinstance(value, dict)}
    if parts and all(not isinstance(value, dict) for part in parts.values() for value in part.values()):
        names = list(dict.fromkeys(name for part in parts.values() for name in part))
        if len(names) > len(parts):  # the longer side goes down
            for some in _side_by_side(parts, max(map(len, names))):
                rows = [[name, *(parts[key].get(name, "") for key in some)] for name in names]
                yield title, _table(some, rows)
        else:
            rows = [[key, *(part.get(name, "") for name in names)] for key, part in parts.items()]
            yield title, _table(names, rows)
    else:
        for key, part in parts.items():
            yield from _tables(f"{title}, {key}", part)


def _side_by_side(parts: Mapping[str, Mapping[str, Any]], first: int) -> Iterator[list[str]]:
    """Deal parts to tables in which as many columns stand as the terminal has room for; texts beyond READABLE fold."""
    from rich.console import Console

    room = Console().width
    some: list[str] = []
    used = first + 2
    for key, part in parts.items():
        width = 2 + max(len(key), *(min(len(_text(value)), READABLE) for value in part.values()))
        if some and used + width > room:
            yield some
            some, used = [], first + 2
        some.append(key)
        used += width
    yield some


def _table(columns: list[str], rows: list[list[Any]]) -> Table:
    """Return a table whose first column names its rows; what is too wide goes on below, nothing is cut."""
    from rich.box import SIMPLE
    from rich.table import Column, Table

    heads = [Column(name, overflow="fold") for name in ("", *columns)] if columns else []
    table = Table(*heads, show_header=bool(columns), box=SIMPLE, padding=(0, 1, 0, 0))
    for row in rows:
        table.add_row(*(_text(value) for value in row))
    return table


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000.0 else f"{value:.0f}"
    if isinstance(value, list) and len(value) > 6:
        return f"{len(value)} entries"
    return str(value)
