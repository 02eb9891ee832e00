"""Sample the full-order brakes, fit reduced ones, judge them, write them to one bundle."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from export import write
from hmor.motorcycle.settings import MEMORY, SIDES, STATIC, TORQUES, Settings
from mor import Dataset, Gate, Memory, Pce, ReducedModel, fit_pce, fit_pce_memory, lhs, nrmse
from mor.models.motorcycle import brake, brake_space, sample_static, touching_force
from mor.models.motorcycle.brake_runs import brake_domain, brake_history, sample_runs
from mor.models.motorcycle.model import hybrid

VALIDATION_RUNS = 2
Result = dict[str, Any]


def sample(settings: Settings, folder: Path) -> Result:
    """Draw the static points and the trajectories of both brakes; write them as netCDF."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    part, seed = settings.sample, settings.study.seed
    found = {}
    for i, side in enumerate(SIDES):
        start = time.perf_counter()
        static = sample_static(side, lhs(brake_space(side), part.points, seed=seed + i))
        static.save(folder / "data" / f"{side}_static.nc")
        runs = {"train": part.trajectories, "valid": VALIDATION_RUNS}
        first = 1000 * seed + 100 * i
        for name, count in runs.items():
            seeds = range(first, first + count)
            data = sample_runs(side, seeds, duration=part.seconds, dt=settings.simulate.step, volume=True)
            data.save(folder / "data" / f"{side}_{name}.nc")
            first += count
        found[side] = {
            "points": len(static),
            "largest_torque_nm": float(np.abs(static.Y).max()),
            "trajectories": part.trajectories + VALIDATION_RUNS,
            "seconds_of_trajectories": (part.trajectories + VALIDATION_RUNS) * part.seconds,
            "wall_s": round(time.perf_counter() - start, 2),
        }
    return found


def split_static(settings: Settings, folder: Path, side: str) -> tuple[Dataset, Dataset, Dataset]:
    """Return the static points of a brake for training, validation and test."""
    share = settings.sample.share_test
    data = Dataset.load(folder / "data" / f"{side}_static.nc")
    train, valid, test = data.split(1.0 - 2.0 * share, share, share, seed=settings.study.seed)
    return train, valid, test


def model_names() -> tuple[str, ...]:
    """Name every reduced model: rear_ffnn, rear_pce, ... front_pce_memory."""
    return tuple(f"{side}_{kind}" for side in SIDES for kind in (*STATIC, *MEMORY))


def load_models(folder: Path) -> dict[str, ReducedModel]:
    """Read the fitted models back."""
    return {name: ReducedModel.load(folder / "models" / f"{name}.npz") for name in model_names()}


def train(settings: Settings, folder: Path) -> Result:
    """Fit a network and a polynomial to each brake, static and with memory; write them to models/."""
    from training import FfnnConfig, MemoryConfig, fit_ffnn, fit_ffnn_memory

    (folder / "models").mkdir(parents=True, exist_ok=True)
    part, seed = settings.train, settings.study.seed
    found = {}
    for side in SIDES:
        space = brake_space(side)
        lower = np.array([m.lower for m in space.marginals])
        upper = np.array([m.upper for m in space.marginals])
        fit, valid, _ = split_static(settings, folder, side)
        gate = pad_gate(side)
        runs = {name: Dataset.load(folder / "data" / f"{side}_{name}.nc") for name in ("train", "valid")}
        filling = brake_history(side, dt=settings.simulate.step, volume=True)
        network = FfnnConfig(tuple(part.hidden), restarts=part.restarts, seed=seed)
        deep = FfnnConfig(tuple(part.memory_hidden), restarts=1, seed=seed, iterations=part.memory_iterations)
        memory = MemoryConfig(network=deep, rows=part.memory_rows, iterations=0)
        spans, rides = (lower, upper), brake_domain(side)
        jobs: dict[str, Callable[[], ReducedModel]] = {
            "ffnn": partial(fit_ffnn, fit, valid, network, domain=spans, gate=gate),
            "pce": partial(fit_pce, _joined(fit, valid), space, degree=range(2, part.pce_degree + 1), gate=gate),
            "ffnn_memory": partial(
                fit_ffnn_memory, runs["train"], runs["valid"], filling, memory, domain=rides
            ),
            "pce_memory": partial(
                fit_pce_memory, runs["train"], runs["valid"], filling,
                rows=part.pce_rows, draws=part.pce_draws, iterations=0, domain=rides,
            ),
        }
        for kind, job in jobs.items():
            start = time.perf_counter()
            model = job()
            model.save(folder / "models" / f"{side}_{kind}.npz")
            seconds = round(time.perf_counter() - start, 2)
            found[f"{side}_{kind}"] = {"wall_s": seconds, "multiply_adds": model.cost}
            print(f"  {side}_{kind}: {seconds:.1f} s", flush=True)
    return found


