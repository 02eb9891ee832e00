"""What a campaign can run: anything that evaluates one sample of parameters to numbers, a trajectory, or both."""

from __future__ import annotations

import inspect
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mor.compile.code_hash import code_hash
from mor.data.ports import Port, as_ports
from mor.data.trajectory import Trajectory
from rt_runtime.errors import ConfigError
from rt_runtime.versions import version_of

Result = Mapping[str, "float | Trajectory"] | Trajectory


@runtime_checkable
class Evaluable(Protocol):
    """A model that a campaign evaluates on a design; full-order models and hybrid models are such.

    It must be picklable when it is sent to other machines (executor "dask://..."); worker processes of this machine
    are forked and take it as it is. `evaluate` must not depend on what was evaluated before. A model that returns
    numbers says their names and units in an attribute `outputs`, a tuple of ports; without it, units are empty. A
    method `check_parameters(names)`, where there is one, refuses a design that does not fit before anything runs.
    """

    @property
    def name(self) -> str:
        """Name shown to the user."""

    def identity(self) -> Mapping[str, Any] | str:
        """Return what decides the results, as plain values (JSON): name, fixed parameters, version, code hash.

        Stored with a campaign and compared when it is resumed: a model that changed is refused by the store.
        """

    def evaluate(self, parameters: Mapping[str, float]) -> Result:
        """Evaluate one sample {name: value} (physical units).

        Return {output: number} for each of `outputs`, a Trajectory, or a mapping with numbers and one Trajectory.
        An exception, a number that is not finite, or such a value in the Trajectory makes the sample a failed one.
        """


class FunctionModel:
    """A plain function of the parameters as a model: function(**parameters) -> number, {name: number}, Trajectory.

    outputs: names with units of the numbers it returns, {name: unit}; none for a Trajectory alone.
    fixed: further arguments, the same for every sample. version: change it when the code hash does not see a change.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        outputs: Mapping[str, str] | Iterable[Port | str] = (),
        *,
        name: str = "",
        fixed: Mapping[str, Any] | None = None,
        version: str = "",
    ) -> None:
        if not callable(function):
            raise ConfigError(f"function of FunctionModel must be callable, got {function!r}.")
        self.function = function
        self.name = name or getattr(function, "__name__", type(function).__name__)
        self.outputs = as_ports(outputs, f"outputs of {self.name}")
        self.fixed = dict(fixed or {})
        self.version = version

    def identity(self) -> dict[str, Any]:
        """Return name, fixed arguments, version and code hash."""
        return {
            "name": self.name,
            "parameters": self.fixed,
            "version": self.version,
            "code": code_hash(self.function),
            "outputs": {port.name: port.unit for port in self.outputs},
        }

    def evaluate(self, parameters: Mapping[str, float]) -> Result:
        """Call the function."""
        value = self.function(**parameters, **self.fixed)
        if isinstance(value, Mapping | Trajectory):
            return value
        if len(self.outputs) == 1:
            return {self.outputs[0].name: value}
        raise ConfigError(
            f"{self.name} must return {{name: number}} or a Trajectory (or one number when it has one output), "
            f"got {type(value).__name__}."
        )

    def check_parameters(self, names: Iterable[str]) -> None:
        """Raise when the function cannot be called with these parameters."""
        try:
            inspect.signature(self.function).bind(**dict.fromkeys(names), **self.fixed)
        except TypeError as error:
            raise ConfigError(
                f"{self.name} must take the parameters {', '.join(names)} of the design by name: {error}."
            ) from None


def outputs_of(model: Evaluable) -> tuple[Port, ...]:
    """Return names and units of the numbers that a model returns, as far as it says them."""
    return tuple(getattr(model, "outputs", ()))


def plain_identity(model: Evaluable) -> dict[str, Any]:
    """Return name, version of this software and identity of a model as plain values, as a store compares them."""
    own = model.identity()
    identity = {"name": model.name, "software": version_of()}
    identity |= {"identity": own} if isinstance(own, str) else own
    try:
        plain: dict[str, Any] = json.loads(json.dumps(identity))
    except TypeError as error:
        raise ConfigError(f"identity of {model.name} must hold plain values (JSON): {error}.") from None
    return plain


def as_evaluable(model: Evaluable | Callable[..., Any]) -> Evaluable:
    """Return the model itself, or wrap a plain function."""
    if isinstance(model, Evaluable):
        return model
    if callable(model):
        return FunctionModel(model)
    raise ConfigError(
        f"model of run_design must be a function or have name, identity and evaluate, got {model!r}; "
        "a substructure becomes such a model by SimulationModel."
    )


@dataclass(frozen=True)
class Failure:
    """Why a sample has no result: kind is exception, not_finite, result, timeout or died."""

    kind: str
    reason: str


@dataclass(frozen=True)
class Outcome:
    """What one sample gave: numbers, a trajectory, or a failure; and how long it took in s."""

    numbers: dict[str, float] = field(default_factory=dict)
    trajectory: Trajectory | None = None
    failure: Failure | None = None
    seconds: float = 0.0


def evaluate_sample(model: Evaluable, parameters: Mapping[str, float]) -> Outcome:
    """Evaluate one sample and check what comes back; never raises for what the model does."""
    start = time.perf_counter()
    try:
        result = model.evaluate(parameters)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return Outcome(failure=Failure("exception", reason), seconds=time.perf_counter() - start)
    seconds = time.perf_counter() - start
    try:
        numbers, trajectory = _sorted_result(model, result)
    except ConfigError as error:
        return Outcome(failure=Failure("result", str(error)), seconds=seconds)
    reason = _not_finite(numbers, trajectory)
    if reason:
        return Outcome(failure=Failure("not_finite", reason), seconds=seconds)
    return Outcome(numbers, trajectory, None, seconds)


def _sorted_result(model: Evaluable, result: object) -> tuple[dict[str, float], Trajectory | None]:
    numbers: dict[str, float] = {}
    trajectory = result if isinstance(result, Trajectory) else None
    if isinstance(result, Mapping):
        for name, value in result.items():
            if isinstance(value, Trajectory):
                if trajectory is not None:
                    raise ConfigError(f"Result of {model.name} must hold at most one Trajectory, got two.")
                trajectory = value
                continue
            try:
                numbers[str(name)] = float(value)
            except (TypeError, ValueError):
                raise ConfigError(f"Output '{name}' of {model.name} must be a number, got {value!r:.80}.") from None
    elif trajectory is None:
        raise ConfigError(f"Result of {model.name} must be a mapping or a Trajectory, got {type(result).__name__}.")
    expected = [port.name for port in outputs_of(model)]
    if expected and set(expected) != set(numbers):
        raise ConfigError(
            f"Result of {model.name} must have the outputs {', '.join(expected)}, got {', '.join(numbers) or 'none'}."
        )
    return {name: numbers[name] for name in expected or numbers}, trajectory


def _not_finite(numbers: Mapping[str, float], trajectory: Trajectory | None) -> str:
    for name, value in numbers.items():
        if not math.isfinite(value):
            return f"Output '{name}' is {value:g}."
    if trajectory is not None and not np.isfinite(trajectory.values).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(trajectory.values))[0])
        value = trajectory.values[row, column]
        return f"Column '{trajectory.names[column]}' is {value:g} from {trajectory.time[row]:g} s on."
    return ""
