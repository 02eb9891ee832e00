from __future__ import annotations

import math

import numpy as np
import pytest

from mor import Evaluable, FunctionModel, Trajectory
from mor.campaign.model import as_evaluable, evaluate_sample
from mor.compile.code_hash import code_hash
from rt_runtime.errors import ConfigError


def torque(F: float, w: float, gain: float = 1.0) -> float:
    return gain * F * w


def outcome(function, outputs=(), **parameters: float):
    return evaluate_sample(FunctionModel(function, outputs), parameters)


def test_a_function_is_a_model() -> None:
    model = FunctionModel(torque, {"tau": "Nm"}, fixed={"gain": 2.0}, version="3")
    assert isinstance(model, Evaluable) and as_evaluable(model) is model
    assert as_evaluable(torque).name == "torque"
    assert model.evaluate({"F": 3.0, "w": 4.0}) == {"tau": 24.0}
    identity = model.identity()
    assert identity["parameters"] == {"gain": 2.0} and identity["version"] == "3" and identity["name"] == "torque"
    assert identity["code"] == code_hash(torque) != code_hash(outcome)


def test_results_of_every_kind() -> None:
    run = Trajectory([0.0, 1.0], [1.0, 2.0], {"v": "m/s"})
    assert outcome(torque, ["tau"], F=2.0, w=3.0).numbers == {"tau": 6.0}
    assert outcome(lambda a: run, a=1.0).trajectory is run
    both = outcome(lambda a: {"v_max": np.float64(a), "run": run}, ["v_max"], a=1.0)
    assert both.numbers == {"v_max": 1.0} and both.trajectory is run and both.failure is None
    assert outcome(lambda a: {"y": a, "x": 2}, ["x", "y"], a=1.0).numbers == {"x": 2.0, "y": 1.0}
    assert both.seconds > 0


@pytest.mark.parametrize(
    ("function", "outputs", "kind", "reason"),
    [
        (lambda a: 1 / 0, ["y"], "exception", "ZeroDivisionError: division by zero"),
        (lambda a: {"y": math.nan}, ["y"], "not_finite", "Output 'y' is nan."),
        (lambda a: {"y": math.inf}, [], "not_finite", "Output 'y' is inf."),
        (
            lambda a: Trajectory([0.0, 0.5], [[1.0, 2.0], [3.0, math.nan]], ["u", "v"]),
            [],
            "not_finite",
            "Column 'v' is nan from 0.5 s on.",
        ),
        (lambda a: {"x": 1.0}, ["y"], "result", "must have the outputs y, got x."),
        (lambda a: {"y": "fast"}, ["y"], "result", "must be a number, got 'fast'."),
        (lambda a: {"y": [1, 2]}, ["y"], "result", r"must be a number, got [1, 2]."),
        (lambda a: None, [], "exception", "must return {name: number} or a Trajectory"),
    ],
)
def test_failures_are_recorded_with_their_reason(function, outputs, kind, reason) -> None:
    failure = outcome(function, outputs, a=1.0).failure
    assert failure is not None and failure.kind == kind and reason in failure.reason


def test_a_model_that_breaks_the_contract() -> None:
    class Odd:
        name, outputs = "odd", ()

        def identity(self):
            return {}

        def evaluate(self, parameters):
            run = Trajectory([0.0], [1.0], ["v"])
            return {"a": run, "b": run} if parameters else 3

    assert "must hold at most one Trajectory" in evaluate_sample(Odd(), {"a": 1}).failure.reason
    assert "must be a mapping or a Trajectory, got int" in evaluate_sample(Odd(), {}).failure.reason


def test_messages() -> None:
    with pytest.raises(ConfigError, match="function of FunctionModel must be callable, got 3"):
        FunctionModel(3)  # type: ignore[arg-type]
    with pytest.raises(
        ConfigError, match="model of run_design must be a function or have name, identity and evaluate, got 3; a sub"
    ):
        as_evaluable(3)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="torque must take the parameters F, v of the design by name"):
        FunctionModel(torque).check_parameters(["F", "v"])
    FunctionModel(torque).check_parameters(["F", "w"])
