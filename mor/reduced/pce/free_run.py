"""Fit the coefficients of a PCE with memory to whole free runs.

In free run the features depend on what the model said before, so the output depends on the coefficients c twice,

    y_k = C psi(x_k),   x_k = x(u_k, s_{k-1}),   s_k = s(s_{k-1}, u_k, y_k)     s: lagged outputs and filter states
    dy_k/dc = psi(x_k) + C dpsi/dx ds_{k-1}/dc,   ds_k/dc from the same recursion

and Gauss-Newton steps with Levenberg's damping on the error of whole runs use exactly that slope. Behind a gate y_k is
multiplied by its share c(x_k), which depends on the coefficients through x_k in the same way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mor.data.dataset import Dataset
from mor.reduced.gate import gate_numbers
from mor.reduced.history import MemorySpec, split_runs
from mor.reduced.pce.model import Pce
from mor.reduced.ranges import Limits
from rt_runtime.checks import Array

_KEPT = 20_000  # instants of all runs together that enter the least-squares problem
_STEPS = 250_000  # instants that are run through for one slope: as many whole runs as they hold, at least one
_DAMPING = 1e-8
_FEWEST_STEPS = 6  # attempts at a smaller step before giving up


def refined(history: MemorySpec, step: Pce, limits: Limits, train: Dataset, *, iterations: int) -> Pce:
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


def drive_names(history: MemorySpec) -> list[str]:
    """Name what drives each filter: a target of the fit where it must be learned, else a signal or an output."""
    drives = iter(history.sources)
    return [
        next(drives).name if learned else f.of.strip()
        for f, learned in zip(history.filters, history.learned, strict=True)
    ]


class _FreeRuns:
    """Squared error of all free runs as a function of the coefficients, with slope and Gauss-Newton matrix."""

    def __init__(self, history: MemorySpec, step: Pce, limits: Limits, train: Dataset) -> None:
        self.step, self.limits = step, limits
        self.n_y = len(history.outputs)
        runs = split_runs(train)
        enough = int(np.searchsorted(np.cumsum([len(r) for r in runs]), _STEPS, side="right"))
        self.runs = [
            (
                np.ascontiguousarray(history.rows(r.X, r.Y, np.arange(len(r.X)))[0][:, : history.n_exogenous]),
                np.ascontiguousarray(r.Y[:, : self.n_y]),
            )
            for r in runs[: max(enough, 1)]
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
        self.lags = history.output_lags
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
        from mor.reduced.pce.free_run_slope import free_run

        s, kept = self.step, len(range(0, len(u), self.every))
        residual, slope = np.empty((kept, self.n_y)), np.empty((kept, self.n_y, size))
        free_run(
            u, y, np.ascontiguousarray(C), (s.indices, s.location, s.scale, s.recurrence),
            (*self.limits.features, *self.limits.outputs), (self.driver, self.poles), self.lags, self.gate,
            self.every, residual, slope,
        )  # fmt: skip
        return residual, slope
