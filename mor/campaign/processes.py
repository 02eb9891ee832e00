"""Worker processes on this machine: one that is killed, hangs or leaks costs the sample it was at, nothing else."""

from __future__ import annotations

import contextlib
import ctypes
import math
import multiprocessing
import os
import pickle
import signal
import sys
import time
import warnings
from collections import deque
from collections.abc import Generator, Iterable
from multiprocessing.connection import Connection, wait

from mor.campaign.lock import release_in_child
from mor.evaluable import Evaluable, Failure, Outcome, evaluate_sample

Task = tuple[int, dict[str, float]]
Batches = Generator[list[tuple[int, Outcome]], None, None]

SHORT = 0.2  # s; workers of shorter samples get the next ones before they ask, so that they never wait for the disk
AHEAD = 0.05  # s of work that lies ready for such a worker
_PR_SET_PDEATHSIG = 1


def run_serial(model: Evaluable, tasks: Iterable[Task]) -> Batches:
    """Evaluate in this process, one after the other."""
    for index, parameters in tasks:
        yield [(index, evaluate_sample(model, parameters))]


def run_processes(model: Evaluable, tasks: Iterable[Task], *, workers: int, timeout: float | None) -> Batches:
    """Evaluate in worker processes; give outcomes in batches, in the order in which they end.

    timeout: s per sample; a worker that takes longer is killed and replaced.
    """
    waiting = deque(tasks)
    team = [_Worker(model) for _ in range(min(workers, len(waiting)))]
    mean = SHORT
    try:
        while True:
            _hand_out(waiting, team, mean)
            busy = [worker for worker in team if worker.tasks]
            if not busy:
                return
            wait([item for worker in busy for item in (worker.pipe, worker.process.sentinel)], _patience(busy, timeout))
            batch: list[tuple[int, Outcome]] = []
            for place, worker in enumerate(team):
                ended = not worker.process.is_alive()  # asked before reading: nothing is sent after it
                batch += worker.receive()
                late = timeout is not None and worker.tasks and time.monotonic() - worker.since > timeout
                if not worker.broken and not ended and not late:
                    continue
                if worker.tasks:
                    index, _ = worker.tasks.popleft()
                    reason = worker.stop(f"took longer than {timeout:g} s" if late and not ended else "")
                    kind = "timeout" if late and not ended else "died"
                    spent = time.monotonic() - worker.since
                    batch.append((index, Outcome(failure=Failure(kind, reason), seconds=spent)))
                waiting.extendleft(reversed(worker.tasks))
                worker.stop("")
                team[place] = _Worker(model)
            if batch:
                mean = sum(outcome.seconds for _, outcome in batch) / len(batch)
                _hand_out(waiting, team, mean)
                yield batch
    finally:
        for worker in team:
            worker.stop("")


def _hand_out(waiting: deque[Task], team: list[_Worker], mean: float) -> None:
    depth = 1 if mean >= SHORT else 1 + min(7, math.ceil(AHEAD / max(mean, 1e-9)))
    for level in range(1, depth + 1):
        for worker in team:
            if waiting and len(worker.tasks) < level and not worker.broken:
                worker.send(waiting.popleft())


def _patience(busy: list[_Worker], timeout: float | None) -> float | None:
    if timeout is None:
        return None
    return max(0.0, min(worker.since for worker in busy) + timeout - time.monotonic()) + 0.001


class _Worker:
    """A process with the tasks it was given, oldest first; it works on the oldest."""

    def __init__(self, model: Evaluable) -> None:
        context = multiprocessing.get_context("fork")  # any function is a model, compiled code need not be made again
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(model, theirs, os.getpid()), daemon=True)
        with warnings.catch_warnings():  # forking beside threads: a worker takes no lock of theirs
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        theirs.close()
        self.tasks: deque[Task] = deque()
        self.since = 0.0
        self.broken = False

    def send(self, task: Task) -> None:
        if not self.tasks:
            self.since = time.monotonic()
        self.tasks.append(task)
        try:
            self.pipe.send(task)
        except OSError:
            self.broken = True

    def receive(self) -> list[tuple[int, Outcome]]:
        outcomes = []
        try:
            while self.pipe.poll():
                outcomes.append(self.pipe.recv())
                self.tasks.popleft()
                self.since = time.monotonic()
        except (EOFError, OSError, pickle.UnpicklingError):
            self.broken = True
        return outcomes

    def stop(self, why: str) -> str:
        """End the process and what it started; say how it ended."""
        if self.process.is_alive() and not why and self.broken:
            self.process.join(1.0)  # it closed its pipe because it is ending
        if self.process.is_alive():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid or 0, signal.SIGKILL)
            self.process.kill()
        self.process.join()
        self.pipe.close()
        if why:
            return f"The sample {why}; its worker was ended."
        code = self.process.exitcode or 0
        if code >= 0:
            return f"Worker process {self.process.pid} exited with code {code}."
        name = f" ({signal.Signals(-code).name})" if -code in set(signal.Signals) else ""
        return f"Worker process {self.process.pid} was ended by signal {-code}{name}."


def _work(model: Evaluable, pipe: Connection, parent: int) -> None:
    """Evaluate what comes through the pipe until it closes."""
    release_in_child()
    os.setsid()  # a group of its own: it can be ended with all it starts, and Ctrl-C goes to the campaign alone
    _die_with_parent(parent)
    os.dup2(2, 1)  # what a model prints must not mix with the campaign's standard output
    sys.stdout = sys.stderr
    while True:
        try:
            index, parameters = pipe.recv()
        except (EOFError, OSError):
            os._exit(0)
        outcome = evaluate_sample(model, parameters)
        try:
            pipe.send((index, outcome))
        except OSError:
            os._exit(0)


def _die_with_parent(parent: int) -> None:
    """Ask the system to end this process when the campaign ends, however that ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(0)
