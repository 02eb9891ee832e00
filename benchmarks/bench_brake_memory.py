"""Brakes as expansions with memory in steps of 0.1 ms and 1 ms, over the driving scenario, which no fit has seen."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from export import write
from mor import BundleSubstructure, Gate, HybridModel, MemoryModel, fit_pce, fit_pce_memory, lhs, nrmse
from mor.data.dataset import Dataset
from mor.data.trajectory import Trajectory
from mor.models.motorcycle import brake_space, sample_static, touching_force
from mor.models.motorcycle.brake_runs import brake_domain, brake_history, sample_runs
from mor.models.motorcycle.hydraulic_brake import brake
from mor.models.motorcycle.model import DT, hybrid
from rt_runtime import load_bundle
from rt_runtime.checks import Array

BRAKING = slice(200_000, 260_000)
"""Ticks of the ride in which both brakes are pulled."""

FITS = {"": (1, 0.0), "_pruned": (1, 0.01), "_1ms": (10, 0.01)}
"""Name of a fit: ticks of 0.1 ms in a step, prune."""


def engine_ns(model: MemoryModel, u: Array) -> float:
    """Least CPU time of a step in the engine in ns, of several passes over the part of the ride in which it brakes."""
    with tempfile.TemporaryDirectory() as folder:
        write(model, Path(folder) / "model")
        rom = load_bundle(Path(folder) / "model").block()
        rows = np.ascontiguousarray(u[BRAKING])
        times = []
        for _ in range(9):
            start = time.process_time_ns()
            rom.run(rows)  # type: ignore[union-attr]
            times.append(time.process_time_ns() - start)
    return min(times) / len(rows)


def timed(simulate: Callable[[], Trajectory]) -> tuple[Trajectory, float]:
    """What a simulation gives, and its CPU time in s, the least of several, as for the models beside it."""
    times = []
    for _ in range(5):
        start = time.process_time()
        found = simulate()
        times.append(time.process_time() - start)
    return found, min(times)


def held(model: MemoryModel, u: Array, every: int) -> Array:
    """Torque at each tick of the ride: the model steps in every `every`-th and is held in between."""
    return np.repeat(model.rollout(u[::every])[:, 0], every)[: len(u)]


def thinned(data: Dataset, every: int) -> Dataset:
    """Each `every`-th row of runs whose lengths are multiples of it."""
    rows = data.take(np.arange(0, len(data), every))
    return Dataset(rows.X, rows.Y, rows.inputs, rows.outputs, run=rows.run, dt=every * DT)


def run(quick: bool) -> dict[str, object]:
    results: dict[str, object] = {"goal.scenario_nrmse": 0.005, "goal.fit_cpu_s": 5.0}
    ride = hybrid(every=1).run()
    models: dict[str, dict[str, MemoryModel]] = {}
    for side in ("rear",) if quick else ("rear", "front"):
        part = brake(side)
        names, torque = [p.name for p in part.inputs], part.outputs[0].name
        u = np.column_stack([ride[name] for name in names])
        simulated, full_s = timed(partial(part.simulate, u, dt=DT))
        full = simulated[torque]
        fine = sample_runs(side, range(6), volume=True), sample_runs(side, [100, 101], volume=True)
        for name, (every, prune) in FITS.items():
            train, valid = (thinned(data, every) for data in fine)
            history = brake_history(side, dt=every * DT, volume=True)
            start = time.process_time()
            model = fit_pce_memory(
                train, history, valid=valid, rows=1000, draws=1 if quick else 3, iterations=0,
                domain=brake_domain(side), prune=prune,
            )  # fmt: skip
            label = side + name
            results[f"{label}.fit_cpu_s"] = time.process_time() - start
            answer = held(model, u, every)
            results[f"{label}.scenario_nrmse"] = nrmse(answer, full)
            results[f"{label}.torque_at_rest_nm"] = float(np.abs(answer[-10_000:]).max())
            results[f"{label}.terms"] = model.step.arrays()["indices"].shape[0]
            results[f"{label}.engine_ns"] = engine_ns(model, u)
            models.setdefault(name, {})[side] = model
        results[f"{side}.full_order_ns"] = 1e9 * full_s / len(u)
        results |= implicit(side, u, full)
        space = brake_space(side)
        gate = Gate(names[0], touching_force(side))
        static = gate.around(fit_pce(gate.open(sample_static(side, lhs(space, 200, seed=1))), space))
        at_edge = np.clip(u, *static.domain)
        results[f"{side}.scenario_nrmse_without_memory"] = nrmse(static.predict(at_edge)[:, 0], full)
    return results | motorcycles(models, ride)


def implicit(side: str, u: Array, full: Array) -> dict[str, object]:
    """The full-order brake itself in steps of 1 ms: it needs an implicit method there."""
    part, torque = brake(side).integrated_by("rosenbrock", 1), brake(side).outputs[0].name
    found, seconds = timed(partial(part.simulate, u[::10], dt=10 * DT))
    answer = found[torque]
    return {
        f"{side}_full_order_1ms_rosenbrock.scenario_nrmse": nrmse(np.repeat(answer, 10)[: len(full)], full),
        f"{side}_full_order_1ms_rosenbrock.step_ns": 1e9 * seconds / len(answer),
    }


def motorcycles(models: Mapping[str, Mapping[str, MemoryModel]], ride: Trajectory) -> dict[str, object]:
    """Errors of the whole motorcycle with these brakes, and its time per tick beside the full-order one, in turns."""
    whole = {"full_order": hybrid()}
    with tempfile.TemporaryDirectory() as folder:
        for name, brakes in models.items():
            reduced = hybrid()
            for side, model in brakes.items():
                place = Path(folder) / f"{side}{name}"
                write(model, place)
                reduced = reduced.swap(f"{side}_brake", BundleSubstructure("brake", load_bundle(place), outputs=1))
            whole["pce" + name] = reduced
        times = tick_times(whole)
        results: dict[str, object] = {f"motorcycle_{name}.tick_ns": value for name, value in times.items()}
        for name, model in list(whole.items())[1:]:
            results[f"motorcycle_{name}.faster_than_full_order"] = times["full_order"] / times[name]
            found = model.run(record=["tau_rw", "tau_fw", "v"])
            results |= {f"motorcycle_{name}.{s}_nrmse": nrmse(found[s], ride[s][:: model.every]) for s in found.names}
    return results | {"motorcycle_goal.faster_than_full_order": 5.0}


def tick_times(whole: Mapping[str, HybridModel]) -> dict[str, float]:
    """Least CPU time of a tick in ns over the whole ride."""
    loops = {name: model.loop() for name, model in whole.items()}
    for loop in loops.values():
        loop.record([])
    best = dict.fromkeys(loops, np.inf)
    for _ in range(5):
        for name, loop in loops.items():
            start = time.process_time()
            loop.run(45.0)
            best[name] = min(best[name], 1e9 * DT * (time.process_time() - start) / 45.0)
    return best
