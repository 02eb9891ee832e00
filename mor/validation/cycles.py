"""Is a model of hysteresis passive? Energy of sampled closed cycles, and of its skeleton whether it is monotone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mor.reduced.base import ReducedModel
from rt_runtime.checks import Array, whole
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class Cycles:
    """What `closed_cycles` found: for each cycle its amplitude and the energy over it, in units of force times length.

    `energy` is the work done on the model over one closed cycle; a passive one never gives any (energy >= 0).
    `monotone` says whether the force never falls while the displacement grows from rest to the edge of the domain, on
    both sides; `dip` is the largest fall relative to the largest force.

    Parameters
    ----------
    scale
        Largest force times largest displacement of each cycle, to compare `energy` with.
    """

    amplitude: Array
    energy: Array
    scale: Array
    monotone: bool
    dip: float

    @property
    def passive(self) -> bool:
        """True when no sampled cycle gave energy beyond rounding (1e-9 of force times way)."""
        return bool(np.all(self.energy >= -1e-9 * self.scale))

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain values, ready for JSON."""
        share = self.energy / self.scale
        return {
            "cycles": len(self.energy),
            "passive": self.passive,
            "negative": int(np.sum(self.energy < -1e-9 * self.scale)),
            "smallest_energy_share": float(share.min()),
            "median_energy_share": float(np.median(share)),
            "monotone_skeleton": self.monotone,
            "largest_dip": self.dip,
        }

    def __str__(self) -> str:
        said = self.to_dict()
        found = "passive in all" if self.passive else f"gives energy in {said['negative']}"
        skeleton = "monotone" if self.monotone else f"not monotone (falls by {100 * self.dip:.2g} % of the peak)"
        return f"{found} of {len(self.energy)} sampled closed cycles; skeleton {skeleton}"


def closed_cycles(
    model: ReducedModel,
    *,
    displacement: str | None = None,
    velocity: str | None = None,
    force: str | None = None,
    count: int = 50,
    seed: int = 0,
    period: float = 1.0,
    steps: int = 400,
) -> Cycles:
    """Drive a model through random closed cycles after random pasts and integrate force over displacement.

    Parameters
    ----------
    displacement, velocity, force
        Names of the signals; the first input, none and the first output when left out. Other inputs rest at zero.
    count, seed
        Number of cycles and how they are drawn: centre and amplitude within the domain, each walked three times after a
        random past; the last one counts.
    period, steps
        Seconds and instants of a cycle (a model with `dt` takes its own step).
    """
    whole(count, "count", "closed_cycles", 1)
    names, outputs = [p.name for p in model.inputs], [p.name for p in model.outputs]
    x, f = displacement or names[0], force or outputs[0]
    for name, known in ((x, names), (f, outputs), *([(velocity, names)] if velocity else [])):
        if name not in known:
            raise ConfigError(f"Signal '{name}' of closed_cycles must be one of {', '.join(known)}.")
    at, out = names.index(x), outputs.index(f)
    low, high = (float(b[at]) for b in model.domain)
    n = steps if model.dt is None else max(20, round(period / model.dt))
    dt = period / n
    rng = np.random.default_rng(seed)

    def force_over(path: Array) -> Array:
        u = np.zeros((len(path), len(names)))
        u[:, at] = path
        if velocity:
            u[:, names.index(velocity)] = np.gradient(path, dt)
        return model.rollout(u)[:, out]

    amplitude, energy, scale = np.empty(count), np.empty(count), np.empty(count)
    turn = np.sin(2.0 * np.pi * np.arange(n + 1) / n)
    for i in range(count):
        reach = rng.uniform(0.05, 1.0) * 0.5 * (high - low)
        centre = rng.uniform(low + reach, high - reach) if high - low > 2.0 * reach else 0.5 * (low + high)
        knots = np.concatenate([[0.0], rng.uniform(low, high, 6), [centre]])
        past = np.interp(np.linspace(0.0, 7.0, 7 * n // 2), np.arange(8.0), knots)
        path = np.concatenate([past, *[centre + reach * turn[1:]] * 3])
        y = force_over(path)
        xs, ys = path[-n - 1 :], y[-n - 1 :]
        amplitude[i], energy[i] = reach, float(np.trapezoid(ys, xs))
        scale[i] = max(float(np.abs(ys).max() * np.sum(np.abs(np.diff(xs)))), 1e-300)
    dips = []
    for end in (low, high):
        y = np.sign(end) * force_over(np.linspace(0.0, end, 4 * n))
        dips.append(float(np.max(np.maximum.accumulate(y) - y)) / max(float(np.abs(y).max()), 1e-300) if end else 0.0)
    return Cycles(amplitude, energy, scale, max(dips) <= 1e-9, max(dips))
