"""Signals that come from or go to a slower thread, through a mailbox in which nobody waits."""

from __future__ import annotations

from rt_runtime import _core
from rt_runtime.checks import positive, whole


class Received(_core.Received):
    """The newest message of another thread as n signals and its age in s (1e9 before the first).

    `box.post(numbers)` sends one.

    Parameters
    ----------
    n : how many numbers a message has.
    dt : time between two ticks in s.
    """

    def __init__(self, n: int, *, dt: float) -> None:
        self.box = _core.Mailbox(whole(n, "n", "Received", 1))
        super().__init__(self.box, positive(dt, "dt", "Received"))


class Posted(_core.Posted):
    """Signals for another thread, which reads the newest ones by `box.read()`.

    Parameters
    ----------
    n : how many signals.
    """

    def __init__(self, n: int) -> None:
        self.box = _core.Mailbox(whole(n, "n", "Posted", 1))
        super().__init__(self.box)
