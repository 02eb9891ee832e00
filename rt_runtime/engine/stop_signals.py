"""Signals that would kill the process ask a running test for a soft stop instead."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class StopSignals:
    """While in use, SIGINT, SIGTERM, SIGHUP and SIGQUIT call `ask`; they end a start, before `ask` is set, by an error.

    Outside the main thread it does nothing, and a signal that the process ignores (nohup) stays ignored.
    """

    def __init__(self) -> None:
        self.ask: Callable[[], None] | None = None
        self._before: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | None] = {}

    def _heard(self, number: int, _: FrameType | None) -> None:
        if self.ask is None:  # nothing has moved yet
            raise KeyboardInterrupt(signal.Signals(number).name)
        self.ask()

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            for number in STOPPING:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):  # None: a handler that Python cannot restore
                    self._before[number] = signal.signal(number, self._heard)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
