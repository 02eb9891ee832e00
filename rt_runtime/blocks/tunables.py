"""Numbers of a test that its operator may change while it runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rt_runtime import _core
from rt_runtime.checks import positive
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class Tunable:
    """A signal with a number that the operator may change within [lower, upper], no faster than `rate` per s.

    Parameters
    ----------
    name, unit
        Of the signal, which the blocks of the test read.
    value
        At the start.
    lower, upper, rate
        What the operator may do.
    """

    name: str
    value: float
    lower: float
    upper: float
    rate: float
    unit: str = ""

    def __post_init__(self) -> None:
        if not (self.lower <= self.value <= self.upper and math.isfinite(self.upper - self.lower)):
            raise ConfigError(
                f"value of tunable '{self.name}' must lie between lower and upper, got {self.value:g} with "
                f"[{self.lower:g}, {self.upper:g}]."
            )
        positive(self.rate, "rate", f"tunable '{self.name}'")


class Tunables(_core.Tunables):
    """Tunables as a block, which gets the operator's orders from the host. Outputs: the numbers.

    Parameters
    ----------
    tunables
        In the order of the outputs.
    dt
        Time between two ticks, in s.
    """

    def __init__(self, tunables: Sequence[Tunable], *, dt: float) -> None:
        if not tunables:
            raise ConfigError("tunables of Tunables must name at least one, got none.")
        rows = np.array([[t.value, t.lower, t.upper, t.rate] for t in tunables], dtype=float)
        super().__init__(rows, positive(dt, "dt", "Tunables"))
