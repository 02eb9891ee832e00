"""Excitations that lead a model through its whole operating range, to learn its memory from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mor.data.ports import check_name
from mor.excitation.sampled import Excitation, sample_count
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

_AT_AN_EDGE = 0.15  # share of the levels that are the lower bound, and again that are the upper bound


@dataclass(frozen=True)
class Channel:
    """How one input may move: levels in [lower, upper], each change and each hold as long as drawn here.

    A change from level to level lasts between `fastest` and `slowest` seconds, a hold up to `longest_hold`, both drawn
    evenly on a logarithmic scale, so that steps, quick and slow ramps all occur. `rest` is where the input starts,
    where a share `at_rest` of its levels is, and to which a share `near_rest` is drawn close, for models that behave
    in a way of their own there (a gap to close, friction that sets in). `ripple` is the largest amplitude of three
    sines of `ripple_band` Hz laid over it.

    Parameters
    ----------
    name, unit
        Name and unit of the input.
    """

    name: str
    lower: float
    upper: float
    unit: str = ""
    fastest: float = 0.02
    slowest: float = 8.0
    longest_hold: float = 3.0
    rest: float = 0.0
    at_rest: float = 0.1
    near_rest: float = 0.0
    ripple: float = 0.0
    ripple_band: tuple[float, float] = (0.3, 12.0)

    def __post_init__(self) -> None:
        check_name(self.name, "a channel")
        problems = []
        if not self.lower < self.upper:
            problems.append(f"lower must be below upper, got [{self.lower:g}, {self.upper:g}].")
        elif not self.lower <= self.rest <= self.upper:
            problems.append(f"rest must lie in [{self.lower:g}, {self.upper:g}], got {self.rest:g}.")
        if not 0.0 < self.fastest <= self.slowest:
            problems.append(f"0 < fastest <= slowest must hold, got {self.fastest:g} and {self.slowest:g} s.")
        if not self.longest_hold >= self.fastest:
            problems.append(f"longest_hold must be at least fastest = {self.fastest:g} s, got {self.longest_hold:g} s.")
        if self.ripple < 0.0 or not 0.0 < self.ripple_band[0] <= self.ripple_band[1]:
            problems.append(f"ripple and its band must be positive, got {self.ripple:g} and {self.ripple_band} Hz.")
        if problems:
            raise ConfigError.from_problems(
                f"Channel '{self.name}'", [f"Channel '{self.name}': {problem}" for problem in problems]
            )


def operating_range(channels: Sequence[Channel], *, duration: float, rate: float, seed: int) -> dict[str, Excitation]:
    """Draw one excitation a channel, independent of each other, that starts at rest; another seed gives another run.

    Levels are drawn evenly over the range and often enough on its very edges, so that a model fitted to the answers
    knows them. Nothing of a test scenario goes in: only ranges and times are given.

    Parameters
    ----------
    channels
        The inputs.
    duration, rate
        Length in s, samples per s.
    """
    names = [channel.name for channel in channels]
    if len(set(names)) != len(names):
        raise ConfigError(f"Channels of operating_range must have different names, got {', '.join(names)}.")
    count = sample_count(duration, rate)
    time = np.arange(count) / rate
    out = {}
    for i, channel in enumerate(channels):
        values = _channel(channel, time, np.random.default_rng([seed, i]))
        out[channel.name] = Excitation(values, 1.0 / rate, channel.unit, channel.name)
    return out


def _channel(channel: Channel, time: Array, rng: np.random.Generator) -> Array:
    times, levels = [0.0], [channel.rest]
    while times[-1] <= time[-1]:
        level = _level(channel, rng)
        change = _between(channel.fastest, channel.slowest, rng)
        hold = _between(channel.fastest, channel.longest_hold, rng)
        times += [times[-1] + change, times[-1] + change + hold]
        levels += [level, level]
    values = np.interp(time, times, levels)
    if channel.ripple > 0.0:
        span = channel.upper - channel.lower
        away = np.minimum(np.abs(values - channel.rest) / (0.05 * span), 1.0)  # no ripple at rest
        for _ in range(3):
            frequency = _between(*channel.ripple_band, rng)
            phase, amplitude = rng.uniform(0.0, 2.0 * np.pi), rng.uniform(0.0, channel.ripple / 3.0)
            values = values + away * amplitude * np.sin(2.0 * np.pi * frequency * time + phase)
    return np.clip(values, channel.lower, channel.upper)


def _level(channel: Channel, rng: np.random.Generator) -> float:
    draw = rng.uniform()
    if draw < _AT_AN_EDGE:
        return channel.lower
    if draw < 2.0 * _AT_AN_EDGE:
        return channel.upper
    if draw < 2.0 * _AT_AN_EDGE + channel.at_rest:
        return channel.rest
    level = float(rng.uniform(channel.lower, channel.upper))
    if draw > 1.0 - channel.near_rest:
        level = channel.rest + (level - channel.rest) * rng.uniform() ** 2
    return level


def _between(low: float, high: float, rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
