"""Many inputs: Morris screening of a model, and HSIC and Borgonovo's delta of given data.

Screening is for finding the inputs that do not matter. Morris' elementary effects need (inputs + 1) runs a trajectory;
HSIC and delta work on any rows and see every kind of dependence, not only that in the variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mor.data.dataset import Dataset
from mor.sampling.space import ParameterSpace, text_table
from mor.uncertainty.evaluation import as_rows
from mor.uncertainty.sensitivity.indices import Estimate, output_names
from rt_runtime.checks import Array, whole
from rt_runtime.errors import ConfigError


@dataclass(frozen=True, eq=False)
class Screening:
    """Elementary effects (outputs, inputs) on the unit cube: mean of their size, mean, standard deviation.

    mean_size (mu*) near zero: no influence; std large beside it: nonlinear or interacting.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    mean_size: Estimate
    mean: Array
    std: Array
    evaluations: int

    def summary(self) -> str:
        """Return a table as text."""
        rows = [
            (output, name, f"{self.mean_size.value[o, i]:.4g}", f"{self.mean_size.half_width[o, i]:.1e}",
             f"{self.std[o, i]:.4g}")
            for o, output in enumerate(self.outputs)
            for i, name in enumerate(self.inputs)
        ]  # fmt: skip
        return text_table(("output", "input", "mu*", "+-", "sigma"), rows)


