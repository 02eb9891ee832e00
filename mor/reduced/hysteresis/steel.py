"""Reinforcing bars as memory: the steel of Giuffre, Menegotto and Pinto in the bars of a section that bends.

A bar at the place k of a section sees the strain (over its yield strain) of the displacement x that bends it,

    e = (k x + lift |x|) / length,

k = 1 for the outermost bar, -1 for the one opposite; `lift` is the stretch of the axis that comes with bending once the
concrete has cracked. Its stress, hardening left out, runs from the point (e_r, q_r) of the last reversal to d = +-1,

    q = q_r + (e - e_r) (1 + r^R)^(-1/R),  r = (e - e_r) / w,  w = d - q_r,

the rounder the farther the bar has yielded: R = 18 (1 - 0.925 xi / (0.15 + xi)), xi = |e_far - e_r - w|, with e_far the
farthest strain reached in the direction d before, at least 1. Its constants are those recommended for Steel02.
Plays and stops come back to the old curve after a small reversal; this law, and the fibre sections made of it, do not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from mor.data.ports import Port, check_name
from mor.reduced.hysteresis.operators import STEEL, Operator, Primitive
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

R0, R1, CURVED = 18.0, 16.65, 0.15
"""R = R0 - R1 xi / (CURVED + xi)."""
LEAST_W, MOST_LOG = 1e-9, 80.0
"""The smallest |w|, and the largest log(r^R): they keep quotient and power finite."""


@dataclass(frozen=True)
class MenegottoPinto(Operator):
    """Stresses of reinforcing bars, each between -1 and 1; see the module.

    Parameters
    ----------
    of
        The signal, a displacement that bends the section (or stretches a single bar: places (1,), lift 0).
    places
        Where the bars stand across the section, from 1 to -1, none nearer to the middle than the lift: their strain
        turns where the signal does and nowhere else, at every sampling rate.
    lift
        Stretch of the axis as a share of the bending strain at the outermost bar.
    length
        Displacement at which bending alone makes the outermost bar yield, in the unit of the signal; left out, 0.14 of
        the largest excursion of the data.
    threshold
        A reversal counts once the signal has come back by twice this much (bars follow a play of the signal of this
        radius), so that noise does not count; left out, `share` of the largest excursion of the data.
    share
        See `threshold`.
    """

    kind: ClassVar[str] = "menegotto_pinto"
    places: tuple[float, ...] = (1.0, -1.0, 0.7, -0.7, 0.4, -0.4)
    lift: float = 0.4
    length: float | None = None
    threshold: float | None = None
    share: float = 5e-4

    def __post_init__(self) -> None:
        check_name(self.of, "a signal of an operator")
        object.__setattr__(self, "places", tuple(float(k) for k in self.places))
        if not 0.0 <= self.lift < 1.0:
            raise ConfigError(f"lift of the bars of '{self.of}' must lie in [0, 1), got {self.lift!r}.")
        if not self.places or not all(max(self.lift, 1e-3) <= abs(k) <= 1.0 for k in self.places):
            raise ConfigError(
                f"places of the bars of '{self.of}' must lie between its lift {self.lift:g} and 1 on either side, got "
                f"{list(self.places)}."
            )
        for name, value in (("length", self.length), ("threshold", self.threshold), ("share", self.share)):
            if value is not None and not (math.isfinite(value) and value > 0.0):
                raise ConfigError(f"{name} of the bars of '{self.of}' must be positive, got {value!r}.")

    def resolved(self, runs: Sequence[Array]) -> Self:
        """Return it with length and threshold."""
        if self.length is not None and self.threshold is not None:
            return self
        largest = max(float(np.abs(u).max()) for u in runs)
        if not largest > 0.0:
            raise ConfigError(f"Signal '{self.of}' must move in the training runs to choose the length of bars.")
        return replace(self, length=self.length or 0.14 * largest, threshold=self.threshold or self.share * largest)

    def primitives(self, column: Mapping[str, int], dt: float | None) -> list[Primitive]:
        """One row a bar with the strains of x = 1 and of x = -1, turned, and the threshold."""
        assert self.length is not None and self.threshold is not None
        what = (
            f"play of {self.of} with radius {self.threshold:.6g}",
            "direction of the strain",
            "strain at the last reversal",
            "stress at the last reversal",
            "stress",
            "largest strain at a reversal",
            "smallest strain at a reversal",
        )
        rows = []
        for k in self.places:
            numbers = ((k + self.lift) / self.length, (k - self.lift) / self.length, self.threshold)
            meaning = (what[0], *(f"{text} of the bar at {k:.6g}" for text in what[1:]))
            rows.append(Primitive(STEEL, column[self.of], 0, numbers, len(what), 1, meaning))
        return rows

    def ports(self, unit: Mapping[str, str]) -> list[Port]:
        """x_bar1, x_bar2, ..."""
        return [Port(f"{self.of}_bar{i}") for i in range(1, len(self.places) + 1)]
