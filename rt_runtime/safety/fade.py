"""Feedback that fades when a test comes to its end."""

from __future__ import annotations

from rt_runtime import _core
from rt_runtime.checks import positive, whole


class Fade(_core.Fade):
    """Multiply signals by 1 until the monitor ramps down or trips, then fade them to 0 in `duration` s.

    Inputs: the signals, monitor.state; outputs: the signals. It keeps a numerical part calm while a stop takes the
    specimen to rest and its force no longer belongs to the numerical motion.

    Parameters
    ----------
    channels
        Number of signals.
    duration
        Of the fade in s.
    dt
        Time between two ticks in s.
    """

    def __init__(self, channels: int, *, duration: float, dt: float) -> None:
        of = "Fade"
        ticks = max(1, round(positive(duration, "duration", of) / positive(dt, "dt", of)))
        super().__init__(whole(channels, "channels", of, 1), ticks)
