"""Shake table: drive files by iteration, hybrid test with an energy sink, compensators on wrong models.

Settings of the hybrid test were chosen on El Centro and on tables of seed 11, those of the compensators on models of
seed 11; Kobe, the tables of seed 2026 and the models of seeds 0 and 2026 only judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_multi_axial import EL_CENTRO, KOBE, SEED
from hmor.studies.base import Options
from hmor.studies.shake_table import compensators, drive, sink
from mor import lhs
from rt_runtime.errors import ConfigError


def iteration(perturbed: int) -> dict[str, Any]:
    """Errors of every run in percent, from the first one, which is driven by the model alone."""
    found: dict[str, Any] = {}
    for record, label, scale in ((EL_CENTRO, "El Centro", 0.3), (KOBE, "Kobe", 0.3)):
        metrics = drive.run({}, Options(record=record, settings={"scale": scale})).metrics
        for case in drive.CASES:
            made = int(metrics[f"{case}_runs"])
            errors = ", ".join(f"{metrics[f'{case}_run_{k}']:.2f}" for k in range(1, made + 1))
            found[f"iteration, {case}, {label}: error of each run (%)"] = errors
        for case in ("fixed_noise", "estimated_noise"):
            found[f"iteration, {case}, {label}: best run without the noise of its sensor (%)"] = metrics[
                f"{case}_without_noise"
            ]
    design = lhs(drive.SPACE, perturbed, seed=SEED)
    rows = [
        drive.run(design.parameters(i), Options(i, EL_CENTRO, {"case": "estimated"})).metrics for i in range(perturbed)
    ]
    for k in (1, 2, 3):
        values = [row[f"estimated_run_{k}"] for row in rows]
        found[f"iteration, estimated, {perturbed} other tables: run {k}, median, largest (%)"] = (
            f"{np.median(values):.2f}, {max(values):.2f}"
        )
    return found


def hybrid(perturbed: int) -> dict[str, Any]:
    """Tracking of the table and floor 2 against the undivided frame, in percent."""
    found: dict[str, Any] = {}

    def note(label: str, record: Path, **settings: Any) -> None:
        metrics = sink.run({}, Options(record=record, settings=settings)).metrics
        for case in sink.CASES:
            if f"{case}_tracking" in metrics:
                row = [metrics[f"{case}_{key}"] for key in ("tracking", "peak", "floor_2")]
                name = f"sink, {case}, {label}: tracking, its peak, floor 2 (%)"
                found[name] = ", ".join(f"{value:.2f}" for value in row)

    note("El Centro 30 %", EL_CENTRO)
    note("El Centro 30 %, no noise", EL_CENTRO, case="state", noise=0.0, force_noise=0.0)
    note("El Centro 30 %, a = 1600", EL_CENTRO, curvature=1600.0)
    note("Kobe 25 %", KOBE, scale=0.25)
    design = lhs(sink.SPACE, perturbed, seed=SEED)
    for record, label, scale in ((EL_CENTRO, "El Centro 30 %", 0.3), (KOBE, "Kobe 25 %", 0.25)):
        rows = []
        for i in range(perturbed):
            options = Options(1 + i, record, {"case": "state", "scale": scale})
            rows.append(sink.run(design.parameters(i), options).metrics)
        for key in ("tracking", "floor_2"):
            values = [row[f"state_{key}"] for row in rows]
            found[f"sink, state, {label}, {perturbed} tables 1 % off: {key}, mean, worst (%)"] = (
                f"{np.mean(values):.2f}, {max(values):.2f}"
            )
    for curvature in (1600.0, 3200.0):
        metrics = sink.run({}, Options(record=EL_CENTRO, settings={"case": "state", "curvature": curvature})).metrics
        row = [metrics[f"floor_2_{key}_with_over_locked_sink"] for key in ("rms", "peak")]
        found[f"sink, a = {curvature:.0f}: floor 2 with over locked sink, rms, peak; stroke (mm)"] = (
            f"{row[0]:.2f}, {row[1]:.2f}; {metrics['sink_stroke_mm']:.0f}"
        )
    try:
        sink.build("state", sink.ground(Options(record=KOBE)), {}, Options(record=KOBE)).check()
        found["sink, Kobe 30 %"] = "accepted"
    except ConfigError as refused:
        found["sink, Kobe 30 %"] = str(refused)
    return found


def wrong_models(count: int) -> dict[str, Any]:
    """Medians of the root mean square error over wrong models, in percent."""
    found: dict[str, Any] = {}
    rng = np.random.default_rng(SEED)
    drawn = [{"wn": rng.uniform(45, 55), "zeta": rng.uniform(0.25, 0.75)} for _ in range(count)]
    sets: dict[str, Sequence[dict[str, float] | None]] = {
        "Latin hypercube, seed 0": compensators.TEST.simulate_many(count, Options()).results,
        f"random, seed {SEED}": [compensators.run(parameters, Options()).metrics for parameters in drawn],
    }
    for label, results in sets.items():
        for kind in compensators.KINDS:
            rows = [[row[f"{kind}_rmse"], row[f"{kind}_maxe"]] for row in results if row is not None]
            middle, most = np.median(rows, axis=0), np.max(rows, axis=0)
            name = f"compensators, {kind}, {count} models, {label}: median RMSE, MAXE; largest RMSE (%)"
            found[name] = f"{middle[0]:.2f}, {middle[1]:.2f}; {most[0]:.2f}"
        for kind in ("mmbc", "mpc"):
            gains = [row[f"{kind}_noise_gain"] for row in results if row is not None]
            found[f"compensators, {kind}, {label}: median noise gain"] = float(np.median(gains))
    return found


def run(quick: bool) -> dict[str, Any]:
    """Measure everything; `quick` takes fewer tables and models."""
    found = wrong_models(10 if quick else 100)
    if EL_CENTRO.exists() and KOBE.exists():
        return found | iteration(2 if quick else 10) | hybrid(2 if quick else 10)
    return found | {"records": "none: iteration and hybrid test were left out"}
