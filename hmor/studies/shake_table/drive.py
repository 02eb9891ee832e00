"""Offline iteration on a shake table: the drive file is corrected run by run until the table moves as the record says.

The model is the identified table with the braced frame; the table that is run carries the frame without its braces, so
that model and table differ most where the frame resonates. Najafi and Spencer, NSEL Report 051 (2021), section 3.7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np
from scipy.signal import butter, sosfilt

from hmor.studies.base import Options, Run, VirtualTest, ground_motion
from hmor.studies.settings import whole_of
from hmor.studies.shake_table.drawings import draw_iteration, draw_table
from mor import Normal, ParameterSpace
from mor.dynamics.structure import LinearStructure, modal_damping
from mor.excitation import Excitation
from mor.identification import Iterated, iterate_drive
from mor.models.shake_table import BRACED_TABLE, STROKE, LoadedTable, two_storey_frame
from rt_runtime import Loop, Noise, Record, StateSpace, Sum, Table
from rt_runtime.checks import Array, one_of, whole
from rt_runtime.errors import ConfigError

RATE = 1000.0
DT = 1 / RATE
BAND = (0.05, 30.0)
HIGH_PASS, LOW_PASS = 0.25, 20.0
"""Corners in Hz of the filters of the record, of order 2 and 5."""

BEFORE, AFTER, FADE = 10.0, 40.0, 5.0
"""Quiet in s before the record and after it, in which the frame comes to rest; fade of the drive at its ends."""

LARGEST = 10.0
"""Limit of the drive in V."""

SPACE = ParameterSpace(
    {
        "stiffness_1": Normal(1.0, 0.02),
        "stiffness_2": Normal(1.0, 0.02),
        "table_mass": Normal(1.0, 0.02),
        "table_stiffness": Normal(1.0, 0.02),
    }
)


@dataclass(frozen=True)
class Case:
    """One series of runs: form of the iteration, frame on the table, noise of the accelerometer over the target."""

    form: str = "estimated"
    frame: str = "unbraced"
    noise: float = 0.0


CASES = {
    "braced_fixed": Case("fixed", "braced"),
    "fixed": Case("fixed"),
    "fixed_noise": Case("fixed", noise=0.01),
    "estimated_noise": Case(noise=0.01),
    "estimated": Case(),
}
PUBLISHED = {"laboratory": {"fixed_run_1": 93.0}}
"""RMSE in percent of the first run; 105.4 after 3 and 116.0 after 6 corrections."""


def target(options: Options) -> Array:
    """Return the acceleration in m/s2 that the table shall have: the record, filtered, with quiet after it."""
    motion: Excitation = ground_motion(options, scale=float(options.settings.get("scale", 0.3)))
    values = motion.padded(BEFORE, AFTER).resampled(RATE).values
    for sections in (
        butter(2, HIGH_PASS, "high", fs=RATE, output="sos"),
        butter(5, LOW_PASS, fs=RATE, output="sos"),
    ):
        values = sosfilt(sections, values)
    return np.asarray(values)


def frame_on_table(kind: str, parameters: Mapping[str, float]) -> LinearStructure:
    """Return the frame with its storey stiffnesses scaled by the parameters, at unchanged damping ratios."""
    frame = two_storey_frame(kind)
    k2 = -frame.K[0, 1] * parameters.get("stiffness_2", 1.0)
    k1 = (frame.K[0, 0] + frame.K[0, 1]) * parameters.get("stiffness_1", 1.0)
    K = np.array([[k1 + k2, -k2], [-k2, k2]])
    return LinearStructure(frame.M, modal_damping(frame.M, K, frame.modes().ratios), K)


def virtual_table(case: Case, r: Array, parameters: Mapping[str, float], seed: int) -> Callable[[Array], Record]:
    """Return what a run of the table does with a drive: a loop that plays it at 1 kHz from rest and records."""
    own, softer = LoadedTable(), parameters.get("table_stiffness", 1.0)
    table = LoadedTable(own.mass * parameters.get("table_mass", 1.0), own.damping, own.stiffness * softer, own.gain)
    plant = table.with_frame(frame_on_table(case.frame, parameters))
    noise = case.noise * float(np.sqrt(np.mean(r**2)))
    time = np.arange(len(r)) * DT
    units = {"drive": "V", "target": "m/s2", "acceleration": "m/s2", "noise": "m/s2", "measured": "m/s2"}
    units |= dict.fromkeys(("displacement", "floor_1", "floor_2"), "m")
    runs = count()

    def play(drive: Array) -> Record:
        loop = Loop(RATE)
        for name, unit in units.items():
            loop.signal(name, unit=unit)
        loop.add("target", Table(time, r), outputs=["target"])
        loop.add("drive", Table(time, drive), outputs=["drive"])
        outputs = ["acceleration", "displacement", "floor_1", "floor_2"]
        block = StateSpace(plant.A, plant.B, plant.C, plant.D, dt=DT)
        loop.add("table", block, inputs=["drive"], outputs=outputs)
        loop.add("noise", Noise([noise], seed=seed + 1000 * next(runs)), outputs=["noise"])
        loop.add("accelerometer", Sum("++"), inputs=["acceleration", "noise"], outputs=["measured"])
        return loop.run(len(drive) * DT)

    return play


def check_stroke(record: Record, where: str) -> None:
    """Refuse a run that would have driven the table into its stops, also one that is not kept in the end."""
    largest = float(np.abs(record["displacement"]).max())
    if not largest <= STROKE:
        raise ConfigError(
            f"Target of study 'shake_table' must keep the table within {1e3 * STROKE:.1f} mm, got "
            f"{1e3 * largest:.1f} mm in {where}; lower scale, share or largest."
        )


def iterate(name: str, r: Array, parameters: Mapping[str, float], options: Options) -> tuple[Iterated, Record]:
    """Iterate on the virtual table of a case; also return the record of the best run."""
    case = CASES[name]
    play = virtual_table(case, r, parameters, options.seed)
    records: list[Record] = []

    def measured(drive: Array) -> Array:
        records.append(play(drive))
        check_stroke(records[-1], f"run {len(records)} of case {name!r}")
        return records[-1]["measured"]

    found = iterate_drive(
        measured,
        BRACED_TABLE,
        r,
        RATE,
        runs=whole(options.settings.get("runs", 4), "runs", "study 'shake_table'", 1),
        band=BAND,
        form=case.form,
        share=float(options.settings.get("share", 1.0)),
        largest=float(options.settings.get("largest", LARGEST)),
        fade=FADE,
    )
    return found, records[int(np.argmin(found.errors))]


def judge(found: Iterated, record: Record, runs: int) -> dict[str, float]:
    """Return the errors of all runs in percent (after a stop that of the best drive, which is kept), and limits."""
    errors = [*found.errors, *[min(found.errors)] * (runs - len(found.errors))]
    r = record["target"]
    return {f"run_{k}": 100 * value for k, value in enumerate(errors, 1)} | {
        "runs": float(len(found.errors)),
        "without_noise": 100 * float(np.sqrt(np.sum((record["acceleration"] - r) ** 2) / np.sum(r**2))),
        "drive_V": float(np.abs(found.drive).max()),
        "stroke_mm": 1e3 * float(np.abs(record["displacement"]).max()),
        "limited_percent": 100 * found.limited,
    }


def run(parameters: Mapping[str, float], options: Options) -> Run:
    """Run all cases, or the one that the setting `case` names."""
    names = tuple(CASES)
    if "case" in options.settings:
        names = (one_of(str(options.settings["case"]), "case", "study 'shake_table'", names),)
    r = target(options)
    metrics: dict[str, float] = {}
    record = None
    for name in names:
        found, record = iterate(name, r, parameters, options)
        runs = whole_of(options.settings, "runs", 4)
        metrics |= {f"{name}_{key}": value for key, value in judge(found, record, runs).items()}
    return Run(metrics, record)


TEST = VirtualTest(
    name="shake_table",
    run=run,
    space=SPACE,
    published=PUBLISHED,
    settings=("case", "runs", "scale", "share", "largest"),
    drawing=partial(draw_table, sink=False),
    pictures=draw_iteration,
)
