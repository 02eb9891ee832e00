"""Hand the samples of a campaign to a dask.distributed cluster."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from multiprocessing.connection import wait as wait_for_pipe
from typing import Any

from mor.campaign.child import Child, Task
from mor.campaign.model import Evaluable, Failure, Outcome
from mor.campaign.processes import Batches
from rt_runtime.errors import ConfigError, MissingExtra

AHEAD = 2  # samples per thread of the cluster that are under way or queued, so that memory stays flat
POLL = 1.0  # s between looks at the cluster
CONNECT = 10.0  # s
DESERTED = 120.0  # s without any worker after which the campaign ends


def run_cluster(model: Evaluable, tasks: Iterable[Task], *, address: str, timeout: float | None) -> Batches:
    """Evaluate on the cluster whose scheduler is at "host:port"; give outcomes in batches, in the order they end.

    Each thread of the cluster evaluates in a child process of its own: a sample that dies or takes longer than
    `timeout` seconds costs nothing but itself. Samples of a machine that is lost are repeated on the others.
    """
    try:
        from distributed import Client
        from distributed.protocol.pickle import dumps
    except ImportError:
        raise MissingExtra(
            "run_design with a dask executor needs dask.distributed; install the 'dask' extra."
        ) from None
    try:
        packed = dumps(model)
    except Exception as error:
        raise ConfigError(f"Model {model.name} must be picklable for a dask executor: {error}.") from error
    try:
        client = Client(f"tcp://{address}", timeout=CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        raise ConfigError(f"No dask scheduler answers at {address} ({error}); start one or mend the address.") from None
    with client:
        yield from _run(client, packed, deque(tasks), address, timeout)


def _run(client: Any, packed: bytes, waiting: deque[Task], address: str, timeout: float | None) -> Batches:
    from distributed import wait

    digest = hashlib.sha256(packed).hexdigest()
    under_way: dict[Any, int] = {}
    seen = time.monotonic()
    while waiting or under_way:
        threads = sum(client.nthreads().values())
        seen = time.monotonic() if threads else seen
        if time.monotonic() - seen > DESERTED:
            raise ConfigError(
                f"The dask cluster at {address} has had no worker for {DESERTED:g} s; finished samples are safe, "
                "start workers and run again to go on."
            )
        while waiting and len(under_way) < AHEAD * max(1, threads):
            index, parameters = waiting.popleft()
            future = client.submit(evaluate_packed, packed, digest, index, parameters, timeout, pure=False)
            under_way[future] = index
        try:
            ended = wait(list(under_way), timeout=POLL, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            continue
        batch = [(under_way.pop(future), _outcome(future)) for future in ended]
        if batch:
            yield batch


def _outcome(future: Any) -> Outcome:
    """Take the outcome of a sample from the cluster, or why the cluster gave it up."""
    try:
        outcome = future.result()
    except Exception as error:  # its worker was lost several times, its result could not be sent
        return Outcome(failure=Failure("died", f"{type(error).__name__}: {error}"))
    assert isinstance(outcome, Outcome)
    return outcome


_here = threading.local()  # in a thread of the cluster: the child process that evaluates for it


def evaluate_packed(
    packed: bytes, digest: str, index: int, parameters: Mapping[str, float], timeout: float | None
) -> Outcome:
    """Evaluate one sample in a thread of the cluster, in its child process."""
    if getattr(_here, "digest", "") != digest:
        from distributed.protocol.pickle import loads

        if hasattr(_here, "child"):
            _here.child.stop()
        _here.model, _here.digest = loads(packed), digest
        _here.child = Child(_here.model)
    child: Child = _here.child
    child.send((index, dict(parameters)))
    while True:
        wait_for_pipe([child.pipe], timeout)
        ended = child.ended()
        received = child.receive()
        if received:
            return received[0][1]
        if ended or child.ended() or child.late(timeout):
            _here.child = Child(_here.model)
            return child.give_up(timeout)[1]
