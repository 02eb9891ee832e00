"""What a user reads when a controller is described wrongly: refused before the first tick, in one sentence."""

from __future__ import annotations

import numpy as np
import pytest

from mor.dynamics.control_design import companion, inverse_with_low_pass, kalman, margins, prediction_model, weights
from mor.dynamics.transfer import StateSpaceMatrices, TransferFunction
from mor.models.actuators import electric_drive
from rt_runtime import (
    AdaptedGain,
    AdaptiveCompensation,
    AdaptiveMpc,
    ConfigError,
    Extrapolator,
    Horizon,
    Identification,
    Loop,
    ModelBasedCompensator,
    ModelReferenceAdaptation,
    Mpc,
    PiLead,
    PredictionModel,
    horizon_leads,
)

DT = 1 / 1024
MODEL = prediction_model(electric_drive(), DT)
GOOD = {"prediction": 10, "output_weight": 64.0, "move_weight": 0.002}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prediction": 0}, r"prediction of Mpc must be a whole number of at least 1, got 0"),
        ({"control": 0}, r"control of Mpc must be a whole number of at least 1, got 0"),
        ({"control": 11}, r"control of Mpc must not exceed its prediction 10, got 11"),
        ({"output_weight": -1.0}, r"output_weight of Mpc must not be negative, got -1"),
        ({"move_weight": -1.0}, r"move_weight of Mpc must not be negative, got -1"),
        ({"output_weight": 0.0}, r"output_weight of Mpc must be positive for at least one output"),
        ({"move_weight": 0.0}, r"move_weight of Mpc must be positive, or the moves are not determined"),
        ({"output_weight": "heavy"}, r"output_weight of Mpc must be a number or one per channel, got 'heavy'"),
        ({"output_weight": [1.0, 2.0]}, r"output_weight of Mpc must be one number or 1 of them, got shape \(2,\)"),
        ({"move_weight": np.inf}, r"move_weight of Mpc must be finite"),
        ({"bounds": (1.0, 2.0)}, r"bounds of Mpc must contain 0, where every run starts, got \[1, 2\] for input 0"),
        ({"bounds": (2.0, -2.0)}, r"bounds of Mpc must contain 0"),
        ({"bounds": 2.0}, r"bounds of Mpc must be \(lower, upper\), got 2.0"),
        ({"rate_limit": 0.1}, r"rate_limit of Mpc must come with rate_unit 'per second' or 'per interval', got none"),
        ({"rate_limit": 0.1, "rate_unit": "m/s"}, r"rate_unit of Mpc must be one of 'per second', 'per interval'"),
        ({"rate_limit": -0.1, "rate_unit": "per second"}, r"rate_limit of Mpc must be positive"),
        ({"max_iterations": 0}, r"max_iterations of Mpc must be a whole number of at least 1, got 0"),
    ],
)
def test_horizon(change: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Mpc(MODEL, Horizon(**(GOOD | change)))


def test_several_problems_are_named_at_once() -> None:
    with pytest.raises(
        ConfigError, match=r"Mpc has 3 problems:\n  1\. control .*\n  2\. move_weight .*\n  3\. rate_limit"
    ):
        Mpc(MODEL, Horizon(**(GOOD | {"control": 11, "move_weight": -1.0, "rate_limit": 0.1})))


def test_a_control_rate_that_does_not_divide_the_loop_rate() -> None:
    loop = Loop(4000.0)
    for name in ("r", "y", "u", "iterations", "status"):
        loop.signal(name)
    with pytest.raises(ConfigError, match=r"Block 'mpc' must be built for dt = 0.001 s \(every 4 ticks at 4000 Hz\)"):
        loop.add("mpc", Mpc(MODEL, Horizon(**GOOD)), inputs=["r", "y"], outputs=["u", "iterations", "status"], every=4)


def test_models() -> None:
    unstable = TransferFunction([1.0], [1.0, -2.0])
    with pytest.raises(ConfigError, match=r"plant of prediction_model must be stable, got an eigenvalue of size 1\.0"):
        prediction_model(unstable, DT)
    with pytest.raises(ConfigError, match=r"must be observable, but the mode with eigenvalue 1.* does not show"):
        prediction_model(TransferFunction([1.0], [1.0, 0.0]), DT)
    with pytest.raises(ConfigError, match=r"plant of prediction_model must have no direct feedthrough"):
        prediction_model(TransferFunction([1.0, 1.0], [1.0, 2.0]), DT)
    with pytest.raises(ConfigError, match=r"must be continuous or sampled at dt = 0.001 s, got dt = 0.002 s"):
        prediction_model(electric_drive().discretise(0.002), 0.001)
    with pytest.raises(ConfigError, match=r"noise_variance of prediction_model must be positive, got 0"):
        prediction_model(electric_drive(), DT, noise_variance=0.0)
    with pytest.raises(ConfigError, match=r"A of PredictionModel must be stable, got an eigenvalue of size 1\.1"):
        PredictionModel(np.array([[1.1]]), np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)), DT)
    with pytest.raises(ConfigError, match=r"gain of PredictionModel must make the estimate converge"):
        PredictionModel(np.array([[1.0]]), np.ones((1, 1)), np.ones((1, 1)), np.zeros((1, 1)), DT)
    with pytest.raises(ConfigError, match=r"inputs of PredictionModel must be 1 to 6, got 7"):
        PredictionModel(np.array([[0.5]]), np.ones((1, 7)), np.ones((1, 1)), np.zeros((1, 1)), DT)
    with pytest.raises(ConfigError, match=r"States of PredictionModel must be 1 to 49 .*, got 50"):
        PredictionModel(0.5 * np.eye(50), np.ones((50, 1)), np.ones((1, 50)), np.zeros((50, 1)), DT)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": [-2.1, 1.2]}, r"a of Identification must be a stable model to start with, got a pole of size 1\.\d+"),
        ({"a": []}, r"a of Identification must have 1 to 12 numbers, got 0"),
        ({"b": [1.0, -1.0]}, r"b of Identification must have a static gain other than zero"),
        ({"drift": -1.0}, r"drift of Identification must not be negative, got -1"),
        ({"forgetting": 1.5}, r"forgetting of Identification must lie in \(0, 1\], got 1.5"),
        (
            {"covariance_cap": 1.0},
            r"covariance_cap of Identification must be at least the trace at the start, 3, got 1",
        ),
        ({"excitation": -1.0}, r"excitation of Identification must not be negative, got -1.0"),
        (
            {"bounds": ([0.0] * 3, [1.0] * 3)},
            r"bounds of Identification must contain the start, got -0.9 outside \[0, 1\]",
        ),
    ],
)
def test_identification(change: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        AdaptiveMpc(Identification(**({"a": [-0.9], "b": [0.1, 0.0]} | change)), Horizon(**GOOD), dt=DT)


@pytest.mark.parametrize("age", [-1.0, float("nan"), float("inf")])
def test_largest_age(age: float) -> None:
    with pytest.raises(ConfigError, match=r"largest_age of AdaptiveMpc must be a number of ticks from 0 on, got"):
        AdaptiveMpc(Identification([-0.9], [0.1]), Horizon(**GOOD), dt=DT, largest_age=age)


def test_extrapolator() -> None:
    with pytest.raises(ConfigError, match=r"order of Extrapolator must be 1 to 4, got 5"):
        Extrapolator(order=5, spacing=1, leads=1.0)
    with pytest.raises(ConfigError, match=r"spacing of Extrapolator must be a whole number of at least 1, got 0"):
        Extrapolator(order=4, spacing=0, leads=1.0)
    with pytest.raises(ConfigError, match=r"leads of Extrapolator must name at least one lead"):
        Extrapolator(order=4, spacing=1, leads=[])
    np.testing.assert_array_equal(horizon_leads(3, 4, offset=1.0), [5.0, 9.0, 13.0])


def test_compensators() -> None:
    with pytest.raises(ConfigError, match=r"bounds of PiLead must be \(lower, upper\) with lower < upper"):
        PiLead(1.0, 1.0, dt=DT, bounds=(1.0, -1.0))
    with pytest.raises(ConfigError, match=r"kp of PiLead must be finite, got nan"):
        PiLead(float("nan"), 1.0, dt=DT)
    with pytest.raises(ConfigError, match=r"denominator of PiLead must be stable, got 1 s \+ -3"):
        PiLead(1.0, 1.0, dt=DT, lead=([1.0, 1.0], [1.0, -3.0]))
    with pytest.raises(ConfigError, match=r"sections of ModelBasedCompensator must be stable, row 0 has a pole"):
        ModelBasedCompensator([[1.0, 0.0, 0.0, 1.0, -2.0, 1.0]], dt=DT)
    with pytest.raises(
        ConfigError, match=r"B of feedback of ModelBasedCompensator must have shape \(1, 1\), got \(2, 1\)"
    ):
        ModelBasedCompensator([[1.0, 0, 0, 1, 0, 0]], dt=DT, feedback=([[0.5]], [[1.0], [1.0]], [[1.0]], [[0.0]]))
    with pytest.raises(
        ConfigError, match=r"largest of adaptation of ModelBasedCompensator must be a positive number, got 0"
    ):
        ModelBasedCompensator([[1.0, 0, 0, 1, 0, 0]], dt=DT, adaptation=ModelReferenceAdaptation(1.0, 0))
    with pytest.raises(ConfigError, match=r"a0 of AdaptiveCompensation must start in \[0, 1\], got 2.0"):
        AdaptiveCompensation(AdaptedGain(2.0, 1.0, 0.0, 1.0), AdaptedGain(0.0, 1.0), dt=DT)
    with pytest.raises(ConfigError, match=r"gain of a1 of AdaptiveCompensation must not be negative, got -1.0"):
        AdaptiveCompensation(AdaptedGain(1.0, 1.0), AdaptedGain(0.0, -1.0), dt=DT)


def test_design() -> None:
    plant = electric_drive()
    with pytest.raises(ConfigError, match=r"order of inverse_with_low_pass must be at least the relative degree 2"):
        inverse_with_low_pass(plant, order=1, corner=50.0, dt=DT)
    with pytest.raises(ConfigError, match=r"plant of inverse_with_low_pass must have stable zeros, got one at 3 rad"):
        inverse_with_low_pass(TransferFunction([1.0, -3.0], [1.0, 2.0, 1.0]), order=1, corner=50.0, dt=DT)
    with pytest.raises(ConfigError, match=r"plant of companion must have a numerator of lower degree"):
        companion(TransferFunction([1.0, 0.0], [1.0, 1.0]), subdiagonal=[])
    with pytest.raises(ConfigError, match=r"subdiagonal and input_gain of companion must not be zero"):
        companion(plant, subdiagonal=[0.0])
    with pytest.raises(ConfigError, match=r"error of weights must be positive, got 0"):
        weights(error=0.0, move=1.0)
    with pytest.raises(ConfigError, match=r"R of kalman must have shape \(1, 1\)"):
        kalman([[0.5]], [[1.0]], [[1.0]], np.eye(2))
    with pytest.raises(ConfigError, match=r"frequency of margins must be positive and increase strictly"):
        margins([2.0, 1.0], [1.0, 1.0])
    with pytest.raises(ConfigError, match=r"response of margins must have shape \(2,\)"):
        margins([1.0, 2.0], [1.0])


def test_a_mode_that_the_output_does_not_show_is_fine_when_it_decays() -> None:
    hidden = StateSpaceMatrices(np.diag([-10.0, -20.0]), np.ones((2, 1)), np.array([[1.0, 0.0]]), np.zeros((1, 1)))
    assert prediction_model(hidden, DT).n_out == 1
