"""Campaigns: overhead per sample, two processes against one, memory while trajectories stream to disk."""

from __future__ import annotations

import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from mor import FunctionModel, ParameterSpace, Trajectory, Uniform, random_design, run_design

SPACE = ParameterSpace({"a": Uniform(0, 1), "b": Uniform(0, 1)})
TIME = np.arange(1000) * 1e-3


def waiting(a: float, b: float, seconds: float) -> float:
    """A model that takes a given time without a processor: what is left is the campaign's."""
    time.sleep(seconds)
    return a + b


def working(a: float, b: float, turns: int) -> float:
    """A model of a fixed amount of arithmetic."""
    x = a
    for _ in range(turns):
        x = 0.5 * x + b
    return x


def streaming(a: float, b: float) -> Trajectory:
    """A trajectory of 1000 instants in four columns, 40 kB on disk."""
    columns = [np.sin(a * TIME), np.cos(b * TIME), a * TIME, b * TIME]
    return Trajectory(TIME, np.column_stack(columns), {"x": "m", "v": "m/s", "f": "N", "u": "V"})


def campaign(model: FunctionModel, n: int, **options: object) -> float:
    with tempfile.TemporaryDirectory(dir=os.environ.get("HMOR_BENCH_FOLDER")) as folder:
        design = random_design(SPACE, n, seed=0)
        start = time.perf_counter()
        run_design(model, design, store=Path(folder) / "store", progress=False, **options)  # type: ignore[arg-type]
        return time.perf_counter() - start


def alone(model: FunctionModel, n: int) -> float:
    """The same samples in a plain loop."""
    points = list(random_design(SPACE, n, seed=0))
    start = time.perf_counter()
    for parameters in points:
        model.evaluate(parameters)
    return time.perf_counter() - start


def resident_kib() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024


def overhead(quick: bool) -> dict[str, object]:
    n, model = (100 if quick else 300), FunctionModel(waiting, ["y"], fixed={"seconds": 0.010})
    campaign(model, 5, workers=1)
    worker, in_line, processor = [], [], []
    for _ in range(3):
        loop = alone(model, n)
        before = time.process_time()
        worker.append((campaign(model, n, workers=1) - loop) / n * 1e3)
        processor.append((time.process_time() - before) / n * 1e3)
        in_line.append((campaign(model, n, executor="serial") - loop) / n * 1e3)
    return {
        "overhead_one_process_ms_per_sample": min(worker),
        "overhead_in_line_ms_per_sample": min(in_line),
        "overhead_processor_time_ms_per_sample": min(processor),
        "overhead_goal_ms_per_sample": 1.0,
    }


def speed_up(quick: bool) -> dict[str, object]:
    turns = 10_000
    per_turn = min(alone(FunctionModel(working, ["y"], fixed={"turns": turns}), 5) for _ in range(3)) / 5 / turns
    model = FunctionModel(working, ["y"], fixed={"turns": int(0.050 / per_turn)})
    n, ratios = (40 if quick else 100), []
    for _ in range(2 if quick else 3):
        ratios.append(campaign(model, n, workers=1) / campaign(model, n, workers=2))
    idle = FunctionModel(waiting, ["y"], fixed={"seconds": 0.050})
    return {
        "two_processes_ratio": max(ratios),
        "two_processes_ratio_of_each_try": str(np.round(ratios, 3).tolist()),
        "two_processes_ratio_of_a_model_that_waits": campaign(idle, n, workers=1) / campaign(idle, n, workers=2),
    }


def memory(quick: bool) -> dict[str, object]:
    n, seen = (1000 if quick else 10_000), []
    import mor.campaign.store as module

    add = module.Store.add

    def watched(self: module.Store, outcomes: object) -> None:
        add(self, outcomes)  # type: ignore[arg-type]
        seen.append(resident_kib())

    module.Store.add = watched  # type: ignore[method-assign,assignment]
    try:
        seconds = campaign(FunctionModel(streaming), n, workers=2)
    finally:
        module.Store.add = add  # type: ignore[method-assign]
    tenth = len(seen) // 10
    return {
        "trajectories": n,
        "trajectories_per_s": n / seconds,
        "streamed_MiB": n * 40 / 1024,
        "memory_after_a_tenth_MiB": seen[tenth] / 1024,
        "memory_at_the_end_MiB": seen[-1] / 1024,
        "memory_growth_MiB": (seen[-1] - seen[tenth]) / 1024,
    }


def run(quick: bool) -> dict[str, object]:
    free = len(os.sched_getaffinity(0)) - os.getloadavg()[0]
    return {
        **overhead(quick),
        **speed_up(quick),
        "two_processes_goal": 1.8,
        "free_processors_at_the_start": free,
        **memory(quick),
        "memory_goal": "flat",
    }
