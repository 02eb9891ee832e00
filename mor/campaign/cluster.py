"""Hand the samples of a campaign to a dask.distributed cluster."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from mor.campaign.processes import Batches, Task
from mor.evaluable import Evaluable, Failure, Outcome, evaluate_sample
from rt_runtime.errors import ConfigError, MissingExtra

AHEAD = 2  # samples per thread of the cluster that are under way or queued, so that memory stays flat
POLL = 0.5  # s between looks at the clock
CONNECT = 10.0  # s

_models: dict[str, Evaluable] = {}  # in a worker of the cluster: the model it works on, unpacked once


def run_cluster(model: Evaluable, tasks: Iterable[Task], *, address: str, timeout: float | None) -> Batches:
    """Evaluate on the cluster whose scheduler is at "host:port"; give outcomes in batches, in the order they end.

    A sample whose worker dies is repeated at the end, alone, so that it cannot be blamed for a neighbour's fault; it
    has failed when its worker dies again. timeout: s per sample; the worker of one that takes longer is restarted.
    """
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtra(
            "run_design with a dask executor needs dask.distributed; install the 'dask' extra."
        ) from None
    try:
        client = Client(f"tcp://{address}", timeout=CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        raise ConfigError(f"No dask scheduler answers at {address} ({error}); start one or mend the address.") from None
    with client:
        yield from _Campaign(client, model, timeout).run(deque(tasks))


class _Campaign:
    def __init__(self, client: Any, model: Evaluable, timeout: float | None) -> None:
        from distributed.protocol.pickle import dumps

        self._client, self._timeout = client, timeout
        try:
            self._packed = dumps(model)
        except Exception as error:
            raise ConfigError(f"Model {model.name} must be picklable for a dask executor: {error}.") from error
        self._hash = hashlib.sha256(self._packed).hexdigest()
        self._under_way: dict[Any, tuple[Task, float]] = {}

    def run(self, waiting: deque[Task]) -> Batches:
        suspects: deque[Task] = deque()
        alone = False
        while waiting or suspects or self._under_way:
            if suspects and not waiting and not self._under_way:
                waiting.append(suspects.popleft())
                alone = True
            self._submit(waiting)
            batch = self._collect(None if alone else suspects) + self._end_late()
            if batch:
                yield batch

    def _submit(self, waiting: deque[Task]) -> None:
        threads = max(1, sum(self._client.nthreads().values()))
        limit = threads if self._timeout is not None else AHEAD * threads
        while waiting and len(self._under_way) < limit:
            task = waiting.popleft()
            future = self._client.submit(evaluate_packed, self._packed, self._hash, task[1], pure=False)
            self._under_way[future] = (task, time.monotonic())

    def _collect(self, suspects: deque[Task] | None) -> list[tuple[int, Outcome]]:
        """Wait a moment for samples that end; those whose worker died go to the suspects, when there are some."""
        from distributed import KilledWorker, wait

        try:
            ended = wait(list(self._under_way), timeout=POLL, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            return []
        batch = []
        for future in ended:
            task, since = self._under_way.pop(future)
            if future.status == "finished":
                batch.append((task[0], future.result()))
                continue
            error = future.exception() if future.status == "error" else None
            if isinstance(error, KilledWorker) and suspects is not None:
                suspects.append(task)
                continue
            reason = f"{type(error).__name__}: {error}" if error else f"The cluster gave it up ({future.status})."
            batch.append((task[0], Outcome(failure=Failure("died", reason), seconds=time.monotonic() - since)))
        return batch

    def _end_late(self) -> list[tuple[int, Outcome]]:
        now, timeout = time.monotonic(), self._timeout
        if timeout is None:
            return []
        late = [future for future, (_, since) in self._under_way.items() if now - since > timeout]
        if not late:
            return []
        keys = {future.key for future in late}
        hosts = [host for host, running in self._client.processing().items() if keys & set(running)]
        batch = []
        for future in late:
            task, since = self._under_way.pop(future)
            future.cancel(force=True)
            reason = f"The sample took longer than {timeout:g} s; its worker was restarted."
            batch.append((task[0], Outcome(failure=Failure("timeout", reason), seconds=now - since)))
        self._client.restart_workers(hosts, raise_for_error=False)
        for future, (task, _) in self._under_way.items():  # those on the same worker begin again
            self._under_way[future] = (task, time.monotonic())
        return batch


def evaluate_packed(packed: bytes, digest: str, parameters: Mapping[str, float]) -> Outcome:
    """Evaluate one sample in a worker of the cluster."""
    if digest not in _models:
        from distributed.protocol.pickle import loads

        _models.clear()
        _models[digest] = loads(packed)
    return evaluate_sample(_models[digest], parameters)
