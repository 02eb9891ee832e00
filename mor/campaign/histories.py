"""Histories as design variables: each sample of a campaign draws its own input history."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mor.compile.code_hash import code_hash
from mor.data.ports import Port
from mor.data.trajectory import Trajectory
from mor.sampling.space import ParameterSpace
from mor.substructures.base import Inputs, Substructure
from rt_runtime.errors import ConfigError


class HistoryFamily(Protocol):
    """A family of input histories whose members are points of a parameter space (mor.excitation.LoadingProtocols)."""

    @property
    def space(self) -> ParameterSpace:
        """The design variables that name a member."""

    @property
    def rate(self) -> float:
        """Samples per second of all members."""

    def history(self, parameters: Mapping[str, float]) -> Trajectory:
        """Return the member."""


class CountedRun(Protocol):
    """A run with numbers about how it went."""

    @property
    def trajectory(self) -> Trajectory:
        """Inputs and outputs."""

    @property
    def counts(self) -> Mapping[str, float]:
        """Halved steps, fallbacks and the like."""


@runtime_checkable
class CountingModel(Protocol):
    """A substructure that tells how its runs went (mor.sources)."""

    def run(self, u: Inputs, *, dt: float, parameters: Mapping[str, float] | None = None, every: int = 1) -> CountedRun:
        """Run a whole history."""


class HistoryModel:
    """A substructure that a campaign runs once a sample, each time under another history.

    Parameters
    ----------
    part : the substructure; each of its inputs is a column of the histories.
    histories : the family that the histories are drawn from.
    fixed : inputs that are not in the histories, held at a number.

    Notes
    -----
    A sample names a member of the family and, beside, values of the part's parameters. The stored run has all columns
    of the history and the outputs of the part; solver counts of an external source are stored as numbers.
    """

    def __init__(
        self, part: Substructure, histories: HistoryFamily, *, fixed: Mapping[str, float] | None = None
    ) -> None:
        self.part, self.histories, self.fixed = part, histories, dict(fixed or {})
        self.name = part.name
        counted = ("steps", "halvings", "fallbacks") if isinstance(part, CountingModel) else ()
        self.outputs: tuple[Port, ...] = tuple(Port(name) for name in counted)

    def identity(self) -> dict[str, Any]:
        """Return the identity of the part and of the family of histories."""
        settings = json.loads(json.dumps(asdict(self.histories)))  # type: ignore[call-overload]
        code = code_hash(type(self.histories), type(self.histories).history)
        return {"part": self.part.identity(), "histories": settings, "code": code, "fixed": self.fixed}

    def check_parameters(self, names: Iterable[str]) -> None:
        """Raise when a name is neither a design variable of the histories nor a parameter of the part."""
        own = set(self.histories.space.names)
        names = set(names)
        known = own | {p.name for p in self.part.parameters}
        problems = [
            f"Parameter '{name}' of the design must be one of the histories ({', '.join(sorted(own))}) or a parameter "
            f"of {self.part.of}."
            for name in sorted(names - known)
        ]
        problems += [f"Design variable '{name}' of the histories is missing in the design." for name in own - names]
        if problems:
            raise ConfigError.from_problems(f"Campaign of {self.part.of}", problems)

    def evaluate(self, parameters: Mapping[str, float]) -> dict[str, float | Trajectory]:
        """Run one sample."""
        own = set(self.histories.space.names)
        history = self.histories.history({name: parameters[name] for name in own})
        rest = {name: value for name, value in parameters.items() if name not in own}
        wanted = [port.name for port in self.part.inputs if port.name not in self.fixed]
        missing = [name for name in wanted if name not in history.names]
        if missing:
            raise ConfigError(
                f"Input '{missing[0]}' of {self.part.of} must be a column of the histories ({', '.join(history.names)})"
                " or be given in fixed."
            )
        u = {name: history[name] for name in wanted} | self.fixed
        dt = 1.0 / self.histories.rate
        numbers: dict[str, float] = {}
        if isinstance(self.part, CountingModel):
            counted = self.part.run(u, dt=dt, parameters=rest)
            run, numbers = counted.trajectory, dict(counted.counts)
        else:
            run = self.part.simulate(u, dt=dt, parameters=rest)
        new = [port for port in run.ports if port.name not in history.names]
        values = np.column_stack([history.values, *(run[port.name] for port in new)])
        return {**numbers, "run": Trajectory(history.time, values, (*history.ports, *new))}
