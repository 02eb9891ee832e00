"""Samples that travel together: points to where they are evaluated, outcomes back, numbers as one block."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mor.campaign.model import Evaluable, Outcome, evaluate_sample, outputs_of
from rt_runtime.checks import Array

Ints = NDArray[np.int64]

SHORT = 0.2  # s; samples that take longer travel alone
CHUNK = 0.05  # s of work that travels together
LARGEST = 100_000  # samples of a chunk per s of its work
FEW = 16  # samples of a chunk when they bring trajectories
BLOCK = 64  # finished samples that make a block


@dataclass(frozen=True, eq=False)
class Chunk:
    """Numbers of samples (n,), the names of their parameters and their points (n, parameters)."""

    indices: Ints
    names: tuple[str, ...]
    points: Array

    def __len__(self) -> int:
        return len(self.indices)

    def without(self, place: int) -> Chunk:
        """Return the chunk without one of its samples."""
        return Chunk(np.delete(self.indices, place), self.names, np.delete(self.points, place, axis=0))


@dataclass(frozen=True, eq=False)
class Block:
    """Finished samples (n,) with their numbers (n, outputs), and the time that all of them took in s."""

    indices: Ints
    numbers: Array
    seconds: float


@dataclass(frozen=True, eq=False)
class Batch:
    """What came back: a block of plain numbers, and the other samples one by one."""

    rest: list[tuple[int, Outcome]]
    block: Block | None = None

    @classmethod
    def of(cls, model: Evaluable, indices: Sequence[int], outcomes: Sequence[Outcome]) -> Batch:
        """Sort outcomes: numbers that are many and of a model that names its outputs make a block."""
        ended = list(zip(indices, outcomes, strict=True))
        plain = [one for one in ended if one[1].failure is None and one[1].trajectory is None]
        if len(plain) < BLOCK or not outputs_of(model):
            return cls(ended)
        numbers = np.array([list(outcome.numbers.values()) for _, outcome in plain])
        block = Block(np.array([i for i, _ in plain]), numbers, sum(outcome.seconds for _, outcome in plain))
        rest = [one for one in ended if one[1].failure is not None or one[1].trajectory is not None]
        return cls(rest, block)

    def __len__(self) -> int:
        return len(self.rest) + (len(self.block.indices) if self.block else 0)

    @property
    def failed(self) -> int:
        """Number of samples that failed."""
        return sum(outcome.failure is not None for _, outcome in self.rest)

    @property
    def seconds(self) -> float:
        """Mean time of a sample in s."""
        total = sum(outcome.seconds for _, outcome in self.rest) + (self.block.seconds if self.block else 0.0)
        return total / max(len(self), 1)

    @property
    def streams(self) -> bool:
        """Whether there are trajectories among the outcomes."""
        return any(outcome.trajectory is not None for _, outcome in self.rest)


def evaluate_chunk(model: Evaluable, chunk: Chunk, begin: Callable[[int], None] = lambda place: None) -> Batch:
    """Evaluate the samples of a chunk one after the other; `begin` is told the place of each before it begins."""
    outcomes = []
    for place, point in enumerate(chunk.points.tolist()):
        begin(place)
        outcomes.append(evaluate_sample(model, dict(zip(chunk.names, point, strict=True))))
    return Batch.of(model, chunk.indices.tolist(), outcomes)


class Waiting:
    """Samples that wait for their turn, handed out in chunks of about `work` seconds, 50 ms unless set.

    Parameters
    ----------
    names
        Names of the parameters.
    points
        All points (n, parameters) of a design.
    todo
        Which of them are to be evaluated, in this order.
    """

    def __init__(self, names: tuple[str, ...], points: Array, todo: Ints) -> None:
        self._names, self._points, self._todo, self._next = names, points, todo, 0
        self._returned: deque[int] = deque()
        self.size = 1
        self.mean = SHORT
        self.work = CHUNK

    def __len__(self) -> int:
        return len(self._todo) - self._next + len(self._returned)

    @property
    def bytes(self) -> int:
        """Size of a chunk: numbers and points of its samples."""
        return 8 * self.size * (1 + len(self._names))

    def learn(self, batch: Batch) -> None:
        """Let the time that the last samples took decide how many travel together."""
        self.mean = batch.seconds
        most = FEW if batch.streams else int(LARGEST * self.work)
        self.size = max(1, min(most, int(self.work / max(self.mean, 1e-9))))

    def take(self) -> Chunk:
        """Return the next samples."""
        if self._returned:
            indices = np.array([self._returned.popleft() for _ in range(min(self.size, len(self._returned)))])
        else:
            indices = self._todo[self._next : self._next + self.size]
            self._next += len(indices)
        return Chunk(indices, self._names, self._points[indices])

    def put_back(self, chunk: Chunk) -> None:
        """Let samples wait again, before all others."""
        self._returned.extendleft(reversed(chunk.indices.tolist()))
