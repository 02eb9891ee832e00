"""Tracking control: the quadratic programme beside daqp, a tick of MPC and of adaptive MPC, and 200 virtual tests.

The worst tick is measured by bench_worst_case.py.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import daqp
import numpy as np

from mor import prediction_model
from mor.dynamics.control_design import arx_parameters
from mor.dynamics.transfer import TransferFunction
from mor.models.actuators import electric_drive
from rt_runtime import AdaptiveMpc, Horizon, Identification, Loop, Mpc, StateSpace, Table, previous
from rt_runtime._core import MoveQp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.reference.control import NumpyAdaptiveMpc, predictions, running_sum

WEIGHT = 64.073
CASES = {"inactive": 1e3, "mixed": 0.05, "saturated": 0.005}
"""Bound on each move of the electric drive; the reference is a 3 Hz sine."""


def problem(channels: int, moves: int) -> tuple[np.ndarray, np.ndarray]:
    """Hessian of `channels` weakly coupled drives over `moves` moves, and linear terms along a sine."""
    model = electric_drive().discretise(1 / 1024)
    _, _, theta = predictions(model.A, model.B, model.C, moves, moves)
    coupling = 0.9 * np.eye(channels) + 0.1
    theta = np.kron(theta, coupling)
    hessian = WEIGHT**2 * theta.T @ theta + 0.05**2 * np.eye(channels * moves)
    t = np.arange(2000) / 1024
    error = 0.01 * np.sin(2 * np.pi * 3 * t[:, None] + np.arange(channels))
    return hessian, np.ascontiguousarray(-(WEIGHT**2) * np.tile(error, (1, moves)) @ theta)


def quadratic_programme(channels: int, repeats: int) -> dict[str, object]:
    """Time per solve along the sine, as a controller meets it, and in random order, beside daqp along the sine.

    daqp starts cold, as our cold solves of the same problems do. Its own solve time leaves out its set-up, which holds
    the minimum without constraints, and the call; ours includes both.
    """
    moves = 10
    n = channels * moves
    hessian, linear = problem(channels, moves)
    rows = running_sum(channels, moves)
    shuffled = np.ascontiguousarray(np.random.default_rng(0).permutation(linear))
    results: dict[str, object] = {}
    for name, rate in CASES.items():
        upper = np.concatenate([np.full(n, rate), np.full(n, 20 * rate)])
        qp = MoveQp(channels, moves)
        qp.set_hessian(hessian)
        label = f"qp_{channels}x{moves}_{name}"

        def solve(f: np.ndarray, qp: MoveQp = qp, upper: np.ndarray = upper) -> object:
            return qp.time_solves(f, -upper, upper)

        results[f"{label}_us"] = best(solve, linear, repeats)
        results[f"{label}_random_order_us"] = best(solve, shuffled, repeats)
        results[f"{label}_iterations_mean"] = qp.time_solves(linear, -upper, upper) / len(linear)
        sense = np.zeros(2 * n, dtype=np.int32)
        cold = [cold_solve(qp, f, upper) for f in linear[::10]]
        results[f"{label}_cold_us"] = float(np.median([us for us, _ in cold]))
        results[f"{label}_cold_worst_us"] = max(us for us, _ in cold)
        results[f"{label}_cold_iterations_max"] = max(iterations for _, iterations in cold)

        def other(f: np.ndarray, upper: np.ndarray = upper, sense: np.ndarray = sense) -> float:
            """Its own time of a solve, the least of five as well."""
            answers = [daqp.solve(hessian, f, rows, upper, -upper, sense) for _ in range(5)]
            return 1e6 * min(float(answer[3]["solve_time"]) for answer in answers)

        peer = [other(f) for f in linear[::10]]
        results[f"{label}_daqp_us"] = float(np.median(peer))
        results[f"{label}_daqp_worst_us"] = max(peer)
    goals = {1: (0.6, 1.5, 4.0), 6: (15.0, 80.0, 90.0)}[channels]
    results |= {
        f"qp_{channels}x{moves}_goal_us": list(goals),
        f"qp_{channels}x{moves}_iteration_bound": qp.max_iterations,
    }
    return results | ({"qp_6x10_cold_goal_us": {"mixed": 90.0, "saturated": 180.0}} if channels == 6 else {})


def cold_solve(qp: MoveQp, f: np.ndarray, upper: np.ndarray) -> tuple[float, int]:
    """Least of five times of a solve without an active set to start from, in us with its call, and its iterations."""
    times, iterations = [], 0
    for _ in range(5):
        qp.reset()
        begin = time.perf_counter()
        _, _, iterations = qp.solve(f, -upper, upper)
        times.append(time.perf_counter() - begin)
    return 1e6 * min(times), iterations


def best(solve: Callable[[np.ndarray], object], linear: np.ndarray, repeats: int) -> float:
    """Least time per problem of several passes in us; the machine is shared."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        solve(linear)
        times.append(time.perf_counter() - begin)
    return 1e6 * min(times) / len(linear)


