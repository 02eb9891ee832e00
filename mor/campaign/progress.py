"""Tell the user how a campaign is doing: a bar with rate and time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

QUIET = 30.0  # seconds between lines when standard error is no terminal
REFRESH = 0.1


class Progress:
    """Show done, failed, rate and time left on standard error; without threads, so that workers can be forked."""

    def __init__(self, name: str, total: int, already: int, *, show: bool | None) -> None:
        self._name, self._total, self._done, self._failed = name, total, already, 0
        self._already, self._start, self._shown = already, time.monotonic(), time.monotonic()
        self._live = show or (show is None and sys.stderr.isatty())
        self._quiet = show is False
        self._bar: Any = None

    def __enter__(self) -> Self:
        if self._live:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[more]}"),
            )
            self._bar = Bar(*columns, TimeElapsedColumn(), console=Console(stderr=True), auto_refresh=False)
            self._bar.start()
            self._task = self._bar.add_task(self._name, total=self._total, completed=self._done, more="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._draw()
            self._bar.stop()

    def add(self, done: int, failed: int) -> None:
        """Count samples that ended, and how many of them failed."""
        self._done += done
        self._failed += failed
        now = time.monotonic()
        if self._bar is not None:
            if now - self._shown >= REFRESH:
                self._shown = now
                self._draw()
        elif not self._quiet and now - self._shown >= QUIET:
            self._shown = now
            print(f"{self._name}: {self._done} of {self._total}, {self.state()}", file=sys.stderr, flush=True)

    def state(self) -> str:
        """Return failed, rate and time left as text."""
        rate = (self._done - self._already) / max(time.monotonic() - self._start, 1e-9)
        left = (self._total - self._done) / rate if rate > 0 else float("inf")
        failed = f"{self._failed} failed, " if self._failed else ""
        pace = f"{rate:.3g}/s" if rate >= 1 else f"{1 / rate:.3g} s each" if rate else "-"
        return f"{failed}{pace}, {duration(left)} left"

    def _draw(self) -> None:
        self._bar.update(self._task, completed=self._done, more=self.state(), refresh=True)


def duration(seconds: float) -> str:
    """Write a duration in the largest fitting units, e.g. 1 h 05 min."""
    if seconds == float("inf"):
        return "?"
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 60} min {whole % 60:02d} s" if whole >= 60 else f"{whole} s"