def pad_gate(side: str) -> Gate:
    """Return the gate of the static models: pads that do not touch their disc give no torque, whatever a fit says."""
    return Gate("F_br", touching_force(side))


def _joined(one: Dataset, two: Dataset) -> Dataset:
    """Put training and validation rows together: a polynomial is chosen by leave-one-out and needs no validation."""
    return Dataset(np.vstack([one.X, two.X]), np.vstack([one.Y, two.Y]), one.inputs, one.outputs)


def validate(settings: Settings, folder: Path) -> Result:
    """Judge every model: static ones on test points, all of them on the driving scenario, which none has seen.

    The scenario is that of the full-order motorcycle: its lever force and wheel speeds go in, its torques are true.
    """
    models = load_models(folder)
    ride = hybrid(dt=settings.simulate.step, every=1).run(record=["F_br", "w_rw", "w_fw", "tau_rw", "tau_fw"])
    table: dict[str, Any] = {}
    for side in SIDES:
        names = [port.name for port in brake(side).inputs]
        u = np.column_stack([ride[name] for name in names])
        truth = ride[TORQUES[side]]
        _, _, test = split_static(settings, folder, side)
        for kind in (*STATIC, *MEMORY):
            model = models[f"{side}_{kind}"]
            torque = model.rollout(u)[:, 0] if isinstance(model, Memory) else model.predict(u)[:, 0]
            row: dict[str, Any] = {
                "scenario_nrmse": float(nrmse(torque, truth)),
                "scenario_peak_error": float(np.abs(torque - truth).max() / np.abs(truth).max()),
                "multiply_adds": model.cost,
            }
            if kind in STATIC:
                row["test_nrmse"] = float(nrmse(model.predict(test.X)[:, 0], test.Y[:, 0]))
            table[f"{side}_{kind}"] = row
    return {"models": table, "sensitivity": sensitivity(models)}


def sensitivity(models: Mapping[str, ReducedModel]) -> Result:
    """Return first-order and total Sobol' indices of the brake torque from the static polynomials."""
    found = {}
    for side in SIDES:
        model = models[f"{side}_pce"]
        assert isinstance(model, Pce)
        found[side] = {
            port.name: {"first": float(first), "total": float(total)}
            for port, first, total in zip(
                model.inputs, model.sobol_first()[0], model.sobol_total()[0], strict=True
            )
        }
    return found


def export(settings: Settings, folder: Path, judged: Mapping[str, Any]) -> Result:
    """Write all models to one bundle and replay its golden vectors on every engine."""
    from export import verify

    models = load_models(folder)
    bundle = write(
        models,
        folder / "bundle",
        targets=tuple(settings.export.targets),
        validation=judged["models"],
        provenance={"study": settings.study.name, "seed": settings.study.seed},
        overwrite=True,
    )
    return {"models": list(bundle.models), "parity": [row.to_dict() for row in verify(bundle, models)]}
