"""Hand the samples of a campaign to a dask.distributed cluster."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from mor.campaign.processes import Task
from mor.evaluable import Evaluable, Failure, Outcome, evaluate_sample
from rt_runtime.errors import ConfigError, MissingExtra

AHEAD = 2  # samples per thread of the cluster that are under way or queued, so that memory stays flat
POLL = 0.5


def run_cluster(
    model: Evaluable, tasks: Iterable[Task], *, address: str, timeout: float | None
) -> Iterator[list[tuple[int, Outcome]]]:
    """Evaluate on the cluster whose scheduler is at "host:port"; give outcomes in batches, in the order they end.

    A worker that dies costs the sample it was at, unless the cluster repeats it elsewhere. timeout: s per sample; the
    worker of a sample that takes longer is restarted.
    """
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtra(
            "run_design with a dask executor needs dask.distributed; install the 'dask' extra."
        ) from None
    try:
        client = Client(f"tcp://{address}", timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise ConfigError(f"No dask scheduler answers at {address} ({error}); start one or mend the address.") from None
    with client:
        yield from _run(client, model, deque(tasks), timeout)


def _run(
    client: Any, model: Evaluable, waiting: deque[Task], timeout: float | None
) -> Iterator[list[tuple[int, Outcome]]]:
    from distributed import wait

    shared = client.scatter(model, broadcast=True, hash=False)
    under_way: dict[Any, tuple[int, float]] = {}
    while waiting or under_way:
        threads = max(1, sum(client.nthreads().values()))
        limit = threads if timeout is not None else AHEAD * threads
        while waiting and len(under_way) < limit:
            index, parameters = waiting.popleft()
            future = client.submit(
                evaluate_sample,
                shared,
                parameters,
                pure=False,
                retries=0,
                key=f"sample-{index}-{id(under_way):x}-{time.monotonic_ns():x}",
            )
            under_way[future] = (index, time.monotonic())
        try:
            ended = wait(list(under_way), timeout=POLL, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            ended = set()
        batch = []
        for future in ended:
            index, since = under_way.pop(future)
            batch.append((index, _outcome(future, time.monotonic() - since)))
        if timeout is not None:
            batch += _end_late(client, under_way, timeout)
        if batch:
            yield batch


def _outcome(future: Any, seconds: float) -> Outcome:
    if future.status == "finished":
        outcome = future.result()
        assert isinstance(outcome, Outcome)
        return outcome
    error = future.exception() if future.status == "error" else None
    reason = f"{type(error).__name__}: {error}" if error is not None else f"The cluster answered '{future.status}'."
    return Outcome(failure=Failure("died", reason), seconds=seconds)


def _end_late(client: Any, under_way: dict[Any, tuple[int, float]], timeout: float) -> list[tuple[int, Outcome]]:
    now = time.monotonic()
    late = [future for future, (_, since) in under_way.items() if now - since > timeout]
    if not late:
        return []
    keys = {future.key for future in late}
    hosts = [host for host, processing in client.processing().items() if keys & set(map(str, processing))]
    batch = []
    for future in late:
        index, since = under_way.pop(future)
        future.cancel(force=True)
        reason = f"The sample took longer than {timeout:g} s; its worker was restarted."
        batch.append((index, Outcome(failure=Failure("timeout", reason), seconds=now - since)))
    if hosts:
        client.restart_workers(hosts, raise_for_error=False)
        for future, (index, _) in under_way.items():
            under_way[future] = (index, time.monotonic())
    return batch
