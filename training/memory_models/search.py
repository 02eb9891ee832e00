"""Choose kind and size of a memory for hysteresis by free runs of validation records."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mor.data.dataset import Dataset
from mor.reduced.history import MemorySpec
from mor.reduced.hysteresis.cells import BoucWen, Power
from mor.reduced.hysteresis.operators import Operator, Peaks, Play, Reversals, Stop
from mor.reduced.hysteresis.steel import MenegottoPinto
from mor.reduced.memory import MemoryModel
from mor.reduced.ranges import free_run_error
from mor.reduced.selection import Selection, best_of
from rt_runtime.errors import ConfigError
from training.memory_models.fit import MemoryConfig, fit_ffnn_memory
from training.trainers.progress import bar

_LOG = logging.getLogger("training")
_SCATTER = 0.5  # (largest - smallest) over median of the seeds from which on a warning is given


def memory_candidates(
    data: Dataset, *, displacement: str | None = None, velocity: str | None = None
) -> dict[str, MemorySpec]:
    """Return memories for a part of which one displacement (the first input) and perhaps a velocity are imposed.

    Parameters
    ----------
    data
        Runs whose inputs and range are taken.
    """
    names = [p.name for p in data.inputs]
    x = displacement or names[0]
    if x not in names or (velocity is not None and velocity not in names):
        raise ConfigError(
            f"displacement and velocity of memory_candidates must be inputs ({', '.join(names)}), got {x}, {velocity}."
        )
    kinds: dict[str, tuple[Operator, ...]] = {
        "6 plays": (Play(x, 6),),
        "10 plays, peaks": (Play(x, 10), Peaks(x)),
        "10 plays, peaks, 2 reversals": (Play(x, 10), Peaks(x), Reversals(x, 2)),
        "14 stops, peaks": (Stop(x, 14), Peaks(x)),
        "6 bars, peaks, 8 stops": (MenegottoPinto(x), Peaks(x), Stop(x, 8, spacing="geometric")),
        "1 Bouc-Wen cell": (BoucWen(x, 1),),
        "2 Bouc-Wen cells, peaks": (BoucWen(x, 2), Peaks(x)),
    }
    rate: tuple[Operator, ...] = (Power(velocity, 0.5, learned=True),) if velocity else ()
    return {name: MemorySpec(data.inputs, data.outputs, operators=(*kind, *rate)) for name, kind in kinds.items()}


def select_memory(
    train: Dataset,
    *,
    valid: Dataset,
    candidates: Mapping[str, MemorySpec] | None = None,
    velocity: str | None = None,
    hidden: Sequence[tuple[int, ...]] = ((16, 16),),
    seeds: Sequence[int] = (0, 1, 2),
    config: MemoryConfig | None = None,
    progress: bool = False,
) -> Selection[MemoryModel]:
    """Fit each candidate with each size and seed; the smallest median error in free run on `valid` wins.

    The best seed of the winner comes back. A warning says where the seeds of the winner scatter much: then the data do
    not determine that memory.

    Parameters
    ----------
    train, valid
        Whole runs that start from rest.
    candidates
        Memories by name; those of `memory_candidates` when left out, with `velocity` named for a rate-dependent part.
    hidden, seeds
        Sizes of the network and seeds of the fit.
    config
        All other settings.
    progress
        Show a line that follows the search.
    """
    memories = memory_candidates(train, velocity=velocity) if candidates is None else dict(candidates)
    if not memories or not hidden or not seeds:
        raise ConfigError("candidates, hidden and seeds of select_memory must each name at least one, got none.")
    base = config or MemoryConfig()
    models: list[MemoryModel] = []
    table: list[dict[str, Any]] = []
    with bar(progress, len(memories) * len(hidden), "select memory") as update:
        for name, memory in memories.items():
            for size in hidden:
                update(len(table), f"{name}, {'-'.join(map(str, size))}")
                began = time.process_time()
                networks = [replace(base.network, hidden=tuple(size), seed=seed) for seed in seeds]
                fits = [
                    fit_ffnn_memory(train, memory, valid=valid, config=replace(base, network=net)) for net in networks
                ]
                errors = np.array([free_run_error(model, valid) for model in fits])
                models.append(fits[int(np.argmin(errors))])
                table.append(
                    {
                        "memory": name,
                        "hidden": "-".join(map(str, size)),
                        "free_run_nrmse": float(np.median(errors)),
                        "worst": float(errors.max()),
                        "scatter": float(np.ptp(errors)),
                        "multiply_adds": models[-1].cost,
                        "states": len(models[-1].states),
                        "cpu_s": time.process_time() - began,
                    }
                )
    chosen = best_of(models, table, "free_run_nrmse")
    row = next(row for row in chosen.table if row["chosen"])
    if row["scatter"] > _SCATTER * row["free_run_nrmse"]:
        _LOG.warning(
            f"Memory '{row['memory']}' gives errors from {row['worst'] - row['scatter']:.2g} to {row['worst']:.2g} "
            f"over {len(seeds)} seeds; the data may not determine it, add runs or choose a smaller memory."
        )
    return chosen
