"""Fit the coefficients of a PCE with memory to whole free runs.

In free run the features depend on what the model said before, so the output depends on the coefficients c twice,

    y_k = C psi(x_k),   x_k = x(u_k, s_{k-1}),   s_k = s(s_{k-1}, u_k, y_k)     s: lagged outputs and filter states
    dy_k/dc = psi(x_k) + C dpsi/dx ds_{k-1}/dc,   ds_k/dc from the same recursion

and Gauss-Newton steps with Levenberg's damping on the error of whole runs use exactly that slope. Behind a gate y_k is
multiplied by its share c(x_k), which depends on the coefficients through x_k in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from mor.dataset import Dataset
from mor.history import History, split_runs
from mor.memory import gate_numbers
from mor.memory_limits import Limits
from mor.pce import Pce
from mor.reduced import Array

_KEPT = 20_000  # instants of all runs together that enter the least-squares problem
_STEPS = 250_000  # instants that are run through for one slope: as many whole runs as they hold, at least one
_DAMPING = 1e-8
_FEWEST_STEPS = 6  # attempts at a smaller step before giving up


def refined(history: History, step: Pce, limits: Limits, train: Dataset, *, iterations: int) -> Pce:
    """Return `step` with coefficients that fit the free runs of `train` better than its own, if any do."""
    problem = _FreeRuns(history, step, limits, train)
    C = step.coefficients.copy()
    error, gradient, hessian = problem(C)
    damping = _DAMPING
    for _ in range(iterations):
        improved = False
        for _ in range(_FEWEST_STEPS):
            scaled = hessian + damping * np.diag(np.diag(hessian) + 1e-12 * np.trace(hessian) / len(hessian))
            move = np.linalg.solve(scaled, -gradient)
            trial = C + move.reshape(C.T.shape).T
            found = problem.error(trial)
            if np.isfinite(found) and found < error:
                improved = found < (1.0 - 1e-4) * error
                C, (error, gradient, hessian) = trial, problem(trial)
                damping = max(damping / 10.0, 1e-14)
                break
            damping *= 30.0
        if not improved:
            break
    return replace(step, coefficients=C)


def drive_names(history: History) -> list[str]:
    """Name what drives each filter: a target of the fit where it must be learned, else a signal or an output."""
    drives = iter(history.sources)
    return [
        next(drives).name if learned else f.of.strip()
        for f, learned in zip(history.filters, history.learned, strict=True)
    ]


class _FreeRuns:
    """Squared error of all free runs as a function of the coefficients, with slope and Gauss-Newton matrix."""

    def __init__(self, history: History, step: Pce, limits: Limits, train: Dataset) -> None:
        self.step, self.limits = step, limits
        self.n_y = len(history.outputs)
        runs = split_runs(train)
        enough = int(np.searchsorted(np.cumsum([len(r) for r in runs]), _STEPS, side="right"))
        self.runs = [
            (np.ascontiguousarray(r.X), np.ascontiguousarray(r.Y[:, : self.n_y])) for r in runs[: max(enough, 1)]
        ]
        steps = sum(len(u) for u, _ in self.runs)
        self.every = max(1, steps // _KEPT)
        targets = [p.name for p in step.outputs]
        signals = [p.name for p in history.signals]
        # What drives each filter: column of the targets, or (beyond them) of the signals.
        self.driver = np.array(
            [targets.index(s) if s in targets else len(targets) + signals.index(s) for s in drive_names(history)],
            dtype=np.int64,
        )
        self.poles = history.poles
        self.lags = history.input_lags, history.output_lags
        self.gate = gate_numbers(history.memory_gate, step.inputs, history.outputs)
        variance = np.var(train.Y[:, : self.n_y], axis=0)
        self.weight = 1.0 / (np.where(variance > 0.0, variance, 1.0) * steps)

    def __call__(self, C: Array) -> tuple[float, Array, Array]:
        """Return error, gradient (n,) and Gauss-Newton matrix (n, n) for coefficients C (terms, targets), by target."""
        size = C.size
        gradient, hessian, error = np.zeros(size), np.zeros((size, size)), 0.0
        for u, y in self.runs:
            residual, slope = self._run(C, u, y, size)
            for o in range(self.n_y):
                J, weight = slope[:, o], self.weight[o] * self.every
                error += weight * float(residual[:, o] @ residual[:, o])
                gradient += weight * (J.T @ residual[:, o])
                hessian += weight * (J.T @ J)
        return error, gradient, hessian

    def error(self, C: Array) -> float:
        """Return the error alone, which costs far less than its slope."""
        found = [self._run(C, u, y, 0)[0] for u, y in self.runs]
        return float(sum(self.every * np.sum(self.weight * residual**2) for residual in found))

    def _run(self, C: Array, u: Array, y: Array, size: int) -> tuple[Array, Array]:
        """Run freely over one run: residuals (n, outputs) and their slopes (n, outputs, size), size 0 for none."""
        s, kept = self.step, len(range(0, len(u), self.every))
        residual, slope = np.empty((kept, self.n_y)), np.empty((kept, self.n_y, size))
        _kernel()(
            u, y, np.ascontiguousarray(C), s.indices, s.location, s.scale, s.recurrence, *self.limits.features,
            *self.limits.outputs, self.driver, self.poles, *self.lags, self.n_y, self.every, *self.gate,
            residual, slope,
        )  # fmt: skip
        return residual, slope


@cache
def _kernel() -> Callable[..., None]:
    from numba import njit

    return njit(cache=True)(_free_run)  # type: ignore[no-any-return]


def _free_run(  # type: ignore[no-untyped-def]
    u, y, C, indices, location, scale, recurrence, x_low, x_high, y_low, y_high, driver, poles, n_ulag, n_ylag, n_y,
    every, gate, gated, residual, slope,
):  # fmt: skip
    """Run freely; keep each `every`-th residual (n, n_y) and its slope (n, n_y, targets * terms or 0 for none)."""
    n_u, (terms, targets), n_z = u.shape[1], C.shape, poles.size
    n_x, size, degree = indices.shape[1], slope.shape[2], recurrence.shape[1]
    first_y, first_z = n_u * (1 + n_ulag), n_u * (1 + n_ulag) + n_y * n_ylag
    x, inside, free = np.zeros(n_x), np.zeros(n_x), np.zeros(n_x)
    dx = np.zeros((n_x, size))  # rows of inputs stay zero
    psi, dpsi = np.ones((n_x, degree + 1)), np.zeros((n_x, degree + 1))
    value, out = np.empty(terms), np.empty(targets)
    partial, dout = np.empty((targets, n_x)), np.empty((targets, size))
    z = np.zeros(n_z)
    for k in range(u.shape[0]):
        for i in range(n_u):
            x[i] = u[k, i]
        for i in range(n_x):
            inside[i] = min(max(x[i], x_low[i]), x_high[i])
            free[i] = 1.0 if inside[i] == x[i] else 0.0
            t = (inside[i] - location[i]) / scale[i]
            for d in range(degree):
                a, b, c = recurrence[i, d, 0], recurrence[i, d, 1], recurrence[i, d, 2]
                psi[i, d + 1] = (a * t + b) * psi[i, d]
                dpsi[i, d + 1] = (a * t + b) * dpsi[i, d] + a * psi[i, d]
                if d > 0:
                    psi[i, d + 1] -= c * psi[i, d - 1]
                    dpsi[i, d + 1] -= c * dpsi[i, d - 1]
        out[:] = 0.0
        partial[:, :] = 0.0
        for n in range(terms):
            product = 1.0
            for i in range(n_x):
                product *= psi[i, indices[n, i]]
            value[n] = product
            for o in range(targets):
                out[o] += C[n, o] * product
            for i in range(first_y, n_x):
                if size > 0 and indices[n, i] > 0:
                    rest = dpsi[i, indices[n, i]] / scale[i] * free[i]
                    for j in range(n_x):
                        if j != i:
                            rest *= psi[j, indices[n, j]]
                    for o in range(targets):
                        partial[o, i] += C[n, o] * rest
        dout[:, :] = 0.0
        for o in range(targets):
            for i in range(first_y, n_x):
                if partial[o, i] != 0.0:
                    for s in range(size):
                        dout[o, s] += partial[o, i] * dx[i, s]
            if size > 0:
                for n in range(terms):
                    dout[o, o * terms + n] += value[n]
            if o < n_y:
                bounded = min(max(out[o], y_low[o]), y_high[o])
                if bounded != out[o]:
                    dout[o, :] = 0.0
                if gated[o]:
                    at = int(gate[0])
                    c = min(max((x[at] - gate[1]) / (gate[2] - gate[1]), 0.0), 1.0)
                    fading = bounded / (gate[2] - gate[1]) if 0.0 < c < 1.0 else 0.0
                    for s in range(size):
                        dout[o, s] = c * dout[o, s] + fading * dx[at, s]
                    bounded *= c
                out[o] = bounded
        if k % every == 0:
            for o in range(n_y):
                residual[k // every, o] = out[o] - y[k, o]
                slope[k // every, o, :] = dout[o]
        for j in range(n_z):
            source = driver[j]
            drive = out[source] if source < targets else u[k, source - targets]
            new = poles[j] * z[j] + (1.0 - poles[j]) * drive
            z[j] = min(max(new, y_low[n_y + j]), y_high[n_y + j])
            row = first_z + j
            for s in range(size):
                dx[row, s] *= poles[j]
                if source < targets:
                    dx[row, s] += (1.0 - poles[j]) * dout[source, s]
            if z[j] != new:
                dx[row, :] = 0.0
            x[row] = z[j]
        for i in range(first_z - 1, first_y + n_y - 1, -1):
            x[i] = x[i - n_y]
            dx[i, :] = dx[i - n_y]
        if n_ylag > 0:
            for o in range(n_y):
                x[first_y + o] = out[o]
                dx[first_y + o, :] = dout[o]
        for i in range(first_y - 1, n_u - 1, -1):
            x[i] = x[i - n_u]