def morris(
    model: object, space: ParameterSpace, *, trajectories: int = 20, levels: int = 8, seed: int = 0
) -> Screening:
    """Screen the inputs of a model by elementary effects; trajectories (inputs + 1) evaluations.

    Parameters
    ----------
    model, space
        As in `mor.uncertainty.sensitivity.sampled_indices`.
    trajectories : int
        Random paths; each changes every input once, by levels / (2 (levels - 1)) of its range in probability.
    levels : int
        Even number of values of each input.
    seed : int
        Seed of the paths.
    """
    whole(trajectories, "trajectories", "morris", 2)
    if whole(levels, "levels", "morris", 2) % 2:
        raise ConfigError(f"levels of morris must be even, got {levels}.")
    rows = as_rows(model, space, "morris")
    rng, d, step = np.random.default_rng(seed), space.dimension, levels / (2.0 * (levels - 1))
    unit = np.empty((trajectories, d + 1, d))
    moved = np.empty((trajectories, d), dtype=np.int64)
    sign = np.empty((trajectories, d))
    for t in range(trajectories):
        x = rng.integers(0, levels // 2, d) / (levels - 1)
        up = rng.random(d) < 0.5
        x = np.where(up, x, x + step)
        unit[t, 0] = x
        for k, i in enumerate(rng.permutation(d)):
            x = x.copy()
            x[i] += step if up[i] else -step
            unit[t, k + 1], moved[t, k], sign[t, i] = x, i, 1.0 if up[i] else -1.0
    inside = 0.005 + 0.99 * unit.reshape(-1, d)  # unbounded laws have no quantiles 0 and 1
    Y = rows(space.from_unit(inside)).reshape(trajectories, d + 1, -1)
    effects = np.empty((trajectories, Y.shape[2], d))
    for t in range(trajectories):
        effects[t][:, moved[t]] = np.diff(Y[t], axis=0).T / step
    effects *= sign[:, None, :]
    return Screening(
        space.names, output_names(model, Y.shape[2]), Estimate.from_replicates(np.abs(effects)), effects.mean(axis=0),
        effects.std(axis=0, ddof=1), trajectories * (d + 1),
    )  # fmt: skip


def _check_rows(data: Dataset, of: str, least: int) -> None:
    """Refuse rows that say nothing on what depends on what."""
    if len(data) < least:
        raise ConfigError(f"Data of {of} must have at least {least} rows, got {len(data)}.")
    problems = []
    for port, column in zip((*data.inputs, *data.outputs), np.column_stack([data.X, data.Y]).T, strict=True):
        bad = int(np.count_nonzero(~np.isfinite(column)))
        if bad:
            problems.append(
                f"Column '{port.name}' of the data of {of} must be finite, got {bad} rows with NaN or infinity; leave "
                "them out."
            )
        elif np.ptp(column) == 0.0:
            problems.append(
                f"Column '{port.name}' of the data of {of} must vary, got {column[0]:g} in every row; leave it out."
            )
    if problems:
        raise ConfigError.from_problems(f"Data of {of}", problems)


def hsic(data: Dataset, *, permutations: int = 200, seed: int = 0) -> tuple[Array, Array]:
    """Return the normalised Hilbert-Schmidt independence criterion and its p-value, both (outputs, inputs).

    R^2 = HSIC(x, y) / sqrt(HSIC(x, x) HSIC(y, y)) with Gaussian kernels of width one standard deviation: 0 without
    dependence of any kind. The p-value is the share of shuffled outputs with a larger criterion (Da Veiga 2015).

    Parameters
    ----------
    data
        Rows of inputs and outputs.
    permutations, seed
        Shuffles for the p-value, and their seed.
    """
    whole(permutations, "permutations", "hsic", 10)
    _check_rows(data, "hsic", 10)
    rng = np.random.default_rng(seed)
    inputs, outputs = ([_features(v) for v in columns.T] for columns in (data.X, data.Y))
    value, larger = (np.zeros((len(outputs), len(inputs))) for _ in range(2))
    for o, B in enumerate(outputs):
        for i, A in enumerate(inputs):
            value[o, i] = _shared(A, B) / np.sqrt(max(_shared(A, A) * _shared(B, B), 1e-300))
    here = np.array([[_shared(A, B) for A in inputs] for B in outputs])
    for _ in range(permutations):
        order = rng.permutation(len(data))
        for o, B in enumerate(outputs):
            larger[o] += [_shared(A, B[order]) for A in inputs] >= here[o]
    return value, (1 + larger) / (1 + permutations)


def _shared(A: Array, B: Array) -> float:
    """Return sum (A A') o (B B') = |A' B|^2 of features (n, k): n^2 numbers are never there."""
    C = A.T @ B
    return float(np.vdot(C, C))


def _features(v: Array) -> Array:
    """Return A (n, k) with A A' = the centred Gaussian kernel of v (n,): its Cholesky factor with pivots.

    The kernel of one variable has about twenty eigenvalues above rounding, whatever n is.
    """
    z = (v - v.mean()) / max(float(v.std()), 1e-300)
    left, columns = np.ones(z.size), np.empty((0, z.size))
    while len(columns) < z.size and left.max() > 1e-10:
        k = int(np.argmax(left))
        new = (np.exp(-0.5 * (z - z[k]) ** 2) - columns[:, k] @ columns) / np.sqrt(left[k])
        columns, left = np.vstack([columns, new]), left - new**2
    centred: Array = (columns - columns.mean(axis=1, keepdims=True)).T
    return centred


def borgonovo(data: Dataset, *, classes: int | None = None, replicates: int = 100, seed: int = 0) -> Estimate:
    """Return Borgonovo's delta (outputs, inputs) of given data: half the mean L1 distance of densities given x_i.

    The rows are cut into `classes` of equal number by x_i (Plischke et al. 2013), densities are histograms of the ranks
    of y; what rows without any dependence would give is taken off.

    Parameters
    ----------
    data
        Rows of inputs and outputs.
    classes
        Number of classes, by default the cube root of the number of rows, 4 to 48.
    replicates, seed
        Bootstrap samples and their seed.
    """
    _check_rows(data, "borgonovo", 50)
    n = len(data)
    cut = whole(classes, "classes", "borgonovo", 2) if classes is not None else int(min(48, max(4, n ** (1 / 3))))
    bins = int(min(64, max(5, n**0.4)))

    def delta(X: Array, Y: Array) -> Array:
        found = np.empty((Y.shape[1], X.shape[1]))
        level = np.minimum(np.argsort(np.argsort(Y, axis=0), axis=0) * bins // len(Y), bins - 1)
        place = np.minimum(np.argsort(np.argsort(X, axis=0), axis=0) * cut // len(X), cut - 1)
        for o in range(Y.shape[1]):
            for i in range(X.shape[1]):
                count = np.bincount(place[:, i] * bins + level[:, o], minlength=cut * bins).reshape(cut, bins)
                share = count / np.maximum(count.sum(axis=1, keepdims=True), 1)
                whole_share = count.sum(axis=0) / count.sum()
                found[o, i] = 0.5 * float(count.sum(axis=1) @ np.abs(share - whole_share).sum(axis=1)) / len(Y)
        return found

    rng = np.random.default_rng(seed)
    value = delta(data.X, data.Y)
    # What rows without any dependence give is the bias of the histogram.
    none = np.mean([delta(data.X, data.Y[rng.permutation(n)]) for _ in range(20)], axis=0)

    def corrected(raw: Array) -> Array:
        return np.asarray(np.clip((raw - none) / (1.0 - none), 0.0, 1.0), dtype=np.float64)

    draws = [corrected(delta(data.X[r], data.Y[r])) for r in (rng.integers(0, n, n) for _ in range(replicates))]
    best, stacked = corrected(value), np.stack(draws)
    return Estimate.from_bootstrap(best, np.clip(stacked - stacked.mean(axis=0) + best, 0.0, 1.0))
