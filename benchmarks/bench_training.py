"""Networks for the brakes of the motorcycle: accuracy, the trainers side by side, memory in free run, speed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mor import Gate, lhs, nrmse
from mor.data.dataset import Dataset
from mor.models.motorcycle import brake, brake_space, sample_static, touching_force
from mor.models.motorcycle.brake_runs import brake_domain, brake_history, sample_runs
from mor.models.motorcycle.model import hybrid
from training import FfnnConfig, MemoryConfig, fit_ffnn, fit_ffnn_memory

SIDES = ("rear", "front")


def run(quick: bool) -> dict[str, object]:
    sides = SIDES[:1] if quick else SIDES
    results: dict[str, object] = {}
    for side in sides:
        results |= static(side)
    results |= trainers("rear")
    results |= speed("rear")
    ride = hybrid(every=1).run(record=["F_br", "w_rw", "w_fw", "tau_rw", "tau_fw"])
    for side in sides:
        results |= memory(side, ride, quick)
    return results


def parts(side: str, seed: int = 1) -> tuple[Dataset, Dataset, Dataset]:
    train, valid, test = sample_static(side, lhs(brake_space(side), 200, seed=seed)).split(0.7, 0.15, 0.15, seed=0)
    return train, valid, test


def bounds(side: str) -> tuple[list[float], list[float]]:
    space = brake_space(side)
    return [m.lower for m in space.marginals], [m.upper for m in space.marginals]


def static(side: str) -> dict[str, object]:
    """200 Latin-hypercube points, 2-10-1, split 70/15/15; three designs."""
    errors, seconds = [], []
    for seed in (1, 2, 3):
        train, valid, test = parts(side, seed)
        began = time.perf_counter()
        model = fit_ffnn(train, valid=valid, domain=bounds(side))
        seconds.append(time.perf_counter() - began)
        errors.append(nrmse(model.predict(test.X)[:, 0], test.Y[:, 0]))
    return {
        f"static_{side}_test_nrmse": float(np.median(errors)),
        f"static_{side}_test_nrmse_worst_of_3_designs": float(max(errors)),
        f"static_{side}_goal": 0.005,
        f"static_{side}_fit_s": float(np.median(seconds)),
    }


def trainers(side: str) -> dict[str, object]:
    """Levenberg-Marquardt, then Adam (through Lightning, and as a bare torch loop) with the time it took."""
    train, valid, _ = parts(side)
    dense = sample_static(side, lhs(brake_space(side), 20_000, seed=9))
    began = time.perf_counter()
    lm = fit_ffnn(train, valid=valid, config=FfnnConfig(restarts=2), domain=bounds(side))
    seconds = time.perf_counter() - began
    warm = FfnnConfig(trainer="adam", restarts=1, iterations=2)
    fit_ffnn(train, valid=valid, config=warm, domain=bounds(side))  # loading torch is not training
    adam = fit_ffnn(
        train, valid=valid, domain=bounds(side),
        config=FfnnConfig(trainer="adam", restarts=1, iterations=10**6, seconds=seconds, patience=10**6),
    )  # fmt: skip
    bare = _bare_adam(train, bounds(side), seconds)

    def mse(predict: Callable[[Any], Any]) -> float:
        return float(np.mean((predict(dense.X) - dense.Y) ** 2))

    ours = mse(lm.predict)
    return {
        "trainers_wall_s": seconds,
        "trainers_lm_test_mse": ours,
        "trainers_adam_test_mse": mse(adam.predict),
        "trainers_bare_adam_test_mse": mse(bare),
        "trainers_adam_over_lm": mse(adam.predict) / ours,
        "trainers_bare_adam_over_lm": mse(bare) / ours,
        "trainers_goal_adam_over_lm": 10.0,
    }


def _bare_adam(train: Dataset, domain: tuple[list[float], list[float]], seconds: float) -> Callable[[Any], Any]:
    """Full-batch Adam without any framework around it, the best Adam can do in the time; step size 0.01."""
    import torch

    from training.trainers.adam import FfnnModule
    from training.trainers.scaled import scale, to_unit

    data = scale(train, None, domain)
    layout = data.layout((10,), "tanh")
    module = FfnnModule(layout, layout.initial(np.random.default_rng([0, 0])), 1e-2)
    X, Y = torch.from_numpy(data.X), torch.from_numpy(data.Y)
    optimiser = torch.optim.Adam(module.parameters(), lr=1e-2)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        optimiser.zero_grad()
        torch.nn.functional.mse_loss(module(X), Y).backward()
        optimiser.step()
    theta = module.theta
    low, high = data.range
    return lambda rows: low + 0.5 * (layout.forward(theta, to_unit(rows, *data.domain)) + 1.0) * (high - low)


def speed(side: str) -> dict[str, object]:
    """One evaluation beside the cheapest numpy formulation of the same network; a million points."""
    train, valid, _ = parts(side)
    model = fit_ffnn(train, valid=valid, config=FfnnConfig(restarts=1, iterations=50), domain=bounds(side))
    (W1, W2), (b1, b2), _ = model.folded
    A1, A2 = np.ascontiguousarray(W1.T), np.ascontiguousarray(W2.T)
    x = train.X[:1]
    many = np.random.default_rng(0).uniform(*bounds(side), (1_000_000, 2))
    ours, bare = _best(lambda: model.predict(x), 2000), _best(lambda: np.tanh(x @ A1 + b1) @ A2 + b2, 2000)
    return {
        "evaluation_us": 1e6 * ours,
        "evaluation_over_bare_numpy": ours / bare,
        "evaluation_goal_over_bare_numpy": 2.0,
        "million_points_s": _best(lambda: model.predict(many), 1),
    }


def _best(work: Callable[[], object], number: int) -> float:
    times = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(number):
            work()
        times.append((time.perf_counter() - began) / number)
    return min(times)


def memory(side: str, ride: Any, quick: bool) -> dict[str, object]:
    """The driving scenario of 45 s at 0.1 ms in free run; it is in no training run."""
    part = brake(side)
    u = np.column_stack([ride[port.name] for port in part.inputs])
    truth = ride[part.outputs[0].name]
    train, valid, _ = parts(side)
    gate = Gate(part.inputs[0].name, touching_force(side))
    memoryless = gate.around(fit_ffnn(gate.open(train), valid=gate.open(valid), domain=bounds(side)))
    began = time.perf_counter()
    runs = [sample_runs(side, seeds, duration=60.0, volume=True) for seeds in (range(6), range(100, 102))]
    sampled = time.perf_counter()
    config = MemoryConfig(FfnnConfig((8, 8), restarts=1, iterations=200 if quick else 400), iterations=0)
    model = fit_ffnn_memory(
        runs[0], brake_history(side, volume=True), valid=runs[1], config=config, domain=brake_domain(side)
    )
    fitted = time.perf_counter()
    torque = model.rollout(u)[:, 0]
    free = _best(lambda: model.rollout(u), 1)
    full = _best(lambda: part.simulate(u, dt=1e-4), 1)
    return {
        f"memory_{side}_scenario_nrmse": nrmse(torque, truth),
        f"memory_{side}_goal": 0.005,
        f"memory_{side}_memoryless_nrmse": nrmse(memoryless.predict(u)[:, 0], truth),
        f"memory_{side}_sampling_s": sampled - began,
        f"memory_{side}_fit_s": fitted - sampled,
        f"memory_{side}_time_per_step_us": 1e6 * free / len(u),
        f"memory_{side}_full_order_over_reduced_time": full / free,
    }
