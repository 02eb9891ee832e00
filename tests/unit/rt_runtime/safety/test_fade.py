"""Feedback fades once the monitor ends a test, and stays away."""

from __future__ import annotations

import numpy as np
import pytest

from rt_runtime import ConfigError, Fade


def test_feedback_fades_smoothly_when_the_monitor_ends_the_test() -> None:
    fade = Fade(2, duration=0.01, dt=1e-3)
    states = [2.0, 3.0, 4.0, 5.0] + [5.0] * 8 + [0.0, 3.0]
    got = np.array([fade.step(0.0, np.array([2.0, -1.0, state])) for state in states])
    r = np.clip(np.arange(-2, 12) / 10, 0, 1)
    share = 1 - 3 * r**2 + 2 * r**3
    assert np.allclose(got, np.outer(share, [2.0, -1.0]), atol=1e-15)
    assert fade.step(0.0, np.array([np.nan, 1.0, 5.0])).tolist() == [0.0, 0.0]
    fade.reset()
    assert fade.step(0.0, np.array([1.0, 1.0, 3.0])).tolist() == [1.0, 1.0]


def test_arguments_are_checked() -> None:
    with pytest.raises(ConfigError, match="channels of Fade must be a whole number of at least 1"):
        Fade(0, duration=1.0, dt=1e-3)
    with pytest.raises(ConfigError, match="duration of Fade must be a positive number"):
        Fade(1, duration=0.0, dt=1e-3)
