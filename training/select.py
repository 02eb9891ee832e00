"""Choose by validation error: the architecture of a network, the history of a model with memory."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from numpy.typing import ArrayLike

from mor.data.dataset import Dataset
from mor.reduced.ffnn import Ffnn
from mor.reduced.history import MemorySpec
from mor.reduced.memory import MemoryModel
from mor.reduced.ranges import free_run_error
from mor.reduced.selection import Selection, best_of
from rt_runtime.errors import ConfigError
from training.config import FfnnConfig
from training.fit import fit_ffnn
from training.memory_models.fit import MemoryConfig, fit_ffnn_memory
from training.trainers.progress import bar
from training.trainers.scaled import Samples


def select_ffnn(
    train: Samples,
    *,
    valid: Samples,
    config: FfnnConfig | None = None,
    hidden: Sequence[Sequence[int]] = ((5,), (10,), (20,), (10, 10)),
    activations: Sequence[str] = ("tanh",),
    seeds: Sequence[int] = (0,),
    domain: tuple[ArrayLike, ArrayLike] | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool = False,
) -> Selection[Ffnn]:
    """Fit every combination of hidden sizes, activations and seeds; the smallest validation error wins.

    The error is the mean squared error of outputs scaled to [-1, 1]. All else is taken from `config`; `folder`
    gets one subfolder a candidate.

    Parameters
    ----------
    train, valid, domain
        As in `fit_ffnn`.
    resume, progress
        Go on with an interrupted search; show a line that follows it.
    """
    base = config or FfnnConfig()
    candidates = [
        replace(base, hidden=tuple(sizes), activation=activation, seed=seed)
        for sizes in hidden
        for activation in activations
        for seed in seeds
    ]
    if not candidates:
        raise ConfigError("hidden, activations and seeds of select_ffnn must each name at least one, got none.")
    models, table = [], []
    with bar(progress, len(candidates), "select network") as update:
        for i, candidate in enumerate(candidates):
            layers = "-".join(map(str, candidate.hidden))
            update(i, f"{layers} {candidate.activation}, seed {candidate.seed}")
            place = None
            if folder is not None:
                place = Path(folder) / f"{layers}_{candidate.activation}_{candidate.seed}"
            began = time.perf_counter()
            model = fit_ffnn(train, valid=valid, config=candidate, domain=domain, folder=place, resume=resume)
            models.append(model)
            table.append(
                {
                    "hidden": list(candidate.hidden),
                    "activation": candidate.activation,
                    "seed": candidate.seed,
                    "parameters": model.n_parameters,
                    "effective_parameters": model.origin.get("effective_parameters"),
                    "train_mse": model.origin["train_mse"],
                    "valid_mse": model.origin["valid_mse"],
                    "seconds": time.perf_counter() - began,
                }
            )
    return best_of(models, table, "valid_mse")


def select_history(
    train: Dataset,
    memories: Sequence[MemorySpec],
    *,
    valid: Dataset,
    config: MemoryConfig | None = None,
    domain: tuple[ArrayLike, ArrayLike] | None = None,
    bounds: tuple[ArrayLike, ArrayLike] | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool = False,
) -> Selection[MemoryModel]:
    """Fit one network a history (lags, filters, time constants); the smallest free-run error on `valid` wins.

    Parameters
    ----------
    train, config, domain, bounds
        As in `fit_ffnn_memory`.
    memories
        The candidates.
    folder, resume, progress
        As in `fit_ffnn`.
    """
    if not memories:
        raise ConfigError("memories of select_history must name at least one, got none.")
    models, table = [], []
    with bar(progress, len(memories), "select memory") as update:
        for i, history in enumerate(memories):
            filters = [[f.of, f.time_constant] for f in history.filters]
            update(i, f"{history.input_lags} and {history.output_lags} lags, {len(filters)} filters")
            place = None if folder is None else Path(folder) / f"history_{i}"
            began = time.perf_counter()
            model = fit_ffnn_memory(
                train, history, valid=valid, config=config, domain=domain, bounds=bounds, folder=place, resume=resume
            )
            models.append(model)
            table.append(
                {
                    "input_lags": history.input_lags,
                    "output_lags": history.output_lags,
                    "filters": filters,
                    "free_run_nrmse": free_run_error(model, valid),
                    "multiply_adds": model.cost,
                    "seconds": time.perf_counter() - began,
                }
            )
    return best_of(models, table, "free_run_nrmse")
