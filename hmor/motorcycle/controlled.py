"""Virtual tests with a controller: the engine's torque goes through a motor under adaptive MPC, next to the brakes."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from hmor.motorcycle.hybrids import EVERY, RESPONSES, Result, differences, mean_history, prototypes
from hmor.motorcycle.rom import reduced_brake, study_bundle
from hmor.motorcycle.settings import SIDES, Settings
from hmor.studies.base import Options, Stochastic, tracking_metrics
from hmor.studies.motorcycle_ampc import DURATION, build
from hmor.studies.motorcycle_ampc import PUBLISHED as ADAPTIVE
from mor import Port, Substructure, Trajectory
from rt_runtime import Tripped
from rt_runtime.files import replacing

WARM_UP = 1.0
"""Seconds at the start that LATE leaves out."""

LATE = "J3_after_1s_percent"
INDICES = ("J1_ms", "J2_percent", "J3_percent")
PUBLISHED = {head: {name: row[f"adaptive_{name}"] for name in INDICES} for head, row in ADAPTIVE.items()}
"""Tracking of the nominal motorcycle, mean and standard deviation over 200 prototypes, Tsokanas (2021)."""

HISTORY = {"target": "target"} | {name: "torque" if name == "tau_en" else name for name in RESPONSES}
"""Columns of a history and the signals of the loop; what drives the transmission is the torque of the motor."""

Test = tuple[dict[str, float], Trajectory]


def simulate(settings: Settings, folder: Path) -> Result:
    """Run full-order and reduced brakes under adaptive MPC on the prototypes of the hybrid models; judge both.

    The actuator of a prototype is redrawn alike for both. Responses are compared as mean histories, which are left out
    when a run diverged.
    """
    start = time.perf_counter()
    bundle, reduced = study_bundle(settings, folder), settings.run.brakes
    models: dict[str, dict[str, Substructure]] = {
        "fom": {},
        reduced: {side: reduced_brake(bundle, side, reduced) for side in SIDES},
    }
    place = folder / "simulate" / "controlled"
    place.mkdir(parents=True, exist_ok=True)
    nominal: dict[str, dict[str, float] | None] = {}
    spread, means = {}, {}
    for name, brakes in models.items():
        first = run({}, settings.study.seed, brakes)
        nominal[name] = None if first is None else first[0]
        spread[name], means[name] = run_prototypes(settings, brakes)
        print(f"  {name} under adaptive MPC: {settings.simulate.prototypes} prototypes", flush=True)
        for kind, history in ((name, means[name]), (f"{name}_nominal", None if first is None else first[1])):
            (place / f"{kind}.nc").unlink(missing_ok=True)
            if history is not None:
                with replacing(place / f"{kind}.nc") as path:
                    history.save(path)
    unstable = {name: many.unstable + (nominal[name] is None) for name, many in spread.items()}
    tables = {name: many.summary() for name, many in spread.items()}
    plain = Trajectory.load(folder / "simulate" / "fom.nc")
    return {
        "brakes": reduced,
        "prototypes": settings.simulate.prototypes,
        "unstable": unstable,
        "nominal": nominal | {"published": PUBLISHED["nominal"]},
        **{
            head: {name: {index: row[head] for index, row in table.items()} for name, table in tables.items()}
            | {"published": PUBLISHED[head]}
            for head in ("mean", "std")
        },
        "nrmse_percent": {
            name: None if mean is None or reference is None else differences(mean, reference)
            for name, mean, reference in (
                ("reduced_against_full_order", means[reduced], means["fom"]),
                ("controlled_against_uncontrolled", means["fom"], plain),
            )
        },
        "beats_published": {
            name: not unstable[name] and all(abs(table[index]["mean"]) < PUBLISHED["mean"][index] for index in INDICES)
            for name, table in tables.items()
        },
        "wall_s": time.perf_counter() - start,
    }


def run(parameters: Mapping[str, float], draws: int, brakes: Mapping[str, Substructure]) -> Test | None:
    """Run one prototype with an actuator redrawn from the seed `draws`; return J1 to J3 and the history every 1 ms.

    The crank of a prototype idles at another speed than the transmission, a step of the target at t = 0: J3 is also
    given without the first second. None stands for a run that diverged.
    """
    loop = build("adaptive", parameters, Options(settings={"draws": draws}), brakes)
    loop.record([*HISTORY.values(), "measured", "iterations", "status"])
    try:
        record = loop.run(DURATION)
    except Tripped:
        return None
    metrics = tracking_metrics(record)
    units = {signal.name: signal.unit for signal in record.signals}
    ports = [Port(name, units[signal]) for name, signal in HISTORY.items()]
    values = record.values[::EVERY, : len(ports)].copy()  # a view would keep the whole record
    error = np.abs(record["measured"] - record["target"])[record.time >= WARM_UP]
    late = {LATE: float(100 * error.max() / np.abs(record["target"]).max())}
    return {name: metrics[name] for name in INDICES} | late, Trajectory(record.time[::EVERY], values, ports)


def run_prototypes(settings: Settings, brakes: Mapping[str, Substructure]) -> tuple[Stochastic, Trajectory | None]:
    """Run all prototypes, each with an actuator of its own; return J1 to J3 and, if all ended, the mean history."""
    design, seed = prototypes(settings), settings.study.seed
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        tests = list(pool.map(lambda i: run(design.parameters(i), seed + 1 + i, brakes), range(len(design))))
    many = Stochastic(design, [None if test is None else test[0] for test in tests])
    return many, None if many.unstable else mean_history([test[1] for test in tests if test is not None])
