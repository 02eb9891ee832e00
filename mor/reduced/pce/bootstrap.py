"""How sure a fitted expansion is of its moments and Sobol' indices: the bootstrap with the terms held."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mor.data.dataset import Dataset
from mor.reduced.pce.model import Pce
from rt_runtime.checks import Array, whole
from rt_runtime.errors import ConfigError


@dataclass(frozen=True)
class Interval:
    """Lower and upper end of an interval, arrays of one shape."""

    lower: Array
    upper: Array


@dataclass(frozen=True)
class Bootstrap:
    """Intervals of mean and variance (outputs,), of first-order and total Sobol' indices (outputs, inputs)."""

    mean: Interval
    variance: Interval
    sobol_first: Interval
    sobol_total: Interval
    models: tuple[Pce, ...]

    def predict(self, X: Array, *, level: float = 0.95) -> Interval:
        """Return the interval of the predictions at rows X (n, inputs), each end (n, outputs)."""
        return _interval([model.predict(X) for model in self.models], level)


def bootstrap(model: Pce, data: Dataset, *, replicates: int = 100, level: float = 0.95, seed: int) -> Bootstrap:
    """Refit the coefficients of `model` to rows of `data` drawn with replacement, `replicates` times.

    data: what the model was fitted to. level: probability inside the
    intervals. The terms are kept (Marelli, Sudret 2018); where they are too many for least squares, each coefficient
    has its own size as prior deviation.

    Parameters
    ----------
    seed
        Seed of the draws.
    """
    whole(replicates, "replicates", "bootstrap", 2)
    if not 0.0 < level < 1.0:
        raise ConfigError(f"level of bootstrap must lie between 0 and 1, got {level!r}.")
    if tuple(data.inputs) != model.inputs or tuple(data.outputs) != model.outputs:
        raise ConfigError("Data of bootstrap must have the inputs and outputs of the model it was fitted to.")
    A, rng = model.basis(data.X), np.random.default_rng(seed)
    n, constant = len(data), ~model.indices.any(axis=1)
    models = []
    for _ in range(replicates):
        rows = rng.integers(0, n, n)
        C = np.zeros_like(model.coefficients)
        for o in range(C.shape[1]):
            used = np.flatnonzero((model.coefficients[:, o] != 0.0) | constant)
            C[used, o] = _refit(A[np.ix_(rows, used)], data.Y[rows, o], model.coefficients[used, o], model.loo[o])
        models.append(replace(model, coefficients=C))
    parts = ("mean", "variance", "sobol_first", "sobol_total")
    found = {name: [_value(m, name) for m in models] for name in parts}
    return Bootstrap(**{name: _interval(values, level) for name, values in found.items()}, models=tuple(models))


def _refit(A: Array, y: Array, size: Array, loo: float) -> Array:
    """Least squares of y (n,) on A (n, terms), or the posterior mean under coefficients of the given size."""
    if A.shape[1] <= 0.5 * len(np.unique(A, axis=0)):
        return np.asarray(np.linalg.lstsq(A, y, rcond=None)[0], dtype=np.float64)
    noise = max(loo, 1e-10) * float(np.var(y))
    spread = np.abs(size) + 1e-3 * float(np.std(y))
    scaled = A * spread
    K = scaled @ scaled.T
    K.flat[:: len(y) + 1] += noise
    correction: Array = spread * (scaled.T @ np.linalg.solve(K, y - A @ size))
    return size + correction


def _value(model: Pce, name: str) -> Array:
    value: Array = getattr(model, name) if name in ("mean", "variance") else getattr(model, name)()
    return value


def _interval(values: list[Array], level: float) -> Interval:
    lower, upper = np.quantile(np.stack(values), [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return Interval(lower, upper)
