"""A paced test with its operator's desk: control socket, pre-test sheet, text view, and the console as a child."""

from __future__ import annotations

import functools
import getpass
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hmor.console import sheet as sheets
from hmor.console.aside import stand_aside
from hmor.console.control import Control
from hmor.console.lamps import described, watched_signals
from hmor.console.sheet import Item, Sheet
from hmor.console.words import finite
from hmor.rigs.sections import SimulatedSection, UdpSection
from hmor.study.file import Study
from hmor.study.run import PreparedRun, prepare
from rt_runtime import Desk, Record, Tripped, _core
from rt_runtime.engine.pacing import Status
from rt_runtime.safety.watches import unwatched

SENSOR_SECONDS = 1.0


@dataclass
class Station:
    """What `Loop.run` gets of an operator: the desk, and who is told how it goes (or None)."""

    desk: Desk
    control: Control
    view: Any = None

    def status(self, status: Status) -> None:
        """Show how the test goes."""
        if self.view is not None:
            self.view.show(status)


@contextmanager
def station(study: Study, prepared: PreparedRun, folder: Path) -> Iterator[Station]:
    """Open the desk of a paced test; everything it started ends with it, the console apart."""
    from hmor.console.screen import Screen

    section, desk = prepared.section, Desk()
    waits = section.start == "operator"
    sheet = static_sheet(study, prepared, folder) if waits else None
    started = datetime.now(UTC).isoformat(timespec="seconds")
    facts = {"study": study.study.name, "who": getpass.getuser(), "started": started, "duration_s": section.duration}
    desk.facts = lambda: facts | {"margins": margins(prepared)} | ({"sheet": sheet.rows()} if sheet else {})
    about = describe(study, prepared)
    control = Control(
        desk, folder, about, sheet=sheet, tunables=section.tunables, lost=section.console.lost,
        lost_after=section.console.lost_after,
    )  # fmt: skip
    with ExitStack() as stack:
        stack.enter_context(control)
        view = stack.enter_context(Screen(about, control.ask, lambda: desk.path)) if sys.stderr.isatty() else None
        if section.console.open:
            start_console(folder, section.pacing.cpu)
        if sheet is not None:
            threading.Thread(target=live_sheet, args=(sheet, desk, about, section), daemon=True).start()
            if view is None:
                print(f"Waiting for the operator: hmor console {folder}, or hmor tell {folder} arm.", file=sys.stderr)
        yield Station(desk, control, view)


def describe(study: Study, prepared: PreparedRun) -> dict[str, Any]:
    """Return what a console must know of a test before it begins."""
    section, loop = prepared.section, prepared.loop
    signals = {signal.name: signal for signal in loop.signals}
    recorded = tuple(section.record or signals)
    return {
        "study": study.study.name,
        "rate": section.rate,
        "every": section.every,
        "duration": section.duration,
        "start": section.start,
        "cpu": section.pacing.cpu,
        "signals": described([signals[name] for name in recorded]),
        "measured": measured_signals(section),
        "rigs": list(section.rigs()),
        "actuator": " and ".join(where(rig) for rig in section.rigs().values()),
        "rules": prepared.rules(),
        "commands": [{"name": c.name, "lower": c.lower, "upper": c.upper, "rate": c.rate} for c in section.commands],
        "tunables": [
            {"name": t.name, "value": t.value, "lower": t.lower, "upper": t.upper, "unit": t.unit}
            for t in section.tunables
        ],
        "tracking": section.tracking,
        **watched_signals(loop, recorded),
    }


def margins(prepared: PreparedRun) -> list[list[Any]]:
    """Return of each rule its last value, its extremes and the limits in force: [value, least, most, lower, upper]."""
    return [[finite(v) for v in row[:5]] for row in prepared.monitor().shown()]


def measured_signals(section: Any) -> list[str]:
    """Name the measured signals of all actuators."""
    return [name for rig in section.rigs().values() for name in rig.measured]


