"""The report of a test as an engineer files it: one HTML page in the folder of the run, to be printed or kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hmor.console.lamps import OURS
from hmor.console.sheet import share
from hmor.console.summary import kept_study, peaks, tracking_figures, while_running
from hmor.console.words import interval, told
from hmor.report import figures
from hmor.report.page import Page
from hmor.study.stages.steps import program_version
from rt_runtime import Record, load_run
from rt_runtime.engine.pacing import Durations, Timing
from rt_runtime.engine.records.run_folder import RUN, STUDY
from rt_runtime.errors import ConfigError
from rt_runtime.files import read_json, write_file
from rt_runtime.safety.watches import FORCE_OF

Run = Mapping[str, Any]
REPORT = "report.html"
SHEET = {"good": ("in order", True), "bad": ("NOT in order", False), "open": ("not known", False)}
SHOWN = 6
"""Signals in the picture over time at most."""
WORK = {"m N": "J", "rad Nm": "J", "rad N m": "J", "mm kN": "J", "m kN": "kJ", "mm N": "mJ"}
"""Unit of the work of a motion and its force."""


def run_report(folder: Path) -> Path:
    """Write report.html into the folder of a run and return its path."""
    if not (folder / RUN).is_file():
        raise ConfigError(f"Folder of a run must hold {RUN}, got {folder}; a run that did not finish has no report.")
    run: Run = read_json(folder / RUN, f"{RUN} of {folder}")
    record = load_run(folder)
    name = str(run.get("study") or folder.name)
    page = Page(
        f"Test {name}",
        f"Run {folder.name}, by {run.get('who', 'unknown')}, begun {_moment(run.get('started'))}, written "
        f"{_moment(run.get('written'))}, hybrid-mor {program_version()}.",
    )
    page.text(record.ended if record.ended != "finished" else "The test ended by itself.", note=True)
    _facts(page, folder, run, record)
    _sheet(page, run)
    _events(page, run)
    _pictures(page, record, kept_study(folder).get("run", {}))
    _figures(page, record)
    _rules(page, run)
    _identity(page, folder, run)
    write_file(folder / REPORT, str(page))
    return folder / REPORT


def _moment(text: str | None) -> str:
    return (text or "unknown").replace("T", " ").replace("+00:00", " UTC")


def _facts(page: Page, folder: Path, run: Run, record: Record) -> None:
    cards = [(f"{record.ticks / record.rate:.4g} s", f"{record.ticks} ticks at {record.rate:g} Hz")]
    timing = run.get("timing")
    if timing:
        cards.append((str(timing["missed"]), "missed wake-up times"))
    names = kept_study(folder).get("run", {}).get("tracking")
    found = tracking_figures(record, names) if names else None
    if found:
        cards += [
            (f"{found['J1_ms']:.3g} ms", "J1, delay of the tracking"),
            (f"{found['J2_percent']:.3g} %", "J2, root mean square error"),
            (f"{found['J3_percent']:.3g} %", "J3, peak error"),
        ]
    page.facts(cards)
    if found:
        page.text(f"Tracking: {names['measured']} against {names['target']} while the test ran.")
    page.text(f"Real time: {_verdict(timing, record.rate)}" if timing else "The test ran without a clock.", note=True)
    if record.frames_lost:
        page.text(f"The record lacks {record.frames_lost} frames.", note=True)


def _verdict(timing: Mapping[str, Any], rate: float) -> str:
    from rt_runtime.engine.host_check import timing_verdict

    def durations(kept: Mapping[str, Any]) -> Durations:
        return Durations(
            tuple(kept["edges_ns"]), tuple(kept["counts"]), kept["mean_ns"], kept["least_ns"], kept["most_ns"]
        )

    kept = Timing(
        timing["ticks"], timing["missed"], timing["skipped"], durations(timing["wake"]), durations(timing["own"])
    )
    return timing_verdict(kept, rate)


def _sheet(page: Page, run: Run) -> None:
    page.heading("Pre-test sheet")
    if not run.get("sheet"):
        page.text("The test had none: it started at once.")
        return
    rows = []
    for item in run["sheet"]:
        result = SHEET.get(item["result"], ("ticked", True) if item["done"] else ("not ticked", False))
        rows.append([item["what"], result, item["words"]])
    page.table(["item", "result", "figures"], rows, words=True)


def _events(page: Page, run: Run) -> None:
    page.heading("Events")
    rows = told(run.get("events", []), run.get("operator", []), run.get("rules", []))
    if not rows:
        page.text("None.")
        return
    page.table(["who", "what"], [[who, words] for _, who, words, _ in rows], words=True)


def _pictures(page: Page, record: Record, test: Mapping[str, Any]) -> None:
    page.heading("Pictures")
    own = [s.name for s in record.signals if not OURS.search(s.name)]
    tracked = [name for name in (test.get("tracking") or {}).values() if name in own]
    wanted = [command.get("wanted") for command in test.get("commands", ())]  # runs away while it is not followed
    pair = force_and_motion(record)
    names = [name for name in dict.fromkeys([*tracked, *(pair or ()), *own]) if name not in wanted or name in tracked]
    if len(record) < 2 or not names:
        page.text("Too few frames to draw.")
        return
    every = max(1, len(record) // 4000)
    short = Record(record.time[::every], record.values[::every], record.signals, record.rate, record.ticks)
    page.figure(short.plot(*names[:SHOWN]), f"{', '.join(names[:SHOWN])} over time")
    if pair is not None:
        page.figure(_loop(short, *pair), f"{pair[1]} over {pair[0]}")


def _loop(record: Record, motion: str, force: str) -> Any:
    """Draw a force over its motion."""
    figure, axes = figures.panels(1, 1, 5.2, 3.6)
    ax, units = axes[0, 0], {s.name: s.unit for s in record.signals}
    figures.line(ax, record[motion], record[force], 0, thin=False)
    ax.set(xlabel=f"{motion} [{units[motion]}]", ylabel=f"{force} [{units[force]}]")
    ax.locator_params(nbins=5)
    return figure


def force_and_motion(record: Record) -> tuple[str, str] | None:
    """Name a measured motion and its force, where the units tell."""
    units = {s.name: s.unit for s in record.signals if not OURS.search(s.name)}
    for force, unit in units.items():
        kinds = [kind for kind, forces in FORCE_OF.items() if unit in forces]
        motions = [name for name, u in units.items() if u in kinds]
        measured = [name for name in motions if name not in ("wanted", "target", "command")]
        if motions:
            return (measured or motions)[0], force
    return None


def _figures(page: Page, record: Record) -> None:
    page.heading("Peaks and energy")
    rows = [[name, f"{low:.5g}", f"{high:.5g}", unit or "-"] for name, low, high, unit in peaks(record)]
    page.table(["signal", "min", "max", "unit"], rows[:40])
    pair = force_and_motion(record)
    if pair is not None:
        running, units = while_running(record), {s.name: s.unit for s in record.signals}
        x, f = record[pair[0]][running], record[pair[1]][running]
        work = float(np.sum(0.5 * (f[1:] + f[:-1]) * np.diff(x))) if len(x) > 1 else 0.0
        product = f"{units[pair[0]]} {units[pair[1]]}"
        unit = WORK.get(product, product)
        page.text(
            f"Work done on the specimen while the test ran, integral of {pair[1]} over {pair[0]}: {work:.5g} {unit}."
        )


def _rules(page: Page, run: Run) -> None:
    page.heading("Rules in force")
    rows, kept = [], run.get("rules", [])
    margins = run.get("margins") or [[None, None, None, rule.get("lower"), rule.get("upper")] for rule in kept]
    for rule, (_, least, most, lower, upper) in zip(kept, margins, strict=False):
        used = "-"
        if least is not None and most is not None:
            used = f"{100 * share(least, most, _bound(lower, -np.inf), _bound(upper, np.inf)):.0f} %"
        watched = f"{rule['quantity']} of {rule['signal']}" if rule["quantity"] != "value" else rule["signal"]
        source = rule.get("reason", "default" if rule.get("default") else "study")
        rows.append([rule["name"], watched, interval(lower, upper), used, rule["action"], source])
    page.table(["rule", "watches", "limits", "margin used", "action", "from"], rows, words=True)


def _bound(value: float | None, none: float) -> float:
    return none if value is None else value


def _identity(page: Page, folder: Path, run: Run) -> None:
    page.heading("What was run, and where")
    study = folder / STUDY
    rows = [["study file (SHA-256)", hashlib.sha256(study.read_bytes()).hexdigest() if study.is_file() else "not kept"]]
    rows += [[f"bundle {name}", str(value)] for name, value in run.get("bundles", {}).items()]
    rows += [[key, str(value)] for key, value in (run.get("versions", {}) | run.get("host", {})).items()]
    page.table(["", ""], rows, words=True)
