"""Durations of many steps counted in fixed bins, so that ten million of them fit in a small file and add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rt_runtime.checks import Array

WIDTH = 1.01
"""Ratio of the edges of a bin."""


@dataclass
class StepTimes:
    """How long steps took, in ns.

    Parameters
    ----------
    counts
        {bin: steps}; bin i holds durations from WIDTH**i up to WIDTH**(i + 1), what is shorter than 1 ns is in bin 0.
    total, most
        Sum of all durations and the longest.
    """

    counts: dict[int, int] = field(default_factory=dict)
    total: float = 0.0
    most: float = 0.0

    def add(self, ns: Array) -> None:
        """Count durations in ns."""
        bins = np.floor(np.log(np.maximum(ns, 1.0)) / np.log(WIDTH)).astype(int)
        for at, n in zip(*np.unique(bins, return_counts=True), strict=True):
            self.counts[int(at)] = self.counts.get(int(at), 0) + int(n)
        self.total += float(ns.sum())
        self.most = max(self.most, float(ns.max(initial=0.0)))

    @property
    def steps(self) -> int:
        """How many were counted."""
        return sum(self.counts.values())

    @property
    def mean(self) -> float:
        """Mean duration in ns; 0 of none."""
        return self.total / max(self.steps, 1)

    def percentile(self, percent: float) -> float:
        """Return the duration in ns that `percent` of the steps did not exceed, to the width of a bin; 0 of none."""
        needed, seen = percent / 100.0 * self.steps, 0
        for at in sorted(self.counts):
            seen += self.counts[at]
            if seen >= needed:
                return min(WIDTH ** (at + 1), self.most)
        return self.most

    def plain(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"counts": {str(at): n for at, n in self.counts.items()}, "total": self.total, "most": self.most}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> StepTimes:
        """Make it of what `plain` returned."""
        return cls({int(at): int(n) for at, n in plain["counts"].items()}, float(plain["total"]), float(plain["most"]))
