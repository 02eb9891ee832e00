"""Brakes as expansions with memory: free run over the driving scenario, which is in no training run."""

from __future__ import annotations

import time

import numpy as np

from mor import Gate, fit_pce, fit_pce_memory, lhs, nrmse
from mor.models.motorcycle import brake_space, sample_static, touching_force
from mor.models.motorcycle.brake_runs import brake_domain, brake_history, sample_runs
from mor.models.motorcycle.hydraulic_brake import brake
from mor.models.motorcycle.model import hybrid


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
        start = time.process_time()
        model = fit_pce_memory(
            train, brake_history(side, volume=True), valid=valid, rows=1000, draws=1 if quick else 2, iterations=0,
            domain=brake_domain(side), prune=0.01,
        )  # fmt: skip
        results[f"{side}.fit_cpu_s"] = time.process_time() - start
        model.rollout(u[:10])
        start = time.process_time()
        answer = model.rollout(u)[:, 0]
        results[f"{side}.speed_up"] = full_s / (time.process_time() - start)
        results[f"{side}.scenario_nrmse"] = nrmse(answer, full)
        results[f"{side}.torque_at_rest_nm"] = float(np.abs(answer[-10_000:]).max())
        results[f"{side}.terms"] = model.step.arrays()["indices"].shape[0]
        space = brake_space(side)
        gate = Gate(names[0], touching_force(side))
        static = gate.around(fit_pce(gate.open(sample_static(side, lhs(space, 200, seed=1))), space))
        held = np.clip(u, *static.domain)
        results[f"{side}.scenario_nrmse_without_memory"] = nrmse(static.predict(held)[:, 0], full)
    return results
