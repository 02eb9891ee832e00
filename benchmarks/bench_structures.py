"""Virtual tests and integrators of structural models: how much faster than the clock, and what a step costs."""

from __future__ import annotations

import time

import numpy as np

from hmor.studies.structural.benchmark_loop import benchmark_loop
from mor.dynamics.integrators import generalized_alpha, ground_load, newmark, operator_splitting, rk4
from mor.excitation import synthetic_ground_motion
from mor.models.benchmark_frame import benchmark_frame
from mor.models.mr_damper import semi_active_part


def fastest(job: object, repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        job()  # type: ignore[operator]
        best = min(best, time.perf_counter() - start)
    return best


def run(quick: bool) -> dict[str, object]:
    """Time the benchmark's virtual test at 4096 Hz, the MR damper, and one step of each integrator of its frame."""
    repeats = 2 if quick else 10
    ground = synthetic_ground_motion(seed=1, duration=20.0, peak=1.25)
    case = benchmark_frame(4)
    loop = benchmark_loop(case, ground)
    loop.record(["measured", "target"])
    taken = fastest(lambda: loop.run(ground.duration), repeats)
    damper = semi_active_part()
    t = np.arange(81920) / 4096
    velocity = 0.1 * np.cos(20 * t)
    moves = {"velocity": velocity, "target": 0.005 * np.sin(20 * t), "target_velocity": velocity}
    stroked = fastest(lambda: damper.simulate(moves, dt=1 / 4096), repeats)
    results: dict[str, object] = {
        "virtual_test_20s_4096Hz_s": taken,
        "virtual_test_times_real_time": ground.duration / taken,
        "mr_damper_20s_4096Hz_s": stroked,
    }
    fine = ground.resampled(1000.0)
    load = ground_load(case.reference, fine)
    for method in (newmark, generalized_alpha, operator_splitting, rk4):
        spent = fastest(lambda method=method: method(case.reference, load, dt=fine.dt), 1 if quick else 3)  # type: ignore[misc]
        results[f"{method.__name__}_step_us"] = 1e6 * spent / len(load)
    return results
