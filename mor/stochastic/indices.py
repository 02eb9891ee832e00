"""Sobol' indices of stochastic responses: of summaries of the law, classical ones, and of trajectories of a twin.

| kind | what is decomposed | needs |
|---|---|---|
| summaries | mean, variance and quantiles of Y given x, as functions of x | an emulator |
| classical | Y = M(x, Z) with Z as one more input; totals are not available (interaction with Z) | an emulator |
| trajectories | x -> M(x, z0) for each fixed z0 (common random numbers) | a twin whose noise can be repeated |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mor.campaign.model import Evaluable
from mor.data.dataset import Dataset
from mor.reduced.lambda_model.emulator import StochasticEmulator
from mor.reduced.lambda_model.fit import refit_glam
from mor.reduced.lambda_model.fit_latent import refit_spce
from mor.reduced.lambda_model.latent_expansion import Spce
from mor.reduced.lambda_model.model import Glam
from mor.sampling.space import ParameterSpace
from mor.uncertainty.evaluation import as_rows
from mor.uncertainty.sensitivity.indices import Estimate, Indices
from mor.uncertainty.sensitivity.sampled_indices import independent, sobol
from rt_runtime.checks import Array, whole
from rt_runtime.errors import ConfigError

LEVELS = (0.05, 0.5, 0.95)


def summary_indices(
    model: StochasticEmulator,
    space: ParameterSpace,
    *,
    levels: Sequence[float] = LEVELS,
    moments: bool = True,
    data: Dataset | None = None,
    replicates: int = 50,
    n: int = 2**11,
    seed: int = 0,
) -> Indices:
    """Return first-order and total indices of quantiles, mean and variance of each output.

    Parameters
    ----------
    model : Glam or Spce
        The emulator.
    space : ParameterSpace
        Laws of the inputs, independent.
    levels : probabilities
        Which quantiles; output "y" gets y_q05, y_q50, ...
    moments : bool
        Whether mean and variance of the response at a point are wanted too: y_mean, y_variance.
    data : Dataset
        Rows of the fit: the intervals are then those of the fit, by bootstrap over the rows with refitted coefficients;
        without it they are those of the integration alone.
    replicates : int
        Refits of the bootstrap.
    n, seed : int
        Points of the integration, and the seed of its scrambling and of the bootstrap.
    """
    _check(model, space, "summary_indices")
    names = tuple(f"{p.name}_{what}" for p in model.outputs for what in _labels(levels, moments))

    def rows(of: StochasticEmulator) -> Callable[[Array], Array]:
        def evaluate(X: Array) -> Array:
            parts = [of.quantile(X, list(levels))] if levels else []
            if moments:
                parts.append(np.stack([of.mean(X), of.std(X) ** 2], axis=-1))
            return np.concatenate(parts, axis=-1).reshape(len(X), -1)

        return evaluate

    found = sobol(rows(model), space, n=n, seed=seed)
    first, total = found.first, found.total
    if data is not None:
        again = [sobol(rows(of), space, n=n, seed=seed) for of in _refits(model, data, replicates, seed)]
        first = _with_bootstrap(found.first, [one.first for one in again])
        total = _with_bootstrap(found.total, [one.total for one in again])
    return Indices(
        space.names, names, first, total, found.mean, found.variance, found.evaluations, "summaries of the emulator"
    )


def classical_indices(
    model: StochasticEmulator,
    space: ParameterSpace,
    *,
    data: Dataset | None = None,
    replicates: int = 50,
    n: int = 2**12,
    seed: int = 0,
) -> Indices:
    """Return the first-order indices Var E[Y | x_i] / Var Y with Var Y = Var m(X) + E v(X); there are no totals.

    Parameters
    ----------
    model, space
        The emulator, and the laws of its inputs, independent.
    data, replicates
        Rows of the fit and refits of the bootstrap, as in `summary_indices`.
    n, seed : int
        Points of the integration, and the seed of its scrambling.
    """
    _check(model, space, "classical_indices")
    X = space.sample(n, seed=seed)

    def one(of: StochasticEmulator) -> tuple[Indices, Array]:
        return sobol(of.mean, space, n=n, seed=seed), np.mean(of.std(X) ** 2, axis=0)

    found, inner = one(model)
    assert found.first is not None
    variance = found.variance.value + inner
    share = (found.variance.value / variance)[:, None]
    e = found.first
    first = Estimate(
        e.value * share,
        None if e.lower is None else e.lower * share,
        None if e.upper is None else e.upper * share,
    )
    if data is not None:
        again = []
        for of in _refits(model, data, replicates, seed):
            other, rest = one(of)
            assert other.first is not None
            again.append(other.first.value * (other.variance.value / (other.variance.value + rest))[:, None])
        first = Estimate.from_bootstrap(first.value, np.stack(again))
    return Indices(
        space.names, tuple(p.name for p in model.outputs), first, None, found.mean, Estimate(variance),
        found.evaluations, "classical, noise as one more input",
        notes=(f"share of the noise: {', '.join(f'{v:.4f}' for v in inner / variance)}",),
    )  # fmt: skip


def trajectory_indices(
    model: object,
    space: ParameterSpace,
    latent: ParameterSpace,
    *,
    trajectories: int = 16,
    n: int = 2**8,
    seed: int = 0,
) -> Indices:
    """Return the indices of x -> M(x, z0), their mean over draws of z0 and the interval that 95 % of them lie in.

    Parameters
    ----------
    model : callable or Evaluable
        A twin: f(X (n, inputs and latent variables)) -> (n,) or (n, outputs), or a campaign model of all of them.
    space, latent : ParameterSpace
        Laws of the inputs and of the latent variables.
    trajectories : int
        Draws of z0, at least 2; each costs n (inputs + 2) runs.
    n, seed : int
        Points of the integration; seed of the draws and of the scrambling.
    """
    whole(trajectories, "trajectories", "trajectory_indices", 2)
    independent(space, "trajectory_indices")
    rows = as_rows(model, ParameterSpace({**space, **latent}), "trajectory_indices")
    found = []
    for z in latent.sample(trajectories, seed=seed):
        found.append(
            sobol(lambda X, z=z: rows(np.hstack([X, np.tile(z, (len(X), 1))])), space, n=n, scrambles=2, seed=seed)
        )
    names = found[0].outputs
    if isinstance(model, Evaluable):
        names = tuple(p.name for p in getattr(model, "outputs", ())) or names

    def over(estimates: Sequence[Estimate | None]) -> Estimate:
        values = np.stack([e.value for e in estimates if e is not None])
        lower, upper = np.quantile(values, [0.025, 0.975], axis=0)
        return Estimate(values.mean(axis=0), lower, upper)

    return Indices(
        space.names, names, over([f.first for f in found]), over([f.total for f in found]),
        over([f.mean for f in found]), over([f.variance for f in found]), sum(f.evaluations for f in found),
        f"{trajectories} trajectories with common random numbers",
    )  # fmt: skip


def _refits(model: StochasticEmulator, data: Dataset, replicates: int, seed: int) -> Iterator[StochasticEmulator]:
    """Yield the model with coefficients of rows drawn with replacement."""
    whole(replicates, "replicates", "the bootstrap of indices", 2)
    rng = np.random.default_rng(seed)
    for _ in range(replicates):
        rows = data.take(rng.integers(len(data), size=len(data)))
        assert isinstance(model, Glam | Spce)
        yield refit_glam(model, rows) if isinstance(model, Glam) else refit_spce(model, rows)


def _with_bootstrap(one: Estimate | None, again: Sequence[Estimate | None]) -> Estimate:
    assert one is not None
    return Estimate.from_bootstrap(one.value, np.stack([e.value for e in again if e is not None]))


def _labels(levels: Sequence[float], moments: bool) -> list[str]:
    return [f"q{100.0 * p:04.1f}".replace(".0", "").replace(".", "_") for p in levels] + (
        ["mean", "variance"] if moments else []
    )


def _check(model: object, space: ParameterSpace, of: str) -> None:
    if not isinstance(model, StochasticEmulator):
        raise ConfigError(
            f"model of {of} must be a stochastic emulator (fit_glam, fit_spce), got {type(model).__name__}."
        )
    independent(space, of)
    if tuple(p.name for p in model.inputs) != space.names:
        raise ConfigError(
            f"Inputs of the model of {of} must be those of the space ({', '.join(space.names)}), in that order, got "
            f"{', '.join(p.name for p in model.inputs)}."
        )
