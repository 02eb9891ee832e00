"""Lying sensors on purpose: a rig in this process whose position and force pass through a lie before they are told.

Each lie is a function of the true position and force, both as arrays that hold the run so far; it begins at `onset` and
says what the loop hears. Sizes are parts of the largest position and force of the healthy run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hmor.rigs.catalogue import PhysicalSide
from rt_runtime import InProcessRig, PythonBlock
from rt_runtime.checks import Array


@dataclass
class Truth:
    """What the specimen did: true position and force of every tick, and the facts a lie may use."""

    x: list[float] = field(default_factory=list)
    f: list[float] = field(default_factory=list)
    start: int = 0
    rate: float = 1000.0
    largest: tuple[float, float] = (1.0, 1.0)
    noise: tuple[float, float] = (0.0, 0.0)
    draw: np.random.Generator = field(default_factory=np.random.default_rng)

    @property
    def since(self) -> float:
        """Time since the lie began, in s."""
        return (len(self.x) - 1 - self.start) / self.rate

    def late(self, delay: float) -> tuple[float, float]:
        """Return position and force of `delay` s ago, interpolated, with noise."""
        at = max(len(self.x) - 1 - delay * self.rate, 0.0)
        i = int(at)
        j, part = min(i + 1, len(self.x) - 1), at - i
        a, b = self.spread()
        return (1 - part) * self.x[i] + part * self.x[j] + a, (1 - part) * self.f[i] + part * self.f[j] + b

    def held(self) -> tuple[float, float]:
        """Return position and force at the onset."""
        return self.x[self.start], self.f[self.start]

    def spread(self) -> Array:
        """Draw the noise of the two sensors."""
        return self.draw.normal(size=2) * self.noise


Lie = Callable[[Truth, float, float], tuple[float, float]]


def _stuck(truth: Truth, x: float, f: float) -> tuple[float, float]:
    a, b = truth.spread()
    return truth.held()[0] + a, truth.held()[1] + b


def _quantised(truth: Truth, x: float, f: float) -> tuple[float, float]:
    p, q = 0.05 * truth.largest[0], 0.05 * truth.largest[1]
    return p * round(x / p), q * round(f / q)


def _spikes(truth: Truth, x: float, f: float) -> tuple[float, float]:
    hit = (len(truth.x) - truth.start) % round(0.25 * truth.rate) == 1
    return (x + 0.5 * truth.largest[0], f) if hit else (x, f)


def _saturated(truth: Truth, x: float, f: float) -> tuple[float, float]:
    most = 0.5 * truth.largest[1]
    return x, min(max(f, -most), most)


def _burst(truth: Truth, x: float, f: float) -> tuple[float, float]:
    a, b = truth.draw.normal(size=2) * 0.2 * np.array(truth.largest) * (truth.since < 0.2)
    return x + a, f + b


LIES: dict[str, Lie] = {
    "drift": lambda truth, x, f: (x + 0.2 * truth.largest[0] * truth.since, f),
    "sign flip": lambda truth, x, f: (x, -f),
    "stuck with noise": _stuck,
    "growing delay": lambda truth, x, f: truth.late(0.05 * truth.since),
    "unit error": lambda truth, x, f: (x, 1e-3 * f),
    "answers without motion": _stuck,
    "quantised": _quantised,
    "one-sample spikes": _spikes,
    "saturated force": _saturated,
    "doubled force": lambda truth, x, f: (x, 2.0 * f),
    "offset": lambda truth, x, f: (x + 0.2 * truth.largest[0], f),
    "swapped channels": lambda truth, x, f: (f, x),
    "slow clock": lambda truth, x, f: truth.late(0.02 * truth.since),
    "noise burst": _burst,
    "frozen force only": lambda truth, x, f: (x, truth.held()[1]),
    "frozen position only": lambda truth, x, f: (truth.held()[0], f),
}
"""The lies of a sensor; those of a network (duplicated datagrams, two rigs answering) are `rt_runtime.Faults`."""

NO_MOTION = ("answers without motion",)
"""Lies in which the specimen really stands still."""


def lying_rig(
    side: PhysicalSide,
    lie: str | None = None,
    *,
    onset: float = 0.0,
    largest: tuple[float, float] = (1.0, 1.0),
    noise: tuple[float, float] = (0.0, 0.0),
    seed: int = 0,
) -> tuple[InProcessRig, Truth]:
    """Return a rig in this process and its truth, which fills while the rig runs.

    Parameters
    ----------
    side
        The specimen, with measured position and force.
    lie
        One of `LIES`, or None for an honest rig.
    onset
        When the lie begins, in s.
    largest
        Largest position and force of the healthy run.
    noise
        Standard deviations that are added to both sensors.
    seed
        Of the noise.
    """
    loop, (position, force) = side.loop, side.measured
    truth = Truth(
        start=round(onset * loop.rate), rate=loop.rate, largest=largest, noise=noise, draw=np.random.default_rng(seed)
    )

    def told(t: float, u: Array) -> tuple[float, float]:
        x, f = float(u[0]), float(u[1])
        lying = lie is not None and len(truth.x) >= truth.start
        if lying and lie in NO_MOTION and truth.x:
            x, f = truth.x[-1], truth.f[-1]
        truth.x.append(x)
        truth.f.append(f)
        a, b = truth.spread()
        return LIES[lie](truth, x + a, f + b) if lying and lie is not None else (x + a, f + b)

    for name, unit in (("told_position", "m"), ("told_force", "N")):
        loop.signal(name, unit=unit)
    loop.add(
        "sensors", PythonBlock(told, n_in=2, n_out=2), inputs=[position, force], outputs=["told_position", "told_force"]
    )
    return InProcessRig(loop, side.commands, ("told_position", "told_force")), truth
