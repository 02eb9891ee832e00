"""Run a design."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mor.campaign.model import Evaluable, as_evaluable
from mor.campaign.progress import Progress
from mor.campaign.store import Store
from mor.campaign.workers.chunk import Waiting
from mor.campaign.workers.cluster import Cluster
from mor.campaign.workers.processes import Here, Processes
from mor.campaign.workers.schedule import Team, run_team
from mor.data.dataset import Dataset
from mor.sampling.designs import Design
from rt_runtime.errors import ConfigError

_DASK = re.compile(r"dask://(\S+:\d+)\Z")


def run_design(
    model: Evaluable | Callable[..., Any],
    design: Design,
    *,
    store: str | Path,
    executor: str = "processes",
    workers: int | None = None,
    timeout: float | None = None,
    retry_failed: bool = False,
    progress: bool | None = None,
) -> Dataset:
    """Evaluate a model on every point of a design and keep all results in a folder.

    Run again after a crash, it goes on where it stopped: no finished sample is repeated. A sample that fails (an
    exception, a value that is not finite, a run longer than `timeout`, a worker that dies) is recorded with its reason
    and the campaign goes on. Trajectories are read from the store, `Store(store).trajectories()`.

    model: an `Evaluable`, or a plain function of the parameters. store: folder, created when missing.
    executor: "processes" (workers on this machine), "serial" (this process) or "dask://host:port".
    workers: number of processes, by default one per processor. timeout: s per sample, none by default.
    retry_failed: repeat the samples that failed before. progress: show a bar (None: when standard error is a terminal).
    Returns parameters and outputs of the finished samples, in the order of the design.
    """
    subject = as_evaluable(model)
    check = getattr(subject, "check_parameters", None)
    if check is not None:
        check(design.space.names)
    team = _executor(executor, workers, timeout)
    with Store.writing(store, subject, design) as kept:
        again = [sample.index for sample in kept.failed] if retry_failed else []
        todo = np.array(sorted([*kept.open, *again]), dtype=np.int64)
        total = len(design)
        if kept.note and progress is not False:
            print(kept.note, file=sys.stderr)
        with Progress(subject.name, total, total - len(todo), show=progress) as shown:
            batches = run_team(team(subject), Waiting(design.space.names, design.points, todo))
            try:
                for batch in batches:
                    kept.add(batch)
                    shown.add(len(batch), batch.failed)
            finally:
                batches.close()
        if not kept.finished:
            first = kept.failed[0]
            raise ConfigError(
                f"Every sample of {subject.name} failed, the first ({first.index}) by {first.failure.kind}: "
                f"{first.failure.reason} Mend the model or the ranges of its parameters and retry the failed samples."
            )
        return kept.finish()


def _executor(executor: str, workers: int | None, timeout: float | None) -> Callable[[Evaluable], Team]:
    if workers is not None and workers < 1:
        raise ConfigError(f"workers of run_design must be at least 1, got {workers}.")
    if timeout is not None and not timeout > 0:
        raise ConfigError(f"timeout of run_design must be positive, got {timeout:g} s.")
    if executor == "serial":
        if timeout is not None:
            raise ConfigError("timeout of run_design needs a process that can be ended; use executor 'processes'.")
        return Here
    if executor == "processes":
        count = workers or len(os.sched_getaffinity(0))
        return lambda model: Processes(model, count, timeout)
    found = _DASK.match(executor)
    if found:
        return lambda model: Cluster(model, found.group(1), timeout)
    raise ConfigError(f"executor of run_design must be 'processes', 'serial' or 'dask://host:port', got {executor!r}.")
