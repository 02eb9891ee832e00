"""Virtual tests: the whole motorcycle with full-order and with reduced brakes on the same prototypes."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from hmor.motorcycle.rom import reduced_brake, study_bundle
from hmor.motorcycle.settings import MEMORY, SIDES, STATIC, Settings
from mor import Design, HybridModel, Substructure, Trajectory, lhs, nrmse
from mor.models.motorcycle import brake
from mor.models.motorcycle.model import hybrid, parameter_space
from rt_runtime import LoadedBundle, Loop
from rt_runtime.checks import Floats
from rt_runtime.files import replacing

RESPONSES = ("tau_rw", "tau_fw", "w_rw", "w_fw", "w_en", "w_vd", "tau_en", "tau_vd", "v")
EVERY = 10
"""Recorded is each tenth tick: 1 ms."""

KINDS = {
    "ffnn": {"rear": "ffnn", "front": "ffnn"},
    "pce": {"rear": "pce", "front": "pce"},
    "mixed": {"rear": "pce", "front": "ffnn"},
}
"""What stands in for each brake in the three reduced hybrid models."""

PUBLISHED = {
    "ffnn": dict(zip(RESPONSES, (2.75, 6.1, 1.39, 1.38, 0.13, 1.39, 1.43, 0.09, 1.47), strict=True)),
    "pce": dict(zip(RESPONSES, (2.04, 6.54, 1.64, 1.63, 0.17, 1.64, 1.85, 0.09, 1.74), strict=True)),
    "mixed": dict(zip(RESPONSES[2:], (1.43, 1.42, 0.16, 1.43, 1.68, 0.07, 1.51), strict=True)),
}
"""NRMSE in percent of reduced hybrid models with memoryless brakes, Tsokanas (2021), on another full-order model."""

Result = dict[str, Any]


def variants(settings: Settings, bundle: LoadedBundle) -> dict[str, HybridModel]:
    """Return the hybrid models by name: fom, ffnn, pce, mixed, and with memory ffnn_memory, ..."""
    full = hybrid(dt=settings.simulate.step, every=EVERY)
    models = {"fom": full}
    for suffix in ("", "_memory") if settings.simulate.memory else ("",):
        for name, sides in KINDS.items():
            model = full
            for side in SIDES:
                model = model.swap(f"{side}_brake", reduced_brake(bundle, side, sides[side] + suffix))
            models[name + suffix] = model
    return models


def simulate(settings: Settings, folder: Path) -> Result:
    """Run every hybrid model on every prototype; compare the mean histories; time each of them alone."""
    bundle = study_bundle(settings, folder)
    models = variants(settings, bundle)
    design = prototypes(settings)
    (folder / "simulate").mkdir(parents=True, exist_ok=True)
    means = {}
    for name, model in models.items():
        means[name] = _mean(model, [design.parameters(i) for i in range(len(design))])
        print(f"  {name}: {len(design)} prototypes", flush=True)
        with replacing(folder / "simulate" / f"{name}.nc") as path:
            means[name].save(path)
    truth = means["fom"]
    errors = {name: differences(mean, truth) for name, mean in means.items() if name != "fom"}
    return {
        "prototypes": len(design),
        "nrmse_percent": errors,
        "published_percent": PUBLISHED,
        "beats_published": {
            name: all(errors[name][signal] < value for signal, value in row.items()) for name, row in PUBLISHED.items()
        },
        "top_speed_kmh": float(3.6 * truth["v"].max()),
        "run_time": run_times(models),
        "brake_cost": brake_cost(settings, bundle),
    }


def prototypes(settings: Settings) -> Design:
    """Return the prototypes of the motorcycle, the same for every hybrid model."""
    return lhs(parameter_space(), settings.simulate.prototypes, seed=settings.study.seed)


def mean_history(runs: Sequence[Trajectory]) -> Trajectory:
    """Return the mean of runs of equal length."""
    values: Floats = np.mean([run.values for run in runs], axis=0)
    return Trajectory(runs[0].time, values, runs[0].ports)


def differences(mean: Trajectory, reference: Trajectory) -> dict[str, float]:
    """Return the NRMSE of each response in percent."""
    return {signal: 100 * nrmse(mean[signal], reference[signal]) for signal in RESPONSES}


def _mean(model: HybridModel, parameters_of: list[dict[str, float]]) -> Trajectory:
    """Return the mean history of the responses over the prototypes; runs share the cores, the interpreter is free."""
    record = [*RESPONSES, "F_br", "thr"]

    def one(parameters: Mapping[str, float]) -> Trajectory:
        return model.run(parameters=parameters, record=record)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return mean_history(list(pool.map(one, parameters_of)))


def run_times(models: Mapping[str, HybridModel], repeats: int = 3) -> Result:
    """Time one nominal scenario of each hybrid model, in turns, one at a time; the fastest of some repeats counts."""
    loops = {}
    for name, model in models.items():
        loops[name] = model.loop()
        loops[name].record([*RESPONSES], every=EVERY)
    best = dict.fromkeys(loops, float("inf"))
    duration = next(iter(models.values())).duration or 1.0
    for _ in range(repeats):
        for name, loop in loops.items():
            start = time.perf_counter()
            loop.run(duration)
            best[name] = min(best[name], time.perf_counter() - start)
    return {
        name: {
            "wall_s": seconds,
            "real_time_factor": duration / seconds,
            "speedup_over_fom": best["fom"] / seconds,
        }
        for name, seconds in best.items()
    }


def brake_cost(settings: Settings, bundle: LoadedBundle, ticks: int = 50_000, repeats: int = 3) -> Result:
    """Time one step of one brake in ns, full-order and reduced, in turns, under half force at half speed."""
    step = settings.simulate.step
    parts: dict[str, Substructure] = {"fom": brake("rear")}
    for kind in (*STATIC, *MEMORY):
        parts[kind] = reduced_brake(bundle, "rear", kind)
    loops = {}
    for name, part in parts.items():
        loop = Loop(1.0 / step)
        for port, value in zip(part.inputs, (25.0, 235.0), strict=True):
            loop.constant(port.name, value, unit=port.unit)
        loop.signal(part.outputs[0].name, unit=part.outputs[0].unit)
        names = [port.name for port in part.inputs]
        loop.add(name, part.block(dt=step), inputs=names, outputs=[part.outputs[0].name])
        loop.record([], every=ticks)
        loops[name] = loop
    best = dict.fromkeys(loops, float("inf"))
    for _ in range(repeats):
        for name, loop in loops.items():
            start = time.perf_counter()
            loop.run(ticks * step)
            best[name] = min(best[name], time.perf_counter() - start)
    return {name: 1e9 * seconds / ticks for name, seconds in best.items()}
