"""Hysteresis in free run and in closed loop: reinforced-concrete piers and a viaduct in OpenSees, and the brace.

Piers are fitted to the loading protocols "train" of `hmor.studies.viaduct.piers.SETS`; settings were chosen on the
protocols "valid", on protocols of an older campaign, and on one pier in OpenSees under its deck in 32 motions (24
synthetic ones with other seeds, 8 pulses). Test: the protocols "test", looked at once with earlier fits, and the
responses to El Centro, a synthetic motion (seed 1940) and a near-fault pulse (`hmor.studies.viaduct.records`). Nothing
is fitted to a test record, but they are not blind: an earlier choice of training protocols was widened with them in
view. The brace is topic "brace", with records of its own.

The whole takes about half an hour. Fits and measurements are kept in runs/bench_hysteresis (or HMOR_BENCH_FOLDER, see
benchmarks/parts.py) as long as what they depend on is the same: interrupted, the command carries on when run again.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from export import write
from hmor.commands.bench import run as bench
from hmor.studies.viaduct import accuracy
from hmor.studies.viaduct.bridge import HEIGHTS, viaduct
from hmor.studies.viaduct.bridge import RATE as RATE_HZ
from hmor.studies.viaduct.hybrid import hybrid
from hmor.studies.viaduct.piers import SETS, TESTED, pier_name
from hmor.studies.viaduct.records import KEEP, RECORDS, RESPONSES, record, stored_one_pier, stored_response
from hmor.studies.viaduct.runs import campaign
from mor import MemoryModel, Trajectory, closed_cycles, nrmse
from mor.reduced.base import Array
from mor.reduced.ffnn import Ffnn
from mor.reduced.history import split_runs
from mor.sources import OpenSeesSubstructure, opensees_installed, rc_pier
from rt_runtime import Loop, _core, load_bundle

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.hysteresis_peers import KINDS, peer
from benchmarks.parts import Parts, code_state

STORE = Path("runs") / "bench_hysteresis"
REDUCED = ("base", "ffnn", "gru", "history", "memory", "ranges", "recursion")
SOURCES = (
    "mor/reduced/hysteresis", *(f"mor/reduced/{name}.py" for name in REDUCED), "mor/excitation", "mor/sources",
    "mor/models/bouc_wen.py", "mor/hybrid", "mor/substructures", "mor/compile", "rt_runtime/engine", "training",
    "export", "hmor/studies/viaduct", "benchmarks/bench_hysteresis.py", "benchmarks/hysteresis_peers.py",
    "benchmarks/bench_brace.py", str(_core.__file__),
)  # fmt: skip
"""What the figures depend on: another version of it begins anew."""

GOALS = {
    "goal.pier.el_centro.nrmse": 0.02,
    "goal.pier.synthetic.nrmse": 0.015,
    "goal.pier.pulse.nrmse": 0.025,
    "goal.pier.nrmse_worst": 0.04,
    "goal.pier.protocols.median": 0.02,
    "goal.pier.protocols.largest": 0.08,
    "goal.pier.under_deck.nrmse": "0.03, 0.02, 0.04",
    "goal.pier.engine_ns_per_tick": 1000.0,
    "goal.pier.faster": 1000.0,
    "goal.pier.fit_cpu_s": 300.0,
    "goal.viaduct.specimen": 0.03,
    "goal.viaduct.specimen_peak": 0.01,
    "goal.viaduct.others": 0.04,
    "goal.viaduct.others_peak": 0.03,
    "goal.viaduct.reduced_us_per_step": 2.5,
    "goal.viaduct.faster": 5000.0,
    "goal.viaduct.opensees_times_slower_than_real_time": 15.0,
}


def engine_cost(model: MemoryModel, u: Array) -> float:
    """CPU nanoseconds a tick of the exported model in the engine."""
    with tempfile.TemporaryDirectory() as folder:
        write(model, Path(folder) / "bundle")
        block = load_bundle(Path(folder) / "bundle").block()
        rows, times = np.tile(u, (50_000 // len(u) + 1, 1)), []
        for _ in range(5):
            began = time.process_time()
            block.rollout(rows)
            times.append(time.process_time() - began)
    return 1e9 * min(times) / len(rows)


def over_seeds(name: str, values: Sequence[float]) -> dict[str, object]:
    """Return median and worst of the seeds."""
    return {f"{name}_median": float(np.median(values)), f"{name}_worst": float(np.max(values))}


def pier_results(models: list[MemoryModel], quick: bool) -> dict[str, object]:
    """The pier of 7 m alone: three records, 200 protocols, under the mass of its deck."""
    results: dict[str, object] = {}
    test = split_runs(campaign(TESTED, "test"))[:: 20 if quick else 1]
    parts = [accuracy.exported({"pier_7": model})["pier_7"] for model in models]
    for name in RECORDS:
        results |= over_seeds(f"pier.{name}.nrmse", [accuracy.alone(model, name) for model in models])
        closed = [accuracy.under_its_deck(part, name) for part in parts]
        results |= over_seeds(f"pier.{name}.under_deck.nrmse", [pair[0] for pair in closed])
        results |= over_seeds(f"pier.{name}.under_deck.peak", [pair[1] for pair in closed])
    found = np.array([[nrmse(m.rollout(run.X)[:, 0], run.Y[:, 0]) for run in test] for m in models])
    results |= over_seeds("pier.protocols.median", np.median(found, axis=1).tolist())
    results |= over_seeds("pier.protocols.largest", found.max(axis=1).tolist())
    results["pier.protocols.count"] = len(test)
    cycles = closed_cycles(models[0])
    results |= {f"pier.{key}": value for key, value in cycles.to_dict().items()}
    results["pier.parameters"] = models[0].step.n_parameters if isinstance(models[0].step, Ffnn) else 0
    return results


def costs(piers: dict[str, MemoryModel], quick: bool) -> dict[str, object]:
    """A step of the pier and of the bridge, reduced and in OpenSees, one after the other."""
    results: dict[str, object] = {}
    full, seconds = stored_one_pier("el_centro")
    results["pier.engine_ns_per_tick"] = cost = engine_cost(piers[pier_name(TESTED)], full["x1"][:, None])
    shaken = np.interp(np.arange(2048, 2560) / RATE_HZ, full.time, full["x1"])  # from 2 s on, at the rate of the loop
    seconds, where = opensees_step(rc_pier(TESTED), {"x": shaken - shaken[0]}, (full, seconds))
    results |= {"pier.opensees_ms_per_step": 1e3 * seconds, "pier.opensees_measured": where}
    results["pier.faster"] = 1e9 * seconds / cost
    loop = hybrid("el_centro", 1.3, piers=accuracy.exported(piers)).loop()
    results["viaduct.reduced_us_per_step"] = us = min(_cpu_us_per_tick(loop) for _ in range(3))
    ag = record("el_centro").scaled(1.3).values[1500 : 1500 + (50 if quick else 500)]
    seconds, where = opensees_step(viaduct(), {"ag": ag, "F": 0.0}, stored_response("el_centro", 1.3))
    results |= {"viaduct.opensees_ms_per_step": 1e3 * seconds, "viaduct.opensees_measured": where}
    results["viaduct.opensees_times_slower_than_real_time"] = seconds * RATE_HZ
    results["viaduct.faster"] = 1e6 * seconds / us
    results["viaduct.times_real_time"] = 1e6 / RATE_HZ / us
    return results


def viaduct_results(models: list[dict[str, MemoryModel]]) -> dict[str, object]:
    """The bridge: three records at two scales with the specimen as a reduced pier, once without it."""
    results: dict[str, object] = {}
    parts = [accuracy.exported(piers) for piers in models]
    for name, scale, specimen in RESPONSES:
        found = [accuracy.worst(accuracy.in_the_bridge(p, name, scale, specimen=specimen)) for p in parts]
        for key in found[0]:
            label = f"viaduct.{name}_{scale:g}{'' if specimen else '_free'}.{key}"
            results |= over_seeds(label, [values[key] for values in found])
    for key in ("specimen", "specimen_peak", "others", "others_peak"):
        for over in ("median", "worst"):
            found_all = [v for k, v in results.items() if k.endswith(f".{key}_{over}")]
            results[f"viaduct.all.{key}_{over}"] = float(np.max(np.array(found_all, dtype=float)))
    return results


def _cpu_us_per_tick(loop: Loop) -> float:
    began = time.process_time()
    loop.run(8.0)
    return 1e6 * (time.process_time() - began) / (8.0 * RATE_HZ)


def opensees_step(part: OpenSeesSubstructure, u: Any, stored: tuple[Trajectory, float]) -> tuple[float, str]:
    """Return the processor time in s of a step in OpenSees, measured here, or where it is not installed as stored."""
    if not opensees_installed():
        response, seconds = stored
        return seconds / (KEEP * len(response.time)), "when the stored response was made"
    began = os.times().children_user
    steps = part.run(u, dt=1.0 / RATE_HZ).counts["steps"]
    return (os.times().children_user - began) / steps, "in this run"


def fitted(kept: Parts, state: str, height: float, seed: int) -> tuple[MemoryModel, float] | None:
    """Return a pier fitted as the study does, and the processor time of its fit in s; None when the time is over."""
    assert kept.folder is not None
    name = f"{pier_name(height)}_{seed}"
    path = kept.folder / f"{name}_{state}.npz"  # never a fit of another state

    def fit() -> dict[str, object]:
        path.parent.mkdir(parents=True, exist_ok=True)
        began = time.process_time()
        accuracy.fit_pier(height, seed=seed).save(path)
        return {"cpu_s": time.process_time() - began}

    found = kept.measured(name, state, fit)
    return (MemoryModel.load(path), float(str(found["cpu_s"]))) if found else None


def measure(kept: Parts, quick: bool) -> dict[str, object]:
    """Fit what is not fitted yet and measure it: all fits first, so that all figures are of one set of models."""
    state = code_state(*SOURCES, also=f"{quick}")
    seeds, heights = (0,) if quick else (0, 1, 2, 3, 4), sorted(set(HEIGHTS))
    fits = {(seed, height): fitted(kept, state, height, seed) for seed in seeds for height in heights}
    done = {key: fit for key, fit in fits.items() if fit is not None}
    if kept.open:
        return {"open": f"{kept.open} of {len(fits)} fits are to be made: run again"}
    models = [{pier_name(height): done[seed, height][0] for height in heights} for seed in seeds]
    results: dict[str, object] = {"seeds": len(seeds), "sets": str(SETS), "test_records": ", ".join(RECORDS)}
    results |= over_seeds("pier.fit_cpu_s", [done[seed, TESTED][1] for seed in seeds])
    parts: dict[str, Callable[[], Mapping[str, object]]] = {
        "pier": lambda: pier_results([piers[pier_name(TESTED)] for piers in models], quick),
        "viaduct": lambda: viaduct_results(models),
        **{kind: partial(peer, kind) for kind in (() if quick else KINDS)},
        "brace": lambda: bench(["brace"], quick=quick)["brace"],
        "costs": lambda: costs(models[0], quick),
    }
    for name, job in parts.items():
        results |= kept.measured(name, state, job)
    return results | ({"open": f"{kept.open} of {len(parts)} parts are to be measured: run again"} if kept.open else {})


def run(quick: bool) -> dict[str, object]:
    """Measure: errors as fractions, median and worst over seeds; costs in CPU time."""
    with tempfile.TemporaryDirectory() as folder:
        return GOALS | measure(Parts("hysteresis", Path(folder) if quick else STORE), quick)
