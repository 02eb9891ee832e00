"""Evaluate samples in this process, or in worker processes on this machine."""

from __future__ import annotations

import math
import time
from multiprocessing.connection import wait

from mor.campaign.model import Evaluable
from mor.campaign.workers.child import Child
from mor.campaign.workers.chunk import SHORT, Batch, Chunk, Waiting, evaluate_chunk

AHEAD = 0.05  # s of work that lies ready for a worker of short samples, so that it never waits for the disk
PIPE = 100_000  # bytes of it at most: a pipe takes them at once, although the worker is busy and reads nothing


class Here:
    """This process: one chunk after the other."""

    def __init__(self, model: Evaluable) -> None:
        self._model = model
        self._chunk: Chunk | None = None

    def fill(self, waiting: Waiting) -> None:
        """Take the next chunk."""
        if self._chunk is None and len(waiting):
            self._chunk = waiting.take()

    @property
    def busy(self) -> bool:
        """Whether there is a chunk."""
        return self._chunk is not None

    def collect(self, waiting: Waiting) -> list[Batch]:
        """Evaluate it."""
        assert self._chunk is not None
        chunk, self._chunk = self._chunk, None
        return [evaluate_chunk(self._model, chunk)]

    def close(self) -> None:
        """Nothing to end."""


class Processes:
    """Worker processes on this machine.

    A worker that dies, or takes longer than `timeout` seconds for a sample and is ended, costs that sample; what was
    handed to it beside goes to others.
    """

    def __init__(self, model: Evaluable, workers: int, timeout: float | None) -> None:
        self._model, self._timeout = model, timeout
        self._workers, self._team = workers, list[Child]()

    def fill(self, waiting: Waiting) -> None:
        """Give every worker its chunks: one, and of short samples some ahead."""
        while len(self._team) < min(self._workers, len(waiting)):
            self._team.append(Child(self._model))
        work = waiting.mean * waiting.size
        ahead = 0 if waiting.mean >= SHORT else min(7, math.ceil(AHEAD / max(work, 1e-9)), PIPE // waiting.bytes)
        depth = 1 + ahead
        for level in range(1, depth + 1):
            for worker in self._team:
                if len(waiting) and len(worker.tasks) < level:
                    worker.send(waiting.take())

    @property
    def busy(self) -> bool:
        """Whether a worker has something to do."""
        return any(worker.tasks for worker in self._team)

    def collect(self, waiting: Waiting) -> list[Batch]:
        """Wait for outcomes, or for a worker that dies or is late."""
        busy = [worker for worker in self._team if worker.tasks]
        wait([worker.pipe for worker in busy], self._patience(busy))
        batches: list[Batch] = []
        for place, worker in enumerate(self._team):
            ended = worker.ended()
            batches += worker.receive()
            if not ended and not worker.ended() and not worker.late(self._timeout):
                continue
            lost = list(worker.tasks)
            if lost:
                failed, lost[0] = worker.give_up(self._timeout)
                batches.append(Batch([failed]))
            for chunk in reversed(lost):
                waiting.put_back(chunk)
            worker.stop()
            self._team[place] = Child(self._model)
        return batches

    def _patience(self, busy: list[Child]) -> float | None:
        if self._timeout is None:
            return None
        return max(0.0, min(worker.since for worker in busy) + self._timeout - time.monotonic()) + 0.001

    def close(self) -> None:
        """End all workers."""
        for worker in self._team:
            worker.stop()
