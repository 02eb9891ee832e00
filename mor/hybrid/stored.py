"""A hybrid model whose full-order response was computed before, because it takes too long or needs another program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from mor.data.trajectory import Trajectory
from mor.hybrid.model import HybridModel
from mor.substructures.base import Substructure
from rt_runtime.errors import ConfigError


class StoredHybrid(HybridModel):
    """A hybrid model with a stored response: `run` returns it, a copy with other parts runs as any hybrid model.

    Parameters
    ----------
    model : the hybrid model that was run.
    response : a column for each signal that may be asked for, at the ticks 0, every, 2 every, ...
    seconds : processor time that its computation took.
    """

    response: Trajectory | None
    seconds: float

    def __init__(self, model: HybridModel, *, response: Trajectory, seconds: float) -> None:
        self.__dict__.update(model.__dict__)
        self.response, self.seconds = response, seconds
        unknown = [column for column in response.names if column not in self.signals]
        if unknown:
            raise ConfigError(f"Column '{unknown[0]}' of the stored response of {self.of} must be one of its signals.")

    def swap(self, name: str, substructure: Substructure) -> Self:
        """Return a copy with another part, which is run: the stored response is not its own."""
        twin = super().swap(name, substructure)
        twin.response = None
        return twin

    def run(
        self,
        duration: float | None = None,
        *,
        parameters: Mapping[str, float] | None = None,
        dt: float | None = None,
        record: Sequence[str] | None = None,
        every: int | None = None,
        seed: int | None = None,
    ) -> Trajectory:
        """Return the stored response, at the ticks that were stored (`every` is not heeded); run if more is asked."""
        if self.response is None or duration is not None or parameters or dt is not None or seed is not None:
            return super().run(duration, parameters=parameters, dt=dt, record=record, every=every, seed=seed)
        return self.response if record is None else self.response.select(record)
