"""Errors of a part as the structure that swings on it feels them.

Under a mass M a part with the force F(x) moves by M x'' + C x' + F = p. A force that is wrong by e moves it by

    M d'' + C d' + k d = -e,    k = dF/dx along the run,

to first order. Errors that the structure does not feel, far from its frequency, leave d small; a slope that is a little
wrong sends a ringing structure out of phase, and d grows. So after the fit of the forces a fit of d over the size of x
follows. The mass is the one that would swing as the run does, and the damping a small share of critical:

    M = rms(F) rms(x) / rms(x')^2,    C = 2 zeta rms(F) / rms(x')

A k that changes with the swing can feed it, and d grows without end: no run weighs more than ten typical ones.
Time cancels: samples are counted, and d comes from central differences,

    M (d_{i+1} - 2 d_i + d_{i-1}) + C (d_{i+1} - d_{i-1}) / 2 + k_i d_i = -e_i,    d_0 = d_1 = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mor.data.dataset import Dataset
from mor.reduced.history import MemorySpec, split_runs
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError
from training.fit import Rows
from training.trainers.scaled import Scaled, to_unit

ZETA = 0.02
_SAMPLES = 40  # of a swing that are kept, where the run has more
_STILL = 1e-3  # way between two samples, over the largest |x|, that gives a slope
_SHORTEST = 10  # samples of a run that is taken
_MOST = 10.0  # motion of a run, over the median of all, that counts
_SLACK = 1e-6  # change of the force, over half of its range, below which a run has no mass that would swing as it does


@dataclass(frozen=True)
class Swing:
    """One run: features X (n, n_in) and force Y (n, 1) in the units of the network, and the equation of d.

    `after`, `middle` (n,) and `before` are the factors of d_{i+1}, d_i and d_{i-1}.
    """

    X: Array
    Y: Array
    after: float
    middle: Array
    before: float

    @classmethod
    def of(cls, x: Array, F: Array, X: Array, Y: Array, force: float) -> Self:
        """Make the equation of a run.

        Parameters
        ----------
        x, F : displacement and force (n,).
        X, Y : as above.
        force : N of a unit of Y.
        """
        size_F, size_v, unit = _rms(F - F.mean()), _rms(np.gradient(x)), _rms(x) / force
        M, C = size_F * _rms(x - x.mean()) / size_v**2, 2 * ZETA * size_F / size_v
        k = np.minimum(slopes(x, F), 2 * M)
        return cls(X, Y, unit * (M + C / 2), unit * (k - 2 * M), unit * (M - C / 2))

    def weighing(self, weight: float) -> Self:
        """Return it with the square of d multiplied by `weight`."""
        unit = 1.0 / math.sqrt(weight)
        return replace(self, after=unit * self.after, middle=unit * self.middle, before=unit * self.before)

    def moved(self, errors: Array) -> Array:
        """Return d over the rms of x (n - 2, ...) of force errors (n, ...)."""
        d = np.zeros_like(errors)
        for i in range(1, len(errors) - 1):
            d[i + 1] = (errors[i] + self.middle[i] * d[i] + self.before * d[i - 1]) / -self.after
        return d[2:]


@dataclass(frozen=True)
class Swinging:
    """The least-squares problem of forces at rows and of the motion of swings, which weigh `weight`."""

    rows: Rows
    swings: tuple[Swing, ...]
    weight: float

    @property
    def n_residuals(self) -> int:
        """Rows and motions."""
        return self.rows.n_residuals + sum(len(swing.Y) - 2 for swing in self.swings)

    def motions(self, theta: Array) -> list[float]:
        """Return the sum of squares of each motion."""
        layout = self.rows.layout
        return [float(np.sum(s.moved(layout.forward(theta, s.X) - s.Y) ** 2)) for s in self.swings]

    def error(self, theta: Array) -> float:
        """Return the sum of squared residuals."""
        with np.errstate(over="ignore", invalid="ignore"):
            value = self.rows.error(theta) + self.weight * sum(self.motions(theta))
        return value if math.isfinite(value) else math.inf

    def normal(self, theta: Array) -> tuple[float, Array, Array]:
        """Return (sum of squared residuals, J'J, J'r)."""
        error, JJ, Jr = self.rows.normal(theta)
        for swing in self.swings:
            y, J, _ = self.rows.layout.linearise(theta, swing.X)
            J, r = swing.moved(J[:, 0]), swing.moved(y - swing.Y)[:, 0]
            error += self.weight * float(r @ r)
            JJ += self.weight * (J.T @ J)
            Jr += self.weight * (J.T @ r)
        return error, JJ, Jr


def check_swings(memory: MemorySpec) -> None:
    """Refuse a part that is not one force over one displacement."""
    if len(memory.signals) != 1 or len(memory.outputs) != 1 or memory.feedback or memory.input_lags:
        raise ConfigError(
            "swing of a fit with memory must be 0 unless one displacement goes in, one force comes out, and operators "
            "alone remember."
        )


def swinging(
    rows: Rows, theta: Array, memory: MemorySpec, train: Dataset, data: Scaled, *, instants: int, seed: int
) -> Swinging:
    """Return the problem of `rows` with runs of `train` drawn until `instants` are taken; both weigh alike at `theta`.

    Parameters
    ----------
    rows : the problem of the forces.
    theta : weights of the network fitted to them.
    memory : one displacement in, one force out, nothing that comes back.
    train : the runs.
    data : scales of features and forces.
    instants, seed : how many samples in all, and of the draw.
    """
    found: list[Swing] = []
    taken, force = 0, 0.5 * float(data.range[1][0] - data.range[0][0])
    runs = split_runs(train)
    for i in np.random.default_rng([seed, 1]).permutation(len(runs)).tolist():
        x, F = runs[i].X[:, 0], runs[i].Y[:, 0]
        if taken >= instants or len(x) < _SHORTEST or not np.ptp(F) > _SLACK * force:
            continue
        size = _rms(np.gradient(x))
        if not size > 0.0:
            continue
        thin = max(1, int(2 * math.pi * _rms(x - x.mean()) / size / _SAMPLES))
        x, F = x[::thin], F[::thin]
        X = memory.rows(runs[i].X, runs[i].Y, np.arange(0, len(runs[i].X), thin))[0]
        if len(x) >= _SHORTEST and np.ptp(F) > _SLACK * force:
            scaled = to_unit(np.clip(X, *data.domain), *data.domain), to_unit(F[:, None], *data.range)
            found.append(Swing.of(x, F, *scaled, force))
            taken += len(x)
    if not found:
        raise ConfigError(
            "train of a fit with memory and swing must have a run in which displacement and force change, of at least "
            f"{_SHORTEST} samples, got none; leave swing at 0."
        )
    motions = np.maximum(Swinging(rows, tuple(found), 1.0).motions(theta), 1e-300)
    counted = np.minimum(motions, _MOST * np.median(motions))
    pairs = zip(found, (counted / motions).tolist(), strict=True)
    swings = tuple(swing.weighing(weight) for swing, weight in pairs if weight > 0.0)
    return Swinging(rows, swings, rows.error(theta) / float(counted.sum()))


def _rms(values: Array) -> float:
    return math.sqrt(float(np.mean(values**2)))


def slopes(x: Array, F: Array) -> Array:
    """Return dF/dx (n,) along a run, not negative; where x stands still, the one before."""
    dx, dF = np.gradient(x), np.gradient(F)
    moves = np.abs(dx) > _STILL * np.abs(x).max()
    k = np.divide(dF, dx, out=np.zeros_like(dx), where=moves)
    last = np.maximum.accumulate(np.where(moves, np.arange(len(x)), int(np.argmax(moves))))
    return np.maximum(k[last], 0.0)
