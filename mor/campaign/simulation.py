"""Turn substructures and trajectories into what a campaign evaluates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mor.campaign.model import Evaluable, plain_identity
from mor.compile.code_hash import code_hash
from mor.data.ports import Port
from mor.data.trajectory import Trajectory
from mor.substructures.base import Substructure
from rt_runtime.errors import ConfigError


class SimulationModel:
    """A substructure simulated alone, once per sample.

    A parameter of the design that has the name of an input is that input, held at the sampled value; all others are
    parameters of the substructure. dt, duration: step and length of the run in s. u: the inputs that are not sampled,
    {input: number or history of duration / dt + 1 rows}. result: "last" returns the outputs at the end of the run
    (the steady state, when it is long enough), "run" the whole Trajectory.
    """

    def __init__(
        self,
        substructure: Substructure,
        *,
        dt: float,
        duration: float,
        u: Mapping[str, npt.ArrayLike] | None = None,
        result: str = "last",
    ) -> None:
        if result not in ("last", "run"):
            raise ConfigError(f"result of SimulationModel must be 'last' or 'run', got {result!r}.")
        if not (dt > 0 and duration >= dt):
            raise ConfigError(
                f"SimulationModel needs a positive dt and a duration of at least dt, got {dt:g} s and {duration:g} s."
            )
        self.substructure, self.dt, self.result = substructure, dt, result
        self.rows = round(duration / dt) + 1
        self.u = {name: np.asarray(value, dtype=float) for name, value in (u or {}).items()}
        for name, value in self.u.items():
            if value.shape not in ((), (self.rows,)):
                raise ConfigError(
                    f"Input '{name}' of SimulationModel must be a number or have {self.rows} rows "
                    f"(duration / dt + 1), got shape {value.shape}."
                )
        self.name = substructure.name
        self.outputs: tuple[Port, ...] = substructure.outputs if result == "last" else ()

    def identity(self) -> dict[str, Any]:
        """Return the substructure's identity, step, length and fixed inputs."""
        return {
            "substructure": self.substructure.identity(),
            "dt": self.dt,
            "rows": self.rows,
            "result": self.result,
            "inputs": {name: value.tolist() for name, value in self.u.items()},
        }

    def check_parameters(self, names: Iterable[str]) -> None:
        """Raise when a name is neither an input nor a parameter, or an input has no value."""
        names = list(names)
        inputs = [port.name for port in self.substructure.inputs]
        known = {*inputs, *(parameter.name for parameter in self.substructure.parameters)}
        problems = [
            f"Parameter '{name}' of the design must be an input or a parameter of {self.substructure.of} "
            f"({', '.join(sorted(known))})."
            for name in names
            if name not in known
        ]
        problems += [
            f"Input '{name}' of {self.substructure.of} has no value; sample it or give it in u."
            for name in inputs
            if name not in names and name not in self.u
        ]
        if problems:
            raise ConfigError.from_problems(f"SimulationModel of {self.substructure.of}", problems)

    def evaluate(self, parameters: Mapping[str, float]) -> Mapping[str, float | Trajectory] | Trajectory:
        """Simulate one sample."""
        inputs = [port.name for port in self.substructure.inputs]
        held = {name: np.full(self.rows, value) for name, value in parameters.items() if name in inputs}
        rest = {name: value for name, value in parameters.items() if name not in inputs}
        fixed = {name: np.broadcast_to(value, self.rows) for name, value in self.u.items() if name not in held}
        every = self.rows - 1 if self.result == "last" else 1
        run = self.substructure.simulate({**fixed, **held}, dt=self.dt, parameters=rest, every=every)
        return {port.name: float(run[port.name][-1]) for port in self.outputs} if self.outputs else run


class QuantityModel:
    """Numbers taken from the trajectory of a model: {name: (unit, function of the Trajectory)}.

    keep_run: return the trajectory too, so that the store keeps it.

    Parameters
    ----------
    quantities
        {name: (unit, function of the Trajectory)}.
    """

    def __init__(
        self,
        model: Evaluable,
        quantities: Mapping[str, tuple[str, Callable[[Trajectory], float]]],
        *,
        keep_run: bool = False,
    ) -> None:
        self.model, self.keep_run = model, keep_run
        self.name = model.name
        self.outputs = tuple(Port(name, unit) for name, (unit, _) in quantities.items())
        self.functions = {name: function for name, (_, function) in quantities.items()}

    def identity(self) -> dict[str, Any]:
        """Return the model's identity and a hash of each quantity."""
        return {
            "model": plain_identity(self.model),
            "quantities": {name: code_hash(function) for name, function in self.functions.items()},
        }

    def check_parameters(self, names: Iterable[str]) -> None:
        """Let the model check the names."""
        check = getattr(self.model, "check_parameters", None)
        if check is not None:
            check(names)

    def evaluate(self, parameters: Mapping[str, float]) -> dict[str, float | Trajectory]:
        """Run one sample and take the numbers."""
        run = self.model.evaluate(parameters)
        if not isinstance(run, Trajectory):
            raise ConfigError(
                f"{self.name} must return a Trajectory to take quantities from, got {type(run).__name__}."
            )
        numbers: dict[str, float | Trajectory] = {name: function(run) for name, function in self.functions.items()}
        return {**numbers, "run": run} if self.keep_run else numbers
