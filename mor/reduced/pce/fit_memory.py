"""Fit a PCE with memory on trajectories, for accuracy in free run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce

import numpy as np
from numpy.typing import ArrayLike

from mor.data.dataset import Dataset
from mor.marginals import Uniform
from mor.reduced.history import MemorySpec, split_runs
from mor.reduced.memory import MemoryModel, regressor_ports
from mor.reduced.pce.fit import fit_pce
from mor.reduced.pce.free_run import drive_names, refined
from mor.reduced.pce.model import Pce, joined
from mor.reduced.pce.pruning import pruned
from mor.reduced.pce.side_by_side import SideBySide
from mor.reduced.ranges import Limits, distinct, free_run_error, memory_limits
from mor.reduced.selection import Selection, best_of
from mor.sampling.space import ParameterSpace
from rt_runtime.checks import Array, whole
from rt_runtime.errors import ConfigError

Fit = Callable[..., Pce]
_PRUNED = 300_000  # instants of the runs that judge a candidate with fewer terms


def fit_pce_memory(
    train: Dataset,
    memory: MemorySpec,
    *,
    valid: Dataset,
    method: str = "omp",
    degree: int | Sequence[int] | None = None,
    q: float | Sequence[float] | None = None,
    rows: int = 2000,
    iterations: int = 10,
    domain: tuple[ArrayLike, ArrayLike] | None = None,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    seed: int = 0,
    draws: int = 1,
    prune: float = 0.0,
) -> MemoryModel:
    """Fit an expansion that remembers `memory` to trajectories and return it finished.

    `train` and `valid` hold whole trajectories (`run`), sampled every `memory.dt` and starting from rest. `rows`
    instants drawn by `seed` choose terms and coefficients one step ahead (method, degree and q as in `fit_pce`); where
    outputs come back, up to `iterations` Gauss-Newton steps then fit the coefficients to whole free runs. With several
    `draws` of rows (seed, seed + 1, ...) that is done for each, with the degree and q of the first. The best on the
    free runs of `valid` comes back, by the worst of outputs and hidden signals. Behind a gate of the memory an output
    is fitted where it is not closed; what is remembered beside it, everywhere. domain: (lower, upper) of the signals,
    default their extent in `train`; bounds: of the outputs, default their extent with a margin of 5 %, kept whatever
    comes in. prune: how much the error of an output over the free runs of `valid`, and of `train` as far as 300 000
    instants go, may grow, relative to itself, for terms that are left out of the model (0: none are); a step costs
    about as much as it has terms.
    """
    whole(rows, "rows", "fit_pce_memory", 10)
    whole(iterations, "iterations", "fit_pce_memory", 0)
    whole(draws, "draws", "fit_pce_memory", 1)
    if not (np.isfinite(prune) and prune >= 0.0):
        raise ConfigError(f"prune of fit_pce_memory must be a number of at least 0, got {prune!r}.")
    memory = memory.resolved(train)
    memory.check(valid)
    memory.check_opens()
    limits = memory_limits(memory, train, domain, bounds)
    first: Fit = partial(fit_pce, space=_space(memory, limits), method=method, degree=degree, q=q)
    fit = first
    models, steps = [], []
    tables = memory.tables(train, rows=rows, seeds=range(seed, seed + draws))
    for draw, drawn in enumerate(tables):
        table = Dataset(np.clip(drawn.X, *limits.features), drawn.Y, drawn.inputs, drawn.outputs)
        table = distinct(table)
        step = _one_step(memory, table, fit)
        fit = partial(_as_before, first, step) if draw == 0 else fit
        models.append(assemble(memory, step, limits))
        steps.append((step, table))
        if memory.feedback and iterations > 0:
            better = refined(memory, step, limits, train, iterations=iterations)
            models.append(assemble(memory, better, limits))
            steps.append((better, table))
    best = _best(models, split_runs(valid))
    if prune == 0.0:
        return models[best]
    return _without_terms(memory, *steps[best], limits, split_runs(valid), split_runs(train), prune)


def _best(models: Sequence[MemoryModel], runs: list[Dataset]) -> int:
    """Return which model has the smallest error in free run, by the worst of outputs and hidden signals."""
    if len(models) == 1:
        return 0
    judge, best, least = SideBySide(models[0], runs), 0, np.inf
    for i, model in enumerate(models):
        error = float(np.max(judge.wrong(model, least * judge.size) / judge.size))
        best, least = (i, error) if error < least else (best, least)
    return best


def _without_terms(
    memory: MemorySpec, step: Pce, table: Dataset, limits: Limits, valid: list[Dataset], train: list[Dataset],
    share: float,
) -> MemoryModel:  # fmt: skip
    """Prune the one-step map by free runs: as many whole ones as _PRUNED instants hold, at least one, `valid` first.

    Few terms are fitted to many rows, so that runs that were fitted tell nearly as much as others, and more runs more.
    """
    runs = [*valid, *train]
    enough = int(np.searchsorted(np.cumsum([len(run) for run in runs]), _PRUNED, side="right"))
    some = runs[: max(enough, 1)]
    n_y = len(memory.outputs)
    judged = some[: len(valid)]
    still = ~np.any([np.any(run.Y[:, :n_y] != 0.0, axis=0) for run in judged], axis=0)
    if still.any():
        name = memory.outputs[int(np.argmax(still))].name
        raise ConfigError(
            f"Output '{name}' must move in the validation runs of fit_pce_memory that judge prune (the first "
            f"{len(judged)} of {len(valid)}), got zeros; add runs in which it moves, or leave prune at 0."
        )
    judge = SideBySide(assemble(memory, step, limits), some)
    shown = np.arange(judge.size.size) < n_y  # what is hidden may go wrong
    before = np.maximum(judge.wrong(assemble(memory, step, limits), np.full(judge.size.size, np.inf)), 1e-200)

    def growth(candidate: Pce, most: float) -> float:
        """Return the error relative to that before, infinity where it is more than `most`."""
        wrong = judge.wrong(assemble(memory, candidate, limits), np.where(shown, most**2 * before, np.inf))
        return float(np.sqrt(np.max(wrong[shown] / before[shown])))

    gate = memory.memory_gate
    asked = table if gate is None else table.take(np.flatnonzero(gate.share(table.X, table.inputs) > 0.0))
    tables = [asked if o < n_y else table for o in range(len(step.outputs))]
    return assemble(memory, pruned(step, tables, growth, share), limits)


def select_pce_history(
    train: Dataset,
    memories: Sequence[MemorySpec],
    *,
    valid: Dataset,
    method: str = "omp",
    rows: int = 2000,
    domain: tuple[ArrayLike, ArrayLike] | None = None,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    seed: int = 0,
) -> Selection[MemoryModel]:
    """Fit one expansion per history (lags, filters); the smallest free-run error on `valid` wins, with a results table.

    Everything else is as in `fit_pce_memory`; `chosen` marks the best row of the table.

    Parameters
    ----------
    train
        Whole trajectories that are fitted.
    memories
        The candidates.
    method, rows, domain, bounds, seed
        As in `fit_pce_memory`.
    """
    if not memories:
        raise ConfigError("memories of select_pce_history must name at least one, got none.")
    models = [
        fit_pce_memory(train, h, valid=valid, method=method, rows=rows, domain=domain, bounds=bounds, seed=seed)
        for h in memories
    ]
    table = [
        {
            "input_lags": history.input_lags,
            "output_lags": history.output_lags,
            "filters": [[f.of, f.time_constant] for f in history.filters],
            "free_run_nrmse": free_run_error(model, valid),
            "multiply_adds": model.cost,
        }
        for history, model in zip(memories, models, strict=True)
    ]
    return best_of(models, table, "free_run_nrmse")


def _one_step(history: MemorySpec, table: Dataset, fit: Fit) -> Pce:
    """Fit all targets one step ahead; behind a gate the outputs only where it is not closed: there f is asked."""
    gate, n_y = history.memory_gate, len(history.outputs)
    if gate is None:
        return fit(table)
    asked = gate.share(table.X, table.inputs) > 0.0
    seen = fit(Dataset(table.X[asked], table.Y[asked, :n_y], table.inputs, table.outputs[:n_y]))
    if n_y == len(table.outputs):
        return seen
    return joined(seen, fit(Dataset(table.X, table.Y[:, n_y:], table.inputs, table.outputs[n_y:])))


def _as_before(fit: Fit, step: Pce, table: Dataset) -> Pce:
    """Fit other rows with the degree and q that were chosen for each output of `step`."""
    how = {one["name"]: {key: one[key] for key in ("degree", "q") if key in one} for one in step.fit["outputs"]}
    return reduce(
        joined,
        [
            fit(Dataset(table.X, table.Y[:, o : o + 1], table.inputs, [port]), **how[port.name])
            for o, port in enumerate(table.outputs)
        ],
    )


def _space(history: MemorySpec, limits: Limits) -> ParameterSpace:
    """Legendre polynomials on the range of each feature."""
    flat = [p.name for p, a, b in zip(history.features, *limits.features, strict=True) if not a < b]
    if flat:
        raise ConfigError(
            f"Every feature of a model with memory must vary in the training runs, got {', '.join(flat)} constant."
        )
    laws = (Uniform(a, b, unit=p.unit) for p, a, b in zip(history.features, *limits.features, strict=True))
    return ParameterSpace({p.name: law for p, law in zip(history.features, laws, strict=True)})


def assemble(history: MemorySpec, step: Pce, limits: Limits) -> MemoryModel:
    """Write expansion and filters as one one-step map: the filters z_k = a z_{k-1} + (1 - a) v_k are linear terms of
    their own past and of an input, or follow the expansion of what drives them."""
    outputs = (*history.outputs, *history.states)
    inputs = regressor_ports(history.signals, outputs, history.input_lags, history.lags, history.front.features)
    names, features = [p.name for p in inputs], [p.name for p in step.inputs]
    at = [names.index(name) for name in features]
    terms, n_y, n_z = step.terms, len(history.outputs), len(history.filters)
    linear = np.eye(len(features), dtype=np.int64)
    indices = np.zeros((terms + len(features), len(inputs)), dtype=np.int64)
    indices[:, at] = np.vstack([step.indices, linear])
    constant = int(np.flatnonzero(~step.indices.any(axis=1))[0])
    coefficients = np.zeros((len(indices), n_y + n_z))
    coefficients[:terms, :n_y] = step.coefficients[:, :n_y]
    targets = [p.name for p in step.outputs]
    drives = drive_names(history)
    for j, (source, state, a) in enumerate(zip(drives, history.states, history.poles, strict=True)):
        column = coefficients[:, n_y + j]
        _add_linear(column, step, terms, constant, features.index(f"{state.name}_lag1"), float(a))
        if source in targets:
            column[:terms] += (1.0 - a) * step.coefficients[:, targets.index(source)]
        else:
            _add_linear(column, step, terms, constant, features.index(source), 1.0 - float(a))
    lower, upper = _regressor_range(history, limits, names, at)
    degree = step.recurrence.shape[1]
    recurrence, location, scale = np.zeros((len(inputs), degree, 3)), np.zeros(len(inputs)), np.ones(len(inputs))
    recurrence[at], location[at], scale[at] = step.recurrence, step.location, step.scale
    loo = np.concatenate([step.loo[:n_y], np.zeros(n_z)])
    used = np.any(coefficients != 0.0, axis=1)
    used[constant] = True
    whole_step = replace(
        step, inputs=inputs, outputs=outputs, domain=(lower, upper), location=location, scale=scale,
        logarithm=np.zeros(len(inputs), dtype=np.int64), recurrence=recurrence, indices=indices[used],
        coefficients=coefficients[used], loo=loo,
    )  # fmt: skip
    return MemoryModel.around(
        history.behind_gate(whole_step), history.signals, dt=history.dt, input_lags=history.input_lags,
        output_lags=history.lags, bounds=limits.outputs, responses=n_y, operators=history.operators,
    )  # fmt: skip


def _add_linear(column: Array, step: Pce, terms: int, constant: int, feature: int, gain: float) -> None:
    """Add gain * x_feature to an expansion: x = location + scale (psi_1 - b_0) / a_0."""
    a, b, _ = step.recurrence[feature, 0]
    column[constant] += gain * (step.location[feature] - step.scale[feature] * b / a)
    column[terms + feature] += gain * step.scale[feature] / a


def _regressor_range(history: MemorySpec, limits: Limits, names: list[str], at: list[int]) -> tuple[Array, Array]:
    """Ranges of all regressors: of the features as fitted, of outputs that are carried but not used as bounded."""
    n_now = history.n_exogenous
    low, high = limits.outputs
    lower = np.concatenate([np.zeros(n_now), np.tile(np.minimum(low, 0.0), history.lags)])
    upper = np.concatenate([np.zeros(n_now), np.tile(np.maximum(high, 0.0), history.lags)])
    lower[at], upper[at] = limits.features
    return lower, upper
