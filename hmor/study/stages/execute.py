"""The test of a study: run it against the clock or as fast as it can, keep everything, say how it went."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from hmor.console.aside import off_cpu
from hmor.console.summary import tracking_figures, while_running
from hmor.rigs.sections import UdpSection
from hmor.study.file import Study
from hmor.study.run import PreparedRun, RunSection, prepare
from mor.data.trajectory import Trajectory
from rt_runtime import InProcessRig, Record, RunFolder, Tripped, UdpRig
from rt_runtime.engine.host_check import timing_verdict
from rt_runtime.files import replacing

SHOWN = 20_000
"""At most about so many frames of the tracking are kept for pictures."""


def prepare_study(study: Study, stack: ExitStack | None = None) -> PreparedRun:
    """Build and check the test of a study; with `stack`, start its rigs and leave it to the stack to end them.

    A rig that the study names is a process of its own in a paced test; in one without a clock it is a part of this
    process, one tick per command, so that neither side waits for the other.
    """
    from hmor.study.simulate import exported_parts

    section = study.need("run", study.run)
    inside = {} if section.paced else played(study, section)
    for name, actuator in section.rigs().items():
        if not isinstance(actuator, UdpSection) or actuator.rig is None:
            continue
        where: dict[str, Any] = {"port": 9}  # nobody listens there
        if stack is not None and name not in inside:
            from hmor.rigs.catalogue import takes_settings
            from hmor.rigs.process import rig_process

            options = ["--protocol", str(actuator.protocol)]
            if takes_settings(actuator.rig, study.place):
                options += [part for k, v in section.settings.items() for part in ("--set", f"{k}={json.dumps(v)}")]
            port, key = stack.enter_context(rig_process(actuator.rig, section.rate, *options, folder=study.place))
            where = {"port": port, "key_file": str(key.resolve())}
        section = section.replaced(name, actuator.model_copy(update=where))
    return prepare(
        section,
        study.place,
        study.study.seed,
        exported_parts(study, section.parts, signer=section.signers(study.place)),
        actuators=inside,
    )


def played(study: Study, section: RunSection) -> dict[str, InProcessRig]:
    """Return the rigs that a study names as parts of this process."""
    from hmor.rigs.catalogue import find_rig

    found = {}
    for name, actuator in section.rigs().items():
        if isinstance(actuator, UdpSection) and actuator.rig is not None:
            side = find_rig(actuator.rig, section.rate, study.place, section.settings)
            found[name] = InProcessRig(side.loop, side.commands, side.measured)
    return found


def run_test(study: Study) -> dict[str, Any]:
    """Run the test of a study; return what `--json` prints."""
    with ExitStack() as stack:
        if (asked := study.need("run", study.run)).paced:
            stack.enter_context(off_cpu(asked.pacing.cpu))
        prepared = prepare_study(study, stack)
        section = prepared.section
        base = study.place / section.folder if section.folder else study.folder / "run"
        if prepared.channel is not None:
            stack.enter_context(prepared.channel)
        folder = prepared.folder(base, study.text())
        record, tripped = _run_with_desk(study, prepared, folder)
        result = summary(record) | {
            "study": study.study.name,
            "folder": str(folder.path),
            "tripped": tripped,
            "paced": section.paced,
            "settings": section.settings,
            "parts": section.parts,
            "events": prepared.events(),
        }
        rigs = {name: rig for name, rig in prepared.actuators.items() if isinstance(rig, UdpRig)}
        traffic = {name: dict(rig.traffic) for name, rig in rigs.items()}
        trips = {name: rig.round_trips.summary_us() for name, rig in rigs.items()}
        if rigs:  # the only one without its name
            result["traffic"], result["round_trip_us"] = (kept.get("rig", kept) for kept in (traffic, trips))
    return result | _tracking(section, record, folder.path)


def _run_with_desk(study: Study, prepared: PreparedRun, folder: RunFolder) -> tuple[Record, bool]:
    """Run the test, against the clock with an operator's desk; return the record and whether it tripped."""
    from hmor.console.station import station

    section = prepared.section
    try:
        if not section.paced:
            return prepared.loop.run(section.duration, folder=folder), False
        with station(study, prepared, Path(folder.path)) as desk:
            status = desk.status if desk.view else None
            return prepared.loop.run(
                section.duration, paced=True, pacing=section.pacing, folder=folder, status=status, desk=desk.desk
            ), False
    except Tripped as trip:
        return trip.record, True


def summary(record: Record) -> dict[str, Any]:
    """Return what a record says in a few numbers."""
    timing = record.timing
    result: dict[str, Any] = {"ended": record.ended, "ticks": record.ticks, "frames": len(record)}
    result["frames_lost"] = record.frames_lost
    result["rate_hz"] = record.rate
    result["ranges"] = {
        signal.name: [float(np.nanmin(values)), float(np.nanmax(values)), signal.unit]
        for signal, values in zip(record.signals, record.values.T, strict=True)
        if np.isfinite(values).any()
    }
    if timing is not None:
        result |= {"missed": timing.missed, "skipped": timing.skipped, "wake_us": timing.wake.summary_us()}
        result |= {"own_us": timing.own.summary_us(), "host": timing.host}
        result["verdict"] = timing_verdict(timing, record.rate)
        result["histograms"] = {
            name: {"from_us": [edge / 1e3 for edge in d.edges_ns], "counts": list(d.counts)}
            for name, d in (("own time", timing.own), ("wake-up latency", timing.wake))
        }
    return result | record.notes


def _tracking(section: RunSection, record: Record, folder: Path) -> dict[str, Any]:
    """Return J1 to J3 while the test ran (before its soft stop), and keep both signals for pictures."""
    if section.tracking is None:
        return {}
    running = while_running(record)
    target, measured = (record[section.tracking[name]][running] for name in ("target", "measured"))
    every = max(1, len(target) // SHOWN)
    unit = next(signal.unit for signal in record.signals if signal.name == section.tracking["target"])
    kept = Trajectory(
        record.time[running][::every], np.column_stack([target, measured])[::every], {"target": unit, "measured": unit}
    )
    with replacing(folder / "tracking.nc") as path:
        kept.save(path)
    return {"tracking": tracking_figures(record, section.tracking)}
