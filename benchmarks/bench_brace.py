"""A Bouc-Wen brace with a |v|^0.4 damper, and the pure Bouc-Wen brace, in free run.

Records: training on 20 responses of oscillators to filtered noise (seeds 0 to 19), validation on 4 (seeds 50 to 53),
test on the response of the braced oscillator to El Centro, which nothing was chosen on.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from export import write
from mor import (
    BoucWen,
    Dataset,
    MemoryModel,
    MemorySpec,
    OdeSubstructure,
    Port,
    Power,
)
from mor.excitation.records import el_centro
from mor.models.bouc_wen import bouc_wen, bouc_wen_oscillator
from mor.reduced.base import Array
from rt_runtime import load_bundle
from training import FfnnConfig, MemoryConfig, fit_ffnn_memory, free_run_error

RATE = 512.0
COEFFICIENT = 2.0e3  # N (s/m)^0.4 of the damper
X, V, F = Port("x", "m"), Port("v", "m/s"), Port("F", "N")
LARGEST = 0.12  # m, stroke of the brace and amplitude of the largest training run


def response(seed: int, seconds: float = 8.0) -> Array:
    """Displacement and velocity (n, 2) of an oscillator of random frequency under noise that swells and fades."""
    rng = np.random.default_rng(seed)
    n = int(seconds * RATE)
    w = 2.0 * np.pi * rng.uniform(0.4, 2.0)
    noise = rng.normal(size=n) * np.interp(np.arange(n) / n, [0.0, 0.12, 0.6, 1.0], [0.0, 1.0, 1.0, 0.2])
    from scipy.signal import cont2discrete

    A, B = np.array([[0.0, 1.0], [-w * w, -0.1 * w]]), np.array([[0.0], [1.0]])
    Ad, Bd, *_ = cont2discrete((A, B, np.eye(2), np.zeros((2, 1))), 1.0 / RATE)
    out, state = np.empty((n, 2)), np.zeros(2)
    for k in range(n):
        state = Ad @ state + Bd[:, 0] * noise[k]
        out[k] = state
    return out * rng.uniform(0.2, 1.0) * LARGEST / np.abs(out[:, 0]).max()


def earthquake() -> Array:
    """Displacement and velocity (n, 2) of the braced oscillator under El Centro."""
    part = OdeSubstructure(bouc_wen_oscillator())
    motion = el_centro()
    t = np.arange(0.0, 20.0, 1.0 / RATE)
    ground = np.interp(t, motion.dt * np.arange(len(motion.values)), motion.values)
    run = part.simulate(ground[:, None], dt=1.0 / RATE, parameters={"mass": 2.0e4, "damping": 2.0e4})
    return np.column_stack([run["displacement"], run["velocity"]])


def brace(u: Array, damper: bool) -> Array:
    """Force (n,) of the full-order brace."""
    force = np.asarray(OdeSubstructure(bouc_wen()).simulate(u, dt=1.0 / RATE)["force"])
    return force + (COEFFICIENT * np.abs(u[:, 1]) ** 0.4 * np.sign(u[:, 1]) if damper else 0.0)


def dataset(histories: list[Array], damper: bool) -> Dataset:
    """Runs of the brace."""
    Y = [brace(u, damper) for u in histories]
    run = np.repeat(np.arange(len(Y)), [len(y) for y in Y])
    return Dataset(np.concatenate(histories), np.concatenate(Y), [X, V], [F], run=run)


def engine_cost(model: MemoryModel, u: Array) -> float:
    """CPU nanoseconds a tick of the exported model in the engine."""
    with tempfile.TemporaryDirectory() as folder:
        write(model, Path(folder) / "bundle")
        block = load_bundle(Path(folder) / "bundle").block()
        times = []
        for _ in range(3):
            began = time.process_time()
            block.rollout(u)
            times.append(time.process_time() - began)
    return 1e9 * min(times) / len(u)


def run(quick: bool) -> dict[str, object]:
    """Measure: errors as fractions, median and worst over seeds; costs in CPU time."""
    results: dict[str, object] = {"goal.brace_nrmse": 0.01, "goal.brace_scatter": 0.005, "goal.pure_nrmse": 0.003}
    seeds = (0, 1) if quick else (0, 1, 2, 3, 4)
    histories = [[response(s) for s in part] for part in (range(6 if quick else 20), range(50, 54))]
    quake = earthquake()
    config = MemoryConfig(
        FfnnConfig(hidden=(8,), restarts=1, iterations=60), rows=800 if quick else 2000, iterations=40 if quick else 100
    )
    for name, damper in (("brace", True), ("pure", False)):
        train, valid = (dataset(part, damper) for part in histories)
        test = dataset([quake], damper)
        rate = (Power("v", 0.5, learned=True),) if damper else ()
        memory = MemorySpec([X, V], [F], operators=(BoucWen("x"), *rate))
        began = time.process_time()
        models = [
            fit_ffnn_memory(
                train, memory, valid=valid, config=replace(config, network=replace(config.network, seed=seed))
            )
            for seed in seeds
        ]
        results[f"{name}.fit_cpu_s"] = (time.process_time() - began) / len(seeds)
        errors = [free_run_error(model, test) for model in models]
        results[f"{name}.nrmse_median"] = float(np.median(errors))
        results[f"{name}.nrmse_worst"] = float(np.max(errors))
        results[f"{name}.scatter"] = float(np.ptp(errors))
        results[f"{name}.valid_nrmse_median"] = float(np.median([free_run_error(m, valid) for m in models]))
        results[f"{name}.engine_ns_per_tick"] = engine_cost(models[0], quake)
    return results
