"""Brakes as expansions with memory: free run over the driving scenario, which is in no training run."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from export import write
from mor import Gate, MemoryModel, fit_pce, fit_pce_memory, lhs, nrmse
from mor.models.motorcycle import brake_space, sample_static, touching_force
from mor.models.motorcycle.brake_runs import brake_domain, brake_history, sample_runs
from mor.models.motorcycle.hydraulic_brake import brake
from mor.models.motorcycle.model import hybrid
from rt_runtime import load_bundle
from rt_runtime.checks import Array


def engine_ns(model: MemoryModel, u: Array) -> float:
    """Least CPU time of a step in the engine in ns, of several passes over the part of the ride in which it brakes."""
    with tempfile.TemporaryDirectory() as folder:
        write(model, Path(folder) / "model")
        rom = load_bundle(Path(folder) / "model").block()
        rows = np.ascontiguousarray(u[200_000:260_000])
        times = []
        for _ in range(9):
            start = time.process_time_ns()
            rom.run(rows)  # type: ignore[union-attr]
            times.append(time.process_time_ns() - start)
    return min(times) / len(rows)


def run(quick: bool) -> dict[str, object]:
    results: dict[str, object] = {"goal.scenario_nrmse": 0.005}
    whole = hybrid(every=1).run()
    for side in ("rear",) if quick else ("rear", "front"):
        part = brake(side)
        names, torque = [p.name for p in part.inputs], part.outputs[0].name
        u = np.column_stack([whole[name] for name in names])
        start = time.process_time()
        full = part.simulate(u, dt=1e-4)[torque]
        full_s = time.process_time() - start
        train, valid = sample_runs(side, range(6), volume=True), sample_runs(side, [100, 101], volume=True)
        for label, prune in ((side, 0.0), (f"{side}_pruned", 0.01)):
            start = time.process_time()
            model = fit_pce_memory(
                train, brake_history(side, volume=True), valid=valid, rows=1000, draws=1 if quick else 2, iterations=0,
                domain=brake_domain(side), prune=prune,
            )  # fmt: skip
            results[f"{label}.fit_cpu_s"] = time.process_time() - start
            answer = model.rollout(u)[:, 0]
            results[f"{label}.scenario_nrmse"] = nrmse(answer, full)
            results[f"{label}.torque_at_rest_nm"] = float(np.abs(answer[-10_000:]).max())
            results[f"{label}.terms"] = model.step.arrays()["indices"].shape[0]
            results[f"{label}.engine_ns"] = engine_ns(model, u)
        results[f"{side}.full_order_ns"] = 1e9 * full_s / len(u)
        space = brake_space(side)
        gate = Gate(names[0], touching_force(side))
        static = gate.around(fit_pce(gate.open(sample_static(side, lhs(space, 200, seed=1))), space))
        held = np.clip(u, *static.domain)
        results[f"{side}.scenario_nrmse_without_memory"] = nrmse(static.predict(held)[:, 0], full)
    return results