def where(actuator: Any) -> str:
    """Say for whom a start waits."""
    return f"the rig at {actuator.host}:{actuator.port}" if isinstance(actuator, UdpSection) else "the actuator"


def start_console(folder: Path, loop_cpu: int | None) -> subprocess.Popen[bytes]:
    """Start `hmor console` for the run as a process of its own, of low priority and not on the loop's CPU."""
    command = [sys.executable, "-m", "hmor", "console", str(folder), "--leave"]
    beside = functools.partial(stand_aside, loop_cpu)
    return subprocess.Popen(command, preexec_fn=beside, start_new_session=True, stdin=subprocess.DEVNULL)


def static_sheet(study: Study, prepared: PreparedRun, folder: Path) -> Sheet:
    """Make the items that need no rig: host, disk, bundles, rules, virtual run, and what somebody must tick."""
    section = prepared.section
    folder.parent.mkdir(parents=True, exist_ok=True)
    width = len(section.record or prepared.loop.signals)
    print("Pre-test sheet: host, disk, bundles, virtual run ...", file=sys.stderr)
    items = [
        sheets.latency_item(section.rate, section.pacing),
        sheets.disk_item(folder.parent, width, section.rate / section.every, section.duration + 600.0),
        *sheets.bundle_items(prepared.bundles, section.signer is not None),
        *sheets.rule_items(prepared.rules(), unwatched(prepared.loop)),
        sheets.virtual_item(lambda: virtual_run(study)),
        *(Item(sheets.of_rig("Rig answers", rig), sheets.OPEN) for rig in section.rigs()),
        *(Item(f"Sensor {name}", sheets.OPEN) for name in measured_signals(section)),
        *(Item(sheets.of_rig("Delay", rig), sheets.OPEN) for rig in section.rigs()),
        *(Item(text, sheets.TICK) for text in section.sheet),
    ]
    return Sheet(items)


def virtual_run(study: Study) -> tuple[Record, list[tuple[str, float, float, float, float]]]:
    """Run the same study without a clock against its rig inside this process; return record and peaks of the rules."""
    from hmor.study.simulate import exported_parts
    from hmor.study.stages.execute import played

    section = study.need("run", study.run).model_copy(update={"paced": False, "start": "at_once"})
    for name, actuator in section.rigs().items():
        if isinstance(actuator, UdpSection) and actuator.rig is None:
            raise RuntimeError(f"the study names no rig that can be played (rig = ... of {name})")
        if not isinstance(actuator, UdpSection | SimulatedSection):
            raise RuntimeError("the actuator is a plug-in")
    parts = exported_parts(study, section.parts, signer=section.signers(study.place))
    prepared = prepare(section, study.place, study.study.seed, parts, actuators=played(study, section))
    try:
        record = prepared.loop.run(section.duration)
    except Tripped as trip:
        record = trip.record
    monitor = prepared.monitor()
    peaks = [(rule.name, s[1], s[2], s[3], s[4]) for rule, s in zip(monitor.rules, monitor.shown(), strict=True)]
    watched = [peak for peak, rule in zip(peaks, monitor.rules, strict=True) if rule.action != "warn"]
    return replace(record, values=record.values[:0], time=record.time[:0]), watched


def live_sheet(sheet: Sheet, desk: Desk, about: dict[str, Any], section: Any) -> None:
    """Fill the items that need the rig, while the test waits to be armed."""
    desk.begun.wait()
    if desk.path is None:
        return
    reader = _core.LiveReader(str(desk.path))
    names = [signal["name"] for signal in about["signals"]]
    while not desk.closed.wait(SENSOR_SECONDS) and desk.state in ("idle", "checked"):
        latest = dict(zip(names, reader.latest, strict=False))
        for item in sheets.sensor_items(reader, about["signals"], about["measured"]):
            sheet.set(item)
        for rig in section.rigs():
            sheet.set(sheets.rig_item(latest, rig))
            sheet.set(sheets.delay_item(latest, section.critical_delay, rig))
