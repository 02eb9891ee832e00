"""The paced test: reduced brakes, engine and body on the clock, the transmission as a rig in another process."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from hmor.commands.rig import new_key
from hmor.motorcycle.rom import reduced_brake, study_bundle
from hmor.motorcycle.settings import SIDES, Settings
from hmor.run_section import read_key
from hmor.studies.motorcycle_ampc import EVERY, RATE, controller
from mor import Trajectory, tracking
from mor.models.motorcycle import body, engine, scenario
from rt_runtime import (
    Command,
    Drive,
    LoadedBundle,
    Loop,
    Manners,
    Pacing,
    Record,
    Rule,
    RunFolder,
    Sensor,
    Table,
    Tripped,
    UdpRig,
    previous,
    protect,
)
from rt_runtime.errors import ConfigError

WHEELS = {"rear": "rw", "front": "fw"}
TORQUE_LIMIT = 200.0
"""Of the motor, in Nm."""

TORQUE_RATE = 95_000.0
"""Of the command in Nm/s: 38 Nm in a control interval of 0.4 ms."""


def numerical_side(settings: Settings, loaded: LoadedBundle, rig: UdpRig) -> Loop:
    """Return the loop: sensors, driver, body, reduced brakes, engine, adaptive MPC, monitor, drive.

    The monitor trips when the motor is far from its target for long, or very far for a few ms, when the rig is silent
    or always late, or when a speed leaves its range; the command stays within its limits whatever the controller wants.
    """
    rate, kind = settings.run.rate, settings.run.brakes
    dt, loop = 1.0 / rate, Loop(rate)
    extrapolator, control = controller("adaptive", {"design": "noisy", "noise": 0.0}, largest_age=0.0)
    ahead = [f"ahead{i}" for i in range(extrapolator.n_out)]
    extra = ["iterations", "status", "a1", "a2", "b1", "b2", "trace"]
    for name in ("torque", "tau_vd", "tau_rw", "tau_fw", "target", "wanted", *ahead):
        loop.signal(name, unit="Nm")
    for name in ("w_en", "w_vd", "w_rw", "w_fw"):
        loop.signal(name, unit="rpm")
    for name, unit in {"thr": "", "F_br": "N", "v": "m/s", "x": "m"}.items():
        loop.signal(name, unit=unit)
    for name in (*extra, "rig.age", "rig.status", "rig.sent"):
        loop.signal(name)
    loop.add("rig.read", Sensor(rig), outputs=["torque", "w_en", "tau_vd", "rig.age", "rig.status"])
    driving = scenario()
    for name in ("thr", "F_br"):
        loop.add(f"driver.{name}", Table(driving.time, driving[name]), outputs=[name])
    loop.add(
        "body",
        body().block(dt=dt, update="start", fresh=["tau_vd"]),
        inputs=["tau_vd", previous("tau_rw"), previous("tau_fw")],
        outputs=["w_vd", "w_rw", "w_fw", "v", "x"],
    )
    for side in SIDES:
        block = reduced_brake(loaded, side, kind).block(dt=dt)
        loop.add(f"{side}_brake", block, inputs=["F_br", f"w_{WHEELS[side]}"], outputs=[f"tau_{WHEELS[side]}"])
    loop.add("engine", engine().block(dt=dt), inputs=["thr", "w_en"], outputs=["target"])
    loop.add("extrapolator", extrapolator, inputs=["target"], outputs=ahead)
    loop.add("controller", control, inputs=[*ahead, "torque", "rig.age"], outputs=["wanted", *extra], every=EVERY)
    commands = [
        Command("wanted", "command", -TORQUE_LIMIT, TORQUE_LIMIT, TORQUE_RATE),
        Command("w_vd", "w_vd_sent", -500.0, 6000.0, 2e5),
    ]
    rules = [
        Rule("tracking", "torque", -15.0, 15.0, "trip", "difference", "target", ticks=round(0.2 * rate)),
        Rule("shaking", "torque", -40.0, 40.0, "trip", "difference", "target", ticks=round(0.005 * rate)),
        Rule.stale("silent rig", "rig.age", round(settings.run.silence * rate)),
        Rule("late rig", "rig.age", -1.0, 0.5, "trip", ticks=round(0.5 * rate)),  # without feedback: see largest_age
        Rule("overspeed", "v", -2.0, 40.0, "trip"),
    ]
    protect(loop, commands, rules, manners=Manners(arm=0.05, soft_start=0.5, soft_stop=1.0, trip=0.5))
    loop.add("rig.write", Drive(rig), inputs=["command", "w_vd_sent"], outputs=["rig.sent"])
    loop.record(["target", "torque", "wanted", "command", "v", "w_en", "tau_vd", "tau_rw", "tau_fw", "rig.age"])
    return loop


@contextmanager
def rig_process(rate: float, key_file: Path, *options: str) -> Iterator[int]:
    """Start `hmor rig motorcycle_ecvt` in another process and give its port; end it afterwards."""
    program = [sys.executable, "-m", "hmor", "rig", "motorcycle_ecvt", "--rate", str(rate), "--key-file", str(key_file)]
    process = subprocess.Popen([*program, "--seconds", "600", *options], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        heard = []
        for line in process.stderr:
            heard.append(line)
            if found := re.search(r"listens on \S+:(\d+)", line):
                yield int(found.group(1))
                break
        else:
            raise RuntimeError(f"The rig did not start: {''.join(heard)}")
    finally:
        process.terminate()
        try:
            process.wait(5.0)
        except subprocess.TimeoutExpired:
            process.kill()
        process.stderr.close()


def run(settings: Settings, folder: Path) -> dict[str, Any]:
    """Run the test against the clock, keep its record in run/, return tracking and timing."""
    if abs(settings.run.rate / RATE - 1.0) > 1e-9:
        raise ConfigError(
            f"run.rate of study '{settings.study.name}' must be {RATE:g} Hz to run, as its controller is made for, "
            f"got {settings.run.rate:g} Hz; change it and simulate.step."
        )
    loaded = study_bundle(settings, folder)
    place = folder / "run"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    key_file = place / "rig.key"
    new_key(key_file)
    rate = settings.run.rate
    with rig_process(rate, key_file) as port:
        rig = UdpRig(2, 3, port=port, key=read_key(key_file), timeout=20.0)
        loop = numerical_side(settings, loaded, rig)
        kept = RunFolder(place / "record", study=settings.model_dump_json(indent=2), bundles=loaded.hashes)
        try:
            record = loop.run(settings.run.seconds, paced=True, pacing=Pacing(), folder=kept)
            tripped = False
        except Tripped as trip:
            record, tripped = trip.record, True
        traffic, round_trip = dict(rig.traffic), rig.round_trips.summary_us()
    key_file.unlink()
    return _results(settings, place, record, tripped) | {"traffic": traffic, "round_trip_us": round_trip}


def _results(settings: Settings, place: Path, record: Record, tripped: bool) -> dict[str, Any]:
    running = record.time < settings.run.seconds  # after that the soft stop
    target, torque = record["target"][running], record["torque"][running]
    every = 10
    Trajectory(
        record.time[running][::every],
        np.column_stack([target, torque])[::every],
        {"target": "Nm", "measured": "Nm"},
    ).save(place / "tracking.nc")
    moved = bool(np.abs(target).max() > 1e-6)
    found = tracking(torque, target, settings.run.rate) if moved else None
    timing = record.timing
    assert timing is not None
    return {
        "rate_hz": settings.run.rate,
        "seconds": settings.run.seconds,
        "brakes": settings.run.brakes,
        "ended": record.ended,
        "tripped": tripped,
        "ticks": timing.ticks,
        "missed": timing.missed,
        "skipped": timing.skipped,
        "tracking": None if found is None else {"J1": found.J1, "J2": found.J2, "J3": found.J3},
        "times_us": {"own time": timing.own.summary_us(), "wake-up latency": timing.wake.summary_us()},
        "histograms": {
            name: {"from_us": [edge / 1e3 for edge in d.edges_ns], "counts": list(d.counts)}
            for name, d in (("own time", timing.own), ("wake-up latency", timing.wake))
        },
        "host": timing.host,
        "stale_ticks": int(np.count_nonzero(record["rig.age"] > 0)),
    }
