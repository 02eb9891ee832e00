"""A progress bar on standard error, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Update = Callable[[float, str], None]


@contextmanager
def bar(shown: bool, total: float, label: str) -> Iterator[Update]:
    """Yield `update(done, text)`; the bar stands on standard error while the block runs."""
    if not shown:
        yield lambda done, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[text]}"))
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(label, total=total, text="")
        yield lambda done, text: progress.update(task, completed=done, text=text)
