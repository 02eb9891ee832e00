"""Campaigns: overhead per sample, a million samples, workers, memory while trajectories stream, cost of a cluster.

`cluster_model` is no measurement at 1000 workers: it is what the time of a task, measured with the scheduler and two
workers on this machine, lets through there. A chunk for W threads holds max(50 ms, W x 2 ms) of work, so the scheduler
is busy W x task / chunk of the time, and beyond 1 the campaign is slower by that factor. The network is not in it.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from mor import FunctionModel, ParameterSpace, Trajectory, Uniform, random_design, run_design

SPACE = ParameterSpace({"a": Uniform(0, 1), "b": Uniform(0, 1)})
TIME = np.arange(100) * 1e-2


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
    """A trajectory of 100 instants in four columns, 4 kB on disk."""
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


def bare_ratio(model: FunctionModel, n: int) -> float:
    """The same samples in bare processes: one takes all, two take half each; what the processors themselves give."""
    seconds = {1: np.inf, 2: np.inf}
    for k in (1, 2, 1, 2):
        jobs = [multiprocessing.get_context("fork").Process(target=alone, args=(model, n // k)) for _ in range(k)]
        start = time.perf_counter()
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()
        seconds[k] = min(seconds[k], time.perf_counter() - start)
    return seconds[1] / seconds[2]


def speed_up(quick: bool) -> dict[str, object]:
    turns = 10_000
    per_turn = min(alone(FunctionModel(working, ["y"], fixed={"turns": turns}), 5) for _ in range(3)) / 5 / turns
    model = FunctionModel(working, ["y"], fixed={"turns": int(0.050 / per_turn)})
    n, one, two = (40 if quick else 100), [], []
    for _ in range(2 if quick else 3):
        one.append(campaign(model, n, workers=1))
        two.append(campaign(model, n, workers=2))
    idle = FunctionModel(waiting, ["y"], fixed={"seconds": 0.050})
    return {
        "two_processes_ratio": min(one) / min(two),
        "two_processes_ratio_of_each_try": str(np.round(np.divide(one, two), 3).tolist()),
        "two_processes_ratio_of_this_host": bare_ratio(model, n),
        "two_processes_ratio_of_a_model_that_waits": campaign(idle, n, workers=1) / campaign(idle, n, workers=2),
    }


def memory(quick: bool) -> dict[str, object]:
    n, seen = (1000 if quick else 100_000), []
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
        "streamed_MiB": n * 4 / 1024,
        "memory_after_a_tenth_MiB": seen[tenth] / 1024,
        "memory_at_the_end_MiB": seen[-1] / 1024,
        "memory_growth_MiB": (seen[-1] - seen[tenth]) / 1024,
    }


def million(quick: bool) -> dict[str, object]:
    """A model of about 10 us: what a sample costs more than in a plain loop, the store, and a second run."""
    n, results = (100_000 if quick else 1_000_000), {}
    turns = 1000
    per_turn = min(alone(FunctionModel(working, ["y"], fixed={"turns": turns}), 200) for _ in range(3)) / 200 / turns
    model = FunctionModel(working, ["y"], fixed={"turns": int(1e-5 / per_turn)})
    loop = alone(model, n)
    results["million.samples"] = n
    results["million.model_us"] = 1e6 * loop / n
    design = random_design(SPACE, n, seed=0)
    raw = 8 * n * (design.points.shape[1] + 1)
    for label, options in (
        ("in_line", {"executor": "serial"}),
        ("one_process", {"workers": 1}),
        ("two_processes", {"workers": 2}),
    ):
        with tempfile.TemporaryDirectory(dir=os.environ.get("HMOR_BENCH_FOLDER")) as folder:
            start = time.perf_counter()
            run_design(model, design, store=Path(folder) / "s", progress=False, **options)  # type: ignore[arg-type]
            seconds = time.perf_counter() - start
            results[f"million.{label}_us_per_sample"] = 1e6 * seconds / n
            results[f"million.{label}_overhead_us_per_sample"] = 1e6 * (seconds - loop) / n
            size = sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file())
            start = time.perf_counter()
            run_design(model, design, store=Path(folder) / "s", progress=False, **options)  # type: ignore[arg-type]
            results[f"million.{label}_resume_s"] = time.perf_counter() - start
            results["million.store_over_raw_numbers"] = size / raw
    return results | {"million.goals": "overhead 20 us, store 1.2 times, resume 2 s"}


def workers(quick: bool) -> dict[str, object]:
    """Samples of 20 ms that wait (more workers than processors): what 2, 4 and 8 processes do against one."""
    model, n = FunctionModel(waiting, ["y"], fixed={"seconds": 0.020}), 80 if quick else 400
    one = campaign(model, n, workers=1)
    return {f"workers.{k}_ratio": one / campaign(model, n, workers=k) for k in (2, 4, 8)}


def cluster(quick: bool) -> dict[str, object]:
    """The same through a dask scheduler of this machine, its time for a task, and what that means for 1000 workers."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        return {"cluster": "left out: dask.distributed is not installed (extra dask)"}
    from mor.campaign.workers.chunk import CHUNK
    from mor.campaign.workers.cluster import PER_TASK

    results: dict[str, object] = {}
    model, n = FunctionModel(waiting, ["y"], fixed={"seconds": 0.020}), 80 if quick else 400
    for k in (2, 4, 8):
        options = {"n_workers": 1, "threads_per_worker": k, "processes": True, "dashboard_address": None}
        with LocalCluster(**options) as here:
            executor = "dask://" + here.scheduler_address.removeprefix("tcp://")
            campaign(model, 4 * k, executor=executor)
            results[f"cluster.{k}_threads_ratio_to_serial"] = n * 0.020 / campaign(model, n, executor=executor)
            if k == 2:
                tasks = 500 if quick else 3000
                with Client(here) as client:
                    client.gather(client.map(abs, range(50), pure=False))
                    start = time.perf_counter()
                    client.gather(client.map(abs, range(tasks), pure=False))
                    per_task = (time.perf_counter() - start) / tasks
    results["cluster.scheduler_ms_per_task"] = 1e3 * per_task
    for k in (100, 1000):
        chunk = max(CHUNK, PER_TASK * k)
        results[f"cluster_model.{k}_workers_chunk_s"] = chunk
        results[f"cluster_model.{k}_workers_efficiency"] = min(1.0, chunk / (k * per_task))
        results[f"cluster_model.{k}_workers_efficiency_without_chunks_20_ms"] = min(1.0, 0.020 / (k * per_task))
    return results


def run(quick: bool) -> dict[str, object]:
    free = len(os.sched_getaffinity(0)) - os.getloadavg()[0]
    return {
        **overhead(quick),
        **million(quick),
        **workers(quick),
        **cluster(quick),
        **speed_up(quick),
        "two_processes_goal": 1.8,
        "free_processors_at_the_start": free,
        **memory(quick),
        "memory_goal": "flat",
    }
