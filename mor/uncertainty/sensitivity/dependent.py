"""Sensitivity to dependent inputs: Kucherenko's indices and Shapley effects.

With dependent inputs the Sobol' decomposition has no unique meaning. What stays well defined are the variances

    first   Var E[Y | x_i] / V          what knowing x_i would remove, through x_i and all it is correlated with
    total   E Var[Y | x_~i] / V         what stays when all others are known

(Kucherenko et al. 2012; total may be below first), and the Shapley effects (Owen 2014), the mean over all orders of
what x_i adds to Var E[Y | x_u] / V: they are positive and sum to one. All are estimated by conditional sampling through
the Rosenblatt map in the order that the condition asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import factorial

import numpy as np

from mor.sampling.space import ParameterSpace, open_unit
from mor.uncertainty.evaluation import Rows, as_rows
from mor.uncertainty.sensitivity.indices import Estimate, Indices, constant_outputs, output_names
from rt_runtime.checks import Array, whole
from rt_runtime.errors import ConfigError

_MOST = 10


class _Sample:
    """One scrambling: a base sample, its outputs, and conditional copies of it."""

    def __init__(self, rows: Rows, space: ParameterSpace, power: int, seed: tuple[int, int]) -> None:
        from scipy.stats import qmc

        self.rows, self.space, d = rows, space, space.dimension
        unit = open_unit(qmc.Sobol(2 * d, scramble=True, rng=np.random.default_rng(seed)).random_base2(power))
        self.X, self.fresh = space.from_unit(unit[:, :d]), unit[:, d:]
        self.y = rows(self.X)
        self.mean = self.y.mean(axis=0)
        variance = self.y.var(axis=0)
        self.varies = variance > 1e-30 * np.maximum(self.mean**2, 1e-300)
        self.variance = np.where(self.varies, variance, 0.0)

    def unexplained(self, known: Sequence[int]) -> Array:
        """Return E Var[Y | x_known] / V (outputs,); 0 for a constant output."""
        free = [i for i in range(self.space.dimension) if i not in known]
        order = [*known, *free]
        unit = self.space.to_unit(self.X, order=order)
        unit[:, free] = self.fresh[:, free]
        other = self.rows(self.space.from_unit(unit, order=order))
        share: Array = 0.5 * np.mean((self.y - other) ** 2, axis=0) / np.where(self.varies, self.variance, np.inf)
        return share

    def explained(self, known: Sequence[int]) -> Array:
        """Return Var E[Y | x_known] / V (outputs,); 0 for a constant output."""
        return np.where(self.varies, 1.0 - self.unexplained(known), 0.0)


def _checked(model: object, space: ParameterSpace, n: int, scrambles: int, of: str) -> tuple[Rows, int]:
    whole(n, "n", of, 2)
    whole(scrambles, "scrambles", of, 2)
    return as_rows(model, space, of), max(1, int(np.ceil(np.log2(max(n / scrambles, 2)))))


def kucherenko(model: object, space: ParameterSpace, *, n: int = 2**13, scrambles: int = 8, seed: int = 0) -> Indices:
    """Return first and total indices of a model with dependent inputs; n (2 inputs + 1) evaluations.

    Parameters are those of `sampled_indices`. Without a copula these are the Sobol' indices.

    Parameters
    ----------
    space
        Joint law of the inputs.
    scrambles, seed
        Independent repetitions for the interval, and their seed.
    """
    rows, power = _checked(model, space, n, scrambles, "kucherenko")
    d = space.dimension
    first, total, mean, variance = [], [], [], []
    for k in range(scrambles):
        sample = _Sample(rows, space, power, (seed, k))
        first.append(np.stack([sample.explained([i]) for i in range(d)], axis=1))
        total.append(np.stack([sample.unexplained([j for j in range(d) if j != i]) for i in range(d)], axis=1))
        mean.append(sample.mean)
        variance.append(sample.variance)
    names = output_names(model, mean[0].size)
    S, T, m, v = (Estimate.from_replicates(np.stack(values)) for values in (first, total, mean, variance))
    evaluations = scrambles * 2**power * (2 * d + 1)
    notes = constant_outputs(names, T.value)
    return Indices(space.names, names, S, T, m, v, evaluations, "Kucherenko, dependent inputs", notes=notes)


def shapley(model: object, space: ParameterSpace, *, n: int = 2**13, scrambles: int = 8, seed: int = 0) -> Indices:
    """Return the Shapley effects as `total` (first is None); n (2^inputs - 1) evaluations, at most 10 inputs.

    Parameters
    ----------
    model, space
        The model and the joint law of its inputs.
    scrambles, seed
        Independent repetitions for the interval, and their seed.
    """
    rows, power = _checked(model, space, n, scrambles, "shapley")
    d = space.dimension
    if d > _MOST:
        raise ConfigError(
            f"Inputs of shapley must be at most {_MOST}, got {d}: all their groups are evaluated; leave out those that "
            "screening found without influence."
        )
    effects, mean, variance = [], [], []
    for k in range(scrambles):
        sample = _Sample(rows, space, power, (seed, k))
        explained: dict[tuple[int, ...], Array] = {(): np.zeros(sample.mean.size), tuple(range(d)): 1.0 * sample.varies}
        for size in range(1, d):
            for u in combinations(range(d), size):
                explained[u] = sample.explained(u)
        phi = np.zeros((sample.mean.size, d))
        for u, value in explained.items():
            for i in range(d):
                if i not in u and len(u) < d:
                    share = factorial(len(u)) * factorial(d - len(u) - 1) / factorial(d)
                    phi[:, i] += share * (explained[tuple(sorted((*u, i)))] - value)
        effects.append(phi)
        mean.append(sample.mean)
        variance.append(sample.variance)
    names = output_names(model, mean[0].size)
    total, mean_, variance_ = (Estimate.from_replicates(np.stack(v)) for v in (effects, mean, variance))
    return Indices(
        space.names, names, None, total, mean_, variance_, scrambles * 2**power * (2**d - 1), "Shapley effects",
        notes=constant_outputs(names, total.value),
    )  # fmt: skip
