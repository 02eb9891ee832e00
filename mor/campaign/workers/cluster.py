"""Hand the samples of a campaign to a dask.distributed cluster."""

from __future__ import annotations

import hashlib
import threading
import time
from multiprocessing.connection import wait as wait_for_pipe
from typing import Any

from mor.campaign.model import Evaluable, Failure, Outcome
from mor.campaign.workers.child import Child
from mor.campaign.workers.chunk import CHUNK, Batch, Chunk, Waiting
from rt_runtime.errors import ConfigError, MissingExtra

AHEAD = 2  # chunks per thread of the cluster that are under way or queued, so that memory stays flat
PER_TASK = 2e-3  # s that the scheduler may take for a task: chunks of n threads hold n times as much work
POLL = 1.0  # s between looks at the cluster
CONNECT = 10.0  # s
DESERTED = 120.0  # s without any worker after which the campaign ends


class Cluster:
    """The cluster whose scheduler is at "host:port".

    Each thread of the cluster evaluates in a child process of its own: a sample that dies or takes longer than
    `timeout` seconds costs nothing but itself. Samples of a machine that is lost are repeated on the others.
    """

    def __init__(self, model: Evaluable, address: str, timeout: float | None) -> None:
        try:
            from distributed import Client
            from distributed.protocol.pickle import dumps
        except ImportError:
            raise MissingExtra(
                "run_design with a dask executor needs dask.distributed; install the 'dask' extra."
            ) from None
        try:
            self._packed = dumps(model)
        except Exception as error:
            raise ConfigError(f"Model {model.name} must be picklable for a dask executor: {error}.") from error
        try:
            self._client = Client(f"tcp://{address}", timeout=CONNECT)
        except (OSError, TimeoutError, ValueError) as error:
            raise ConfigError(
                f"No dask scheduler answers at {address} ({error}); start one or mend the address."
            ) from None
        self._address, self._timeout = address, timeout
        self._digest = hashlib.sha256(self._packed).hexdigest()
        self._under_way: dict[Any, Chunk] = {}
        self._threads, self._looked, self._seen = 0, 0.0, time.monotonic()

    def fill(self, waiting: Waiting) -> None:
        """Send chunks, two for each thread of the cluster."""
        self._look()
        waiting.work = max(CHUNK, PER_TASK * self._threads)
        while len(waiting) and len(self._under_way) < AHEAD * max(1, self._threads):
            chunk = waiting.take()
            future = self._client.submit(evaluate_packed, self._packed, self._digest, chunk, self._timeout, pure=False)
            self._under_way[future] = chunk

    def _look(self) -> None:
        """Count the threads of the cluster, now and then; give up one that has none for long."""
        now = time.monotonic()
        if self._threads and now - self._looked < POLL:
            return
        self._threads, self._looked = sum(self._client.nthreads().values()), now
        self._seen = now if self._threads else self._seen
        if now - self._seen > DESERTED:
            raise ConfigError(
                f"The dask cluster at {self._address} has had no worker for {DESERTED:g} s; finished samples are safe, "
                "start workers and run again to go on."
            )

    @property
    def busy(self) -> bool:
        """Whether chunks are under way."""
        return bool(self._under_way)

    def collect(self, waiting: Waiting) -> list[Batch]:
        """Wait for outcomes, at most a second."""
        from distributed import wait

        try:
            ended = wait(list(self._under_way), timeout=POLL, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            return []
        return [self._batch(future, self._under_way.pop(future), waiting) for future in ended]

    @staticmethod
    def _batch(future: Any, chunk: Chunk, waiting: Waiting) -> Batch:
        """Take outcomes from the cluster, or say why the cluster gave a sample up; its neighbours wait again."""
        try:
            batch = future.result()
        except Exception as error:  # its worker was lost several times, its result could not be sent
            if len(chunk) > 1:
                waiting.size = 1
                waiting.put_back(chunk)
                return Batch([])
            failure = Failure("died", f"{type(error).__name__}: {error}")
            return Batch([(int(chunk.indices[0]), Outcome(failure=failure))])
        assert isinstance(batch, Batch)
        return batch

    def close(self) -> None:
        """Leave the cluster."""
        self._client.close()


_here = threading.local()  # in a thread of the cluster: the child process that evaluates for it


def evaluate_packed(packed: bytes, digest: str, chunk: Chunk, timeout: float | None) -> Batch:
    """Evaluate a chunk in a thread of the cluster, in its child process; after a death, the rest in a new one."""
    if getattr(_here, "digest", "") != digest:
        from distributed.protocol.pickle import loads

        if hasattr(_here, "child"):
            _here.child.stop()
        _here.model, _here.digest = loads(packed), digest
        _here.child = Child(_here.model)
    failed: list[tuple[int, Outcome]] = []
    _here.child.send(chunk)
    while True:
        child: Child = _here.child
        patience = None if timeout is None else max(0.0, child.since + timeout - time.monotonic()) + 0.001
        wait_for_pipe([child.pipe], patience)
        ended = child.ended()
        received = child.receive()
        if received:
            return Batch([*failed, *received[0].rest], received[0].block)
        if ended or child.ended() or child.late(timeout):
            one, chunk = child.give_up(timeout)
            failed.append(one)
            child.stop()
            _here.child = Child(_here.model)
            if not len(chunk):
                return Batch(failed)
            _here.child.send(chunk)
