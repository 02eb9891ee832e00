"""The free run of a network with memory as a least-squares problem: its own outputs come back, errors and all.

For segments of the training trajectories, each started from the true past, step k computes

    t_k = net(phi_k),   phi_k = (u_k, u_{k-1}.., y_{k-1}.., z_{k-1}),   z_k = a z_{k-1} + (1 - a) v_k

and the residuals are t_k minus the data over the whole segment. The derivatives run along (forward sensitivities):
dt_k/dtheta = J_theta + J_phi dphi_k/dtheta, and dphi_{k+1}/dtheta follows from it by the same recursion. Behind a gate
the outputs among t_k are multiplied by its share of phi_k, in physical units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mor.data.dataset import Dataset
from mor.reduced.history import MemorySpec, split_runs
from rt_runtime.checks import Array
from training.trainers.network import Layout
from training.trainers.scaled import Scaled, to_unit

_RUNAWAY = 50.0  # scaled outputs beyond this have left the data for good


@dataclass(frozen=True)
class ScaledGate:
    """A gate in scaled units: c = clip(gain phi_j + start, 0, 1) with j = `column`, t = c (net + zero) - zero for the
    first targets; `zero` (n_y,) is where they vanish, with its sign turned."""

    column: int
    gain: float
    start: float
    zero: Array

    def share(self, phi: Array) -> Array:
        """Return c (n, 1) of features phi (n, n_phi)."""
        c: Array = np.clip(self.gain * phi[:, self.column] + self.start, 0.0, 1.0)[:, None]
        return c

    def values(self, phi: Array, t: Array) -> Array:
        """Return t (n, n_t) behind the gate."""
        n_y = self.zero.size
        return np.hstack([self.share(phi) * (t[:, :n_y] + self.zero) - self.zero, t[:, n_y:]])

    def slopes(self, phi: Array, t: Array, J: Array, J_phi: Array) -> None:
        """Turn the slopes of t by theta and phi, (n, n_t, ...), into those behind the gate."""
        n_y, c = self.zero.size, self.share(phi)
        J[:, :n_y] *= c[:, :, None]
        J_phi[:, :n_y] *= c[:, :, None]
        J_phi[:, :n_y, self.column] += np.where((c > 0.0) & (c < 1.0), self.gain * (t[:, :n_y] + self.zero), 0.0)


@dataclass(frozen=True)
class FreeRun:
    """n segments in scaled units: U (steps, n, now and lagged inputs), T (steps, n, targets), `first` state (n, n_s).

    The state follows s' = shift s + drive t + outer u + offset (see `Recursion`).
    """

    layout: Layout
    U: Array
    T: Array
    first: Array
    shift: Array
    drive: Array
    outer: Array
    offset: Array
    gate: ScaledGate | None = None

    @property
    def n_residuals(self) -> int:
        """Steps times segments times targets."""
        return self.T.size

    def error(self, theta: Array) -> float:
        """Return the sum of squared residuals of the free run; inf when it runs away."""
        s, total = self.first, 0.0
        for u, target in zip(self.U, self.T, strict=True):
            phi = np.hstack([u, s])
            t = self.layout.forward(theta, phi)
            if not np.abs(t).max() < _RUNAWAY:
                return math.inf
            t = t if self.gate is None else self.gate.values(phi, t)
            total += float(np.sum((t - target) ** 2))
            s = self._next(u, s, t)
        return total

    def normal(self, theta: Array) -> tuple[float, Array, Array]:
        """Return (sum of squared residuals, J'J, J'r) of the free run."""
        size, n = self.layout.size, self.first.shape[0]
        total, JJ, Jr = 0.0, np.zeros((size, size)), np.zeros(size)
        s, S = self.first, np.zeros((n, self.first.shape[1], size))
        n_u = self.U.shape[2]
        for u, target in zip(self.U, self.T, strict=True):
            phi = np.hstack([u, s])
            t, J, J_phi = self.layout.linearise(theta, phi)
            if self.gate is not None:
                self.gate.slopes(phi, t, J, J_phi)
                t = self.gate.values(phi, t)
            J += J_phi[:, :, n_u:] @ S
            r = (t - target).ravel()
            flat = J.reshape(-1, size)
            total += float(r @ r)
            JJ += flat.T @ flat
            Jr += flat.T @ r
            s = self._next(u, s, t)
            S = self.shift @ S + self.drive @ J
        return total, JJ, Jr

    def _next(self, u: Array, s: Array, t: Array) -> Array:
        out: Array = s @ self.shift.T + t @ self.drive.T + u @ self.outer.T + self.offset
        return out


@dataclass(frozen=True)
class Recursion:
    """How the remembered features follow from features and targets of a step, in scaled units of `data`.

    s' = shift s + drive t + outer u + offset, s = (y lags, z), u = (u, u lags).
    """

    history: MemorySpec
    data: Scaled

    @cached_property
    def matrices(self) -> tuple[Array, Array, Array, Array]:
        """Return shift, drive, outer and offset."""
        h = self.history
        n_u = h.n_exogenous
        n_y, n_t = len(h.outputs), len(h.targets)
        n_lag = n_y * h.output_lags
        n_s = n_lag + len(h.filters)
        shift, drive, outer = np.zeros((n_s, n_s)), np.zeros((n_s, n_t)), np.zeros((n_s, n_u))
        for i in range(min(n_lag, n_y)):
            drive[i, i] = 1.0
        for i in range(n_y, n_lag):
            shift[i, i - n_y] = 1.0
        names_u = [p.name for p in h.signals]
        names_t = [p.name for p in h.targets]
        extra = n_y
        for j, (f, learned, a) in enumerate(zip(h.filters, h.learned, h.poles, strict=True)):
            row = n_lag + j
            shift[row, row] = a
            if learned:
                drive[row, extra] = 1.0 - a
                extra += 1
            elif f.of in names_u:
                outer[row, names_u.index(f.of)] = 1.0 - a
            else:
                drive[row, names_t.index(f.of)] = 1.0 - a
        lower, upper = self.data.domain
        low, high = self.data.range
        half_s, mid_s = 0.5 * (upper - lower)[n_u:], 0.5 * (upper + lower)[n_u:]
        half_u, mid_u = 0.5 * (upper - lower)[:n_u], 0.5 * (upper + lower)[:n_u]
        half_t, mid_t = 0.5 * (high - low), 0.5 * (high + low)
        offset = (shift @ mid_s + drive @ mid_t + outer @ mid_u - mid_s) / half_s
        return (
            shift * half_s / half_s[:, None],
            drive * half_t / half_s[:, None],
            outer * half_u / half_s[:, None],
            offset,
        )

    @property
    def gate(self) -> ScaledGate | None:
        """Return the gate of the history in scaled units."""
        gate = self.history.memory_gate
        if gate is None:
            return None
        j = gate.column(self.history.features)
        (lower, upper), (low, high) = self.data.domain, self.data.range
        half, middle = 0.5 * (upper[j] - lower[j]), 0.5 * (upper[j] + lower[j])
        n_y = len(self.history.outputs)
        zero = ((high + low) / (high - low))[:n_y]
        return ScaledGate(j, half / gate.width, (middle - gate.closed) / gate.width, zero)

    def segments(self, data: Dataset, layout: Layout, *, horizon: int, count: int, seed: int) -> FreeRun:
        """Draw `count` segments of `horizon` steps from the runs of `data`."""
        h, rng = self.history, np.random.default_rng([seed, 1])
        runs = split_runs(data)
        steps = min(horizon, min(len(run.X) for run in runs))
        room = np.array([len(run.X) - steps + 1 for run in runs])
        owner = np.sort(rng.choice(len(runs), count, p=room / room.sum()))
        phi, target = [], []
        for i, run in enumerate(runs):
            starts = rng.integers(0, room[i], int(np.sum(owner == i)))
            if len(starts) == 0:  # no segment was drawn from this run
                continue
            at = (starts[:, None] + np.arange(steps)).ravel()
            X, T = h.rows(run.X, run.Y, at)
            phi.append(X.reshape(len(starts), steps, -1))
            target.append(T.reshape(len(starts), steps, -1))
        features = np.moveaxis(to_unit(np.concatenate(phi), *self.data.domain), 1, 0)
        targets = np.moveaxis(to_unit(np.concatenate(target), *self.data.range), 1, 0)
        n_u = h.n_exogenous
        return FreeRun(
            layout, np.ascontiguousarray(features[:, :, :n_u]), np.ascontiguousarray(targets),
            np.ascontiguousarray(features[0, :, n_u:]), *self.matrices, self.gate,
        )  # fmt: skip