def tick_time(loop: Loop, ticks: int, repeats: int) -> float:
    """Median over slices of the time per tick in us."""
    core, _ = loop._build(1)
    core.reset()
    core.run(1000)
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        core.run(ticks)
        times.append((time.perf_counter() - begin) / ticks)
    return 1e6 * float(np.median(times))


def closed_loop(block: Mpc | AdaptiveMpc, plant: TransferFunction, rate: float, amplitude: float) -> Loop:
    """Sine reference, plant, controller."""
    t = np.arange(250_000) / rate  # longer than any measurement here
    loop = Loop(rate)
    outputs = ["command", *(f"out{i}" for i in range(1, block.n_out))]
    for name in ("reference", "measured", *outputs):
        loop.signal(name)
    wave = amplitude * np.sin(2 * np.pi * 3 * t)
    loop.add("reference", Table(t, wave), outputs=["reference"])
    model = plant.state_space()
    physical = StateSpace(model.A, model.B, model.C, dt=1 / rate, update="start")
    loop.add("plant", physical, inputs=[previous("command")], outputs=["measured"])
    loop.add("controller", block, inputs=["reference", "measured"], outputs=outputs)
    loop.record([])
    return loop


def controllers(quick: bool) -> dict[str, object]:
    """Tick of MPC and adaptive MPC in a loop with its plant, and the same adaptive controller in numpy with daqp."""
    ticks, repeats = (2000, 10) if quick else (5000, 40)
    drive = electric_drive()
    mpc = Mpc(prediction_model(drive, 1 / 1024), Horizon(10, WEIGHT, 0.002, bounds=(-0.25, 0.25)))
    limited = Mpc(
        prediction_model(drive, 1 / 1024),
        Horizon(10, WEIGHT, 0.002, bounds=(-0.25, 0.25), rate_limit=0.1, rate_unit="per second"),
    )
    motor, rate = TransferFunction([5657.0], [1.0, 78.62, 5657.0]), 2500.0
    sampled = motor.discretise(1 / rate)
    a, b = arx_parameters(motor, 1 / rate)
    adaptive = AdaptiveMpc(
        Identification(a, b), Horizon(10, 5.204, 0.096, bounds=(-200.0, 200.0)), dt=1 / rate, noise_variance=1e-3
    )
    twin = NumpyAdaptiveMpc(
        a, b, dt=1 / rate, steps=10, moves=10, wy=5.204, wu=0.096, bounds=(-200.0, 200.0), noise=1e-3,
        start_covariance=1e-3 * np.eye(3),
    )  # fmt: skip
    mpc_us = tick_time(closed_loop(mpc, drive, 1024.0, 0.005), ticks, repeats)
    limited_us = tick_time(closed_loop(limited, drive, 1024.0, 0.02), ticks, repeats)
    adaptive_us = tick_time(closed_loop(adaptive, motor, rate, 20.0), ticks, repeats)
    x, times = np.zeros(2), []
    for k in range(300 if quick else 1500):
        y, r = float((sampled.C @ x)[0]), np.array([20.0 * np.sin(2 * np.pi * 3 * k / rate)])
        begin = time.perf_counter()
        u = twin.step(r, y)
        times.append(time.perf_counter() - begin)
        x = sampled.A @ x + sampled.B[:, 0] * u
    numpy_us = 1e6 * float(np.median(times))
    return {
        "mpc_tick_us": mpc_us,
        "mpc_tick_goal_us": 3.0,
        "mpc_tick_saturated_us": limited_us,
        "adaptive_mpc_tick_us": adaptive_us,
        "adaptive_mpc_tick_goal_us": 6.0,
        "adaptive_mpc_numpy_daqp_us": numpy_us,
        "adaptive_mpc_speedup": numpy_us / adaptive_us,
        "adaptive_mpc_speedup_goal": 50.0,
    }


def virtual_tests(runs: int) -> dict[str, object]:
    """Wall time of a design of virtual tests of the frame with its damper (41 s of motion each, all processors)."""
    from hmor.studies.base import Options
    from hmor.study.simulate import built_in_test

    study = built_in_test("frame_mr_damper")
    study.simulate(Options())
    begin = time.perf_counter()
    found = study.simulate_many(runs, Options())
    seconds = time.perf_counter() - begin
    return {
        f"frame_mr_damper_{runs}_runs_s": seconds,
        "frame_mr_damper_runs_per_s": runs / seconds,
        "frame_mr_damper_200_runs_goal_s": 20.0,
        "frame_mr_damper_unstable": found.unstable,
    }


def run(quick: bool) -> dict[str, object]:
    """Measure all of it; the counted allocations are checked by tests/cpp/control.cpp."""
    repeats = 3 if quick else 15
    results = quadratic_programme(1, repeats) | quadratic_programme(6, max(2, repeats // 3))
    return results | controllers(quick) | virtual_tests(20 if quick else 200)
