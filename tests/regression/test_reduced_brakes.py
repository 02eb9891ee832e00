"""Networks for the brakes of the motorcycle: what they must reach on points and on a ride they have not seen.

Renewed with `hmor bench training`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from hmor.studies.motorcycle.brakes import pad_gate
from mor import MemoryModel, fit_pce, fit_pce_memory, lhs, nrmse
from mor.data.dataset import Dataset
from mor.models.motorcycle import brake, brake_space, sample_static
from mor.models.motorcycle.brake_runs import brake_domain, brake_history, sample_runs
from mor.models.motorcycle.model import hybrid
from training import FfnnConfig, MemoryConfig, fit_ffnn, fit_ffnn_memory

SIDES = ("rear", "front")


def parts(side: str) -> tuple[Dataset, Dataset, Dataset]:
    return sample_static(side, lhs(brake_space(side), 200, seed=1)).split(0.7, 0.15, 0.15, seed=0)


def bounds(side: str) -> tuple[list[float], list[float]]:
    space = brake_space(side)
    return [m.lower for m in space.marginals], [m.upper for m in space.marginals]


@pytest.mark.parametrize("side", SIDES)
def test_200_points_are_enough_for_the_static_map(side: str) -> None:
    train, valid, test = parts(side)
    model = fit_ffnn(train, valid=valid, domain=bounds(side))
    assert model.describe()["layers"] == [2, 10, 1]
    assert nrmse(model.predict(test.X)[:, 0], test.Y[:, 0]) < 0.005
    dense = sample_static(side, lhs(brake_space(side), 5000, seed=9))
    assert nrmse(model.predict(dense.X)[:, 0], dense.Y[:, 0]) < 0.005


@pytest.mark.parametrize("side", SIDES)
def test_without_lever_force_the_static_models_of_the_study_give_no_torque(side: str) -> None:
    """NRMSE on 5000 new points: networks 0.05 % (rear) and 0.08 % (front), polynomials 0.003 % and 0.055 %."""
    train, valid, _ = parts(side)
    both = Dataset(np.vstack([train.X, valid.X]), np.vstack([train.Y, valid.Y]), train.inputs, train.outputs)
    dense = sample_static(side, lhs(brake_space(side), 5000, seed=9))
    gate = pad_gate(side)
    network = fit_ffnn(gate.open(train), valid=gate.open(valid), config=FfnnConfig(restarts=3), domain=bounds(side))
    expansion = fit_pce(gate.open(both), brake_space(side))
    for model, most in ((gate.around(network), 0.002), (gate.around(expansion), 0.001)):
        assert nrmse(model.predict(dense.X)[:, 0], dense.Y[:, 0]) < most
        speed = np.linspace(-10.0, 490.0, 501)
        assert not model.predict(np.column_stack([0.0 * speed, speed])).any()
        touching = model.predict(np.column_stack([np.full_like(speed, 0.5 * gate.span), speed]))
        assert np.abs(touching[speed >= 0.0]).max() < 0.5


@pytest.mark.train
def test_levenberg_marquardt_is_far_ahead_of_adam_in_the_same_time() -> None:
    import torch

    torch.set_num_threads(1)
    train, valid, _ = parts("rear")
    dense = sample_static("rear", lhs(brake_space("rear"), 5000, seed=9))
    adam = FfnnConfig(trainer="adam", restarts=1, iterations=10**6, patience=10**6, seconds=1.0)
    errors = {}
    for name, config in (("lm", FfnnConfig(restarts=2, seconds=1.0)), ("adam", adam)):
        model = fit_ffnn(train, valid=valid, config=config, domain=bounds("rear"))
        errors[name] = float(np.mean((model.predict(dense.X) - dense.Y) ** 2))
    assert errors["adam"] > 10.0 * errors["lm"]


@cache
def ride() -> dict[str, np.ndarray]:
    """Return lever force, wheel speeds and torques of the full-order motorcycle in its 45 s scenario at 0.1 ms."""
    names = ["F_br", "w_rw", "w_fw", "tau_rw", "tau_fw"]
    run = hybrid(every=1).run(record=names)
    return {name: run[name] for name in names}


EVERY = 10
"""Ticks of 0.1 ms in a step of the models with memory, as in the motorcycle study."""


@cache
def operating_runs(side: str) -> tuple[Dataset, Dataset]:
    """Return the runs of the motorcycle study to fit to and to choose by."""
    first = {"rear": 1000, "front": 1100}[side]
    seeds = range(first, first + 6), range(first + 6, first + 8)
    train, valid = (sample_runs(side, some, duration=30.0, every=EVERY, volume=True) for some in seeds)
    return train, valid


def in_free_run(model: MemoryModel, u: np.ndarray) -> np.ndarray:
    """Return what the model gives at each tick: it is held between its steps, as in the loop."""
    return np.repeat(model.rollout(u[::EVERY]), EVERY, axis=0)[: len(u)]


@pytest.mark.slow
@pytest.mark.parametrize("side", SIDES)
def test_a_brake_with_memory_follows_the_ride_in_free_run(side: str) -> None:
    part = brake(side)
    u = np.column_stack([ride()[port.name] for port in part.inputs])
    truth = ride()[part.outputs[0].name]
    assert len(u) >= 450_000
    config = MemoryConfig(FfnnConfig((10, 10), restarts=1, iterations=400, seed=1), rows=2500, iterations=0)
    history, (train, valid) = brake_history(side, dt=EVERY * 1e-4, volume=True), operating_runs(side)
    model = fit_ffnn_memory(train, history, valid=valid, config=config, domain=brake_domain(side))
    y = in_free_run(model, u)
    error = nrmse(y[:, 0], truth)
    assert error < 0.005
    lower, upper = (bound[: y.shape[1]] for bound in model.bounds)  # those of the response; the rest bounds its memory
    assert np.all(y >= lower) and np.all(y <= upper)
    assert not y[:10_000, 0].any() and not y[-10_000:, 0].any()  # nobody pulls the lever
    train, valid, _ = parts(side)
    memoryless = fit_ffnn(train, valid=valid, domain=bounds(side))
    assert nrmse(memoryless.predict(u)[:, 0], truth) > 3 * error


@pytest.mark.slow
@pytest.mark.parametrize("side", SIDES)
def test_a_polynomial_brake_with_memory_does_too(side: str) -> None:
    part = brake(side)
    u = np.column_stack([ride()[port.name] for port in part.inputs])
    truth = ride()[part.outputs[0].name]
    history, (train, valid) = brake_history(side, dt=EVERY * 1e-4, volume=True), operating_runs(side)
    model = fit_pce_memory(
        train, history, valid=valid, rows=1500, draws=4, iterations=0, domain=brake_domain(side), prune=0.01
    )
    y = in_free_run(model, u)
    assert nrmse(y[:, 0], truth) < 0.005
    assert not y[:10_000, 0].any() and not y[-10_000:, 0].any()
