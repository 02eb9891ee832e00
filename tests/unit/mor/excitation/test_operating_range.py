"""Training excitations: they cover the range with its edges, at slow and quick speeds, and hold nothing of a scenario."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mor.excitation import Channel, operating_range
from rt_runtime.errors import ConfigError

FORCE = Channel("F_br", 0.0, 50.0, "N", fastest=0.03)
SPEED = Channel("w", 0.0, 49.0, "rad/s", fastest=1.5, slowest=12.0, ripple=1.5)


def runs(count: int = 8) -> list[dict[str, Any]]:
    return [operating_range([FORCE, SPEED], duration=60.0, rate=1000.0, seed=seed) for seed in range(count)]


def test_it_visits_the_whole_range_and_its_edges() -> None:
    force = np.concatenate([run["F_br"].values for run in runs()])
    speed = np.concatenate([run["w"].values for run in runs()])
    for values, channel in ((force, FORCE), (speed, SPEED)):
        assert values.min() == channel.lower and values.max() == channel.upper
    seen = np.histogram2d(force, speed, bins=(10, 10), range=((0, 50), (0, 49)))[0]
    assert np.mean(seen > 0) > 0.95


def test_it_holds_slow_and_quick_changes_and_starts_at_rest() -> None:
    rate = np.concatenate([np.diff(run["F_br"].values) * 1000.0 for run in runs()])
    moving = np.abs(rate[rate != 0.0])
    assert moving.min() < 5.0 and moving.max() > 500.0 and np.mean(rate == 0.0) > 0.1
    assert all(run["F_br"].values[0] == 0.0 and run["w"].values[0] == 0.0 for run in runs())


def test_seeds_repeat_and_differ() -> None:
    a, b = (operating_range([FORCE], duration=5.0, rate=100.0, seed=3)["F_br"].values for _ in range(2))
    c = operating_range([FORCE], duration=5.0, rate=100.0, seed=4)["F_br"].values
    assert np.array_equal(a, b) and not np.array_equal(a, c)


def test_the_driving_scenario_is_not_in_it() -> None:
    """No 12 s stretch of any run comes near the braking of the scenario (ramp to 50 N, hold, ramp down)."""
    t = np.arange(0.0, 17.0, 0.01)
    scenario = np.interp(t, [0.0, 5.0, 12.0, 17.0], [0.0, 50.0, 50.0, 0.0])
    for run in runs():
        force = run["F_br"].values[::10]
        windows = np.lib.stride_tricks.sliding_window_view(force, len(t))
        error = np.sqrt(np.mean((windows - scenario) ** 2, axis=1)) / np.sqrt(np.mean(scenario**2))
        assert error.min() > 0.1


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"lower": 60.0}, r"Channel 'F_br': lower must be below upper, got \[60, 50\]"),
        ({"rest": -1.0}, r"Channel 'F_br': rest must lie in \[0, 50\], got -1"),
        ({"fastest": 0.0}, "Channel 'F_br': 0 < fastest <= slowest must hold, got 0 and 8 s"),
        ({"longest_hold": 0.001}, "Channel 'F_br': longest_hold must be at least fastest = 0.02 s, got 0.001 s"),
        ({"ripple": -1.0}, "Channel 'F_br': ripple and its band must be positive, got -1"),
    ],
)
def test_sentences(change: dict[str, float], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Channel(**{"name": "F_br", "lower": 0.0, "upper": 50.0, **change})


def test_names_must_differ() -> None:
    with pytest.raises(ConfigError, match="Channels of operating_range must have different names, got F_br, F_br"):
        operating_range([FORCE, FORCE], duration=1.0, rate=100.0, seed=0)
