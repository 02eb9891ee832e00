"""Learn the numbers of hysteresis operators together with the network behind them.

The features phi(rho) follow from the signals and from the numbers c = c_0 exp(rho) of the operators alone; nothing
comes back. So the fit stays a least-squares problem on rows, in theta = (weights, rho), and its Jacobian has columns

    d net / d rho_j = J_phi d phi / d rho_j,    d phi / d rho_j by central differences of the operators' own run.

Levenberg-Marquardt starts from a network fitted with c_0, and the prior of its Bayesian regularisation draws rho to 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mor.data.dataset import Dataset
from mor.reduced.history import MemorySpec, split_runs
from rt_runtime.checks import Array
from training.trainers.network import Layout
from training.trainers.scaled import Scaled, to_unit

_CHUNK = 20_000  # rows whose Jacobian is held at once
_STEP = 1e-4  # of rho, for the differences
_FAR = 4.0  # rho beyond this is more than fifty times as much or as little


def learns(memory: MemorySpec) -> bool:
    """True when some operator has numbers to learn."""
    return any(operator.learnable for operator in memory.operators)


def with_numbers(memory: MemorySpec, rho: Array) -> MemorySpec:
    """Return the memory with each learned number multiplied by exp(rho)."""
    operators, at = [], 0
    for operator in memory.operators:
        numbers = np.array(operator.learnable)
        moved = operator.moved((numbers * np.exp(rho[at : at + numbers.size])).tolist()) if numbers.size else operator
        operators.append(moved)
        at += numbers.size
    return replace(memory, operators=tuple(operators))


@dataclass(frozen=True)
class LearnedOperators:
    """Rows of the runs of `data` at the instants `chosen` (n,) of all rows, in the scaled units of `scaled`."""

    memory: MemorySpec
    layout: Layout
    data: Dataset
    chosen: NDArray[np.int64]
    scaled: Scaled

    @property
    def n_residuals(self) -> int:
        """Rows times outputs."""
        return self._targets.size

    @property
    def n_learned(self) -> int:
        """How many numbers of operators are learned."""
        return sum(len(operator.learnable) for operator in self.memory.operators)

    @cached_property
    def _signals(self) -> list[Array]:
        return [np.ascontiguousarray(run.X) for run in split_runs(self.data)]

    @cached_property
    def _targets(self) -> Array:
        outputs = self.data.Y[self.chosen][:, : len(self.memory.outputs)]
        return to_unit(outputs, *self.scaled.range)

    @cached_property
    def _first(self) -> int:
        return len(self.memory.signals) * (1 + self.memory.input_lags)

    @cached_property
    def _fixed(self) -> Array:
        """Scaled features (n, n_features) with the numbers at the start."""
        ends = np.cumsum([0, *(len(u) for u in self._signals)])
        parts = []
        for i, run in enumerate(split_runs(self.data)):
            mine = self.chosen[(self.chosen >= ends[i]) & (self.chosen < ends[i + 1])] - ends[i]
            parts.append(self.memory.rows(run.X, run.Y, mine)[0])
        return to_unit(np.concatenate(parts), *self.scaled.domain)

    def features(self, rho: Array) -> Array:
        """Return the scaled features (n, n_features) for numbers c_0 exp(rho)."""
        front = with_numbers(self.memory, rho).front
        phi = np.concatenate([front.run(u)[0] for u in self._signals])[self.chosen]
        X = self._fixed.copy()
        at = slice(self._first, self._first + phi.shape[1])
        lower, upper = (b[at] for b in self.scaled.domain)
        X[:, at] = to_unit(np.clip(phi, lower, upper), lower, upper)
        return X

    def error(self, theta: Array) -> float:
        """Return the sum of squared residuals; inf where a number is far from its start."""
        weights, rho = np.split(theta, [self.layout.size])
        if np.abs(rho).max(initial=0.0) > _FAR:
            return math.inf
        with np.errstate(over="ignore", invalid="ignore"):
            value = float(np.sum((self.layout.forward(weights, self.features(rho)) - self._targets) ** 2))
        return value if math.isfinite(value) else math.inf

    def normal(self, theta: Array) -> tuple[float, Array, Array]:
        """Return (sum of squared residuals, J'J, J'r)."""
        n, learned = self.layout.size, self.n_learned
        weights, rho = np.split(theta, [n])
        X = self.features(rho)
        moves = [self._slope(rho, j) for j in range(learned)]
        error, JJ, Jr = 0.0, np.zeros((n + learned, n + learned)), np.zeros(n + learned)
        for at in range(0, len(X), _CHUNK):
            part = slice(at, at + _CHUNK)
            y, J, J_phi = self.layout.linearise(weights, X[part])
            columns = [np.einsum("noi,ni->no", J_phi, move[part])[:, :, None] for move in moves]
            whole = np.concatenate([J, *columns], axis=2).reshape(-1, n + learned)
            r = (y - self._targets[part]).ravel()
            error += float(r @ r)
            JJ += whole.T @ whole
            Jr += whole.T @ r
        return error, JJ, Jr

    def _slope(self, rho: Array, j: int) -> Array:
        step = np.zeros_like(rho)
        step[j] = _STEP
        return (self.features(rho + step) - self.features(rho - step)) / (2.0 * _STEP)
