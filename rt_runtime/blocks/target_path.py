"""Follow targets that come from a slower program: predict, correct, slow down, hold."""

from __future__ import annotations

import math

from rt_runtime import _core
from rt_runtime.checks import positive, whole
from rt_runtime.errors import ConfigError


class TargetPath(_core.TargetPath):
    """A continuous command through targets that arrive now and then; what is computed stands in target_path.hpp.

    Inputs: measured position (n), measured force (n). Outputs: command (n), phase (0 hold, 1 correct, 2 settle, 3
    predict), number of targets reached. `targets.post(target)` sends one from another thread, `answers.read()` gives
    [number of the target, position (n), force (n)] once it is reached.

    Parameters
    ----------
    channels : number of commands n.
    step : time between two targets in s, when they come in time.
    dt : time between two ticks in s.
    predict : share of a step for which the command goes on ahead of the next target; it stops within as long again.
    tolerance : a target is reached when every position is this close to it.
    settle : s after which it counts as reached although the position is not.
    """

    def __init__(
        self,
        channels: int,
        *,
        step: float,
        dt: float,
        predict: float = 0.6,
        tolerance: float = math.inf,
        settle: float = 0.0,
    ) -> None:
        of = "TargetPath"
        n, period = whole(channels, "channels", of, 1), positive(dt, "dt", of)
        ticks = round(positive(step, "step", of) / period)
        if ticks < 5:
            raise ConfigError(f"step of {of} must be at least 5 ticks of {period:g} s, got {step:g} s.")
        if not 0.0 <= predict <= 1.0:
            raise ConfigError(f"predict of {of} must lie between 0 and 1, got {predict!r}.")
        if not tolerance >= 0.0:
            raise ConfigError(f"tolerance of {of} must not be negative, got {tolerance!r}.")
        if not 0.0 <= settle <= 3600.0:
            raise ConfigError(f"settle of {of} must lie between 0 and 3600 s, got {settle!r}.")
        self.channels, self.step_time = n, ticks * period
        self.targets, self.answers = _core.Mailbox(n), _core.Mailbox(2 * n + 1)
        super().__init__(self.targets, self.answers, ticks, predict, tolerance, round(settle / period), period)
