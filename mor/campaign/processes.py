"""Evaluate samples in this process, or in worker processes on this machine."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Generator, Iterable
from multiprocessing.connection import wait

from mor.campaign.child import Child, Task
from mor.campaign.model import Evaluable, Outcome, evaluate_sample

Batches = Generator[list[tuple[int, Outcome]], None, None]

SHORT = 0.2  # s; workers of shorter samples get the next ones before they ask, so that they never wait for the disk
AHEAD = 0.05  # s of work that lies ready for such a worker


def run_serial(model: Evaluable, tasks: Iterable[Task]) -> Batches:
    """Evaluate in this process, one after the other."""
    for index, parameters in tasks:
        yield [(index, evaluate_sample(model, parameters))]


def run_processes(model: Evaluable, tasks: Iterable[Task], *, workers: int, timeout: float | None) -> Batches:
    """Evaluate in worker processes; give outcomes in batches, in the order in which they end.

    A worker that dies, or takes longer than `timeout` seconds for a sample and is ended, costs that sample; what was
    handed to it ahead goes to others.
    """
    waiting = deque(tasks)
    team = [Child(model) for _ in range(min(workers, len(waiting)))]
    mean = SHORT
    try:
        while True:
            _hand_out(waiting, team, mean)
            busy = [worker for worker in team if worker.tasks]
            if not busy:
                return
            wait([worker.pipe for worker in busy], _patience(busy, timeout))
            batch: list[tuple[int, Outcome]] = []
            for place, worker in enumerate(team):
                ended = worker.ended()
                batch += worker.receive()
                if not ended and not worker.ended() and not worker.late(timeout):
                    continue
                if worker.tasks:
                    batch.append(worker.give_up(timeout))
                waiting.extendleft(reversed(worker.tasks))
                worker.stop()
                team[place] = Child(model)
            if batch:
                mean = sum(outcome.seconds for _, outcome in batch) / len(batch)
                _hand_out(waiting, team, mean)
                yield batch
    finally:
        for worker in team:
            worker.stop()


def _hand_out(waiting: deque[Task], team: list[Child], mean: float) -> None:
    depth = 1 if mean >= SHORT else 1 + min(7, math.ceil(AHEAD / max(mean, 1e-9)))
    for level in range(1, depth + 1):
        for worker in team:
            if waiting and len(worker.tasks) < level:
                worker.send(waiting.popleft())


def _patience(busy: list[Child], timeout: float | None) -> float | None:
    if timeout is None:
        return None
    return max(0.0, min(worker.since for worker in busy) + timeout - time.monotonic()) + 0.001
