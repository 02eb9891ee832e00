"""The report of a test as an engineer files it: one HTML page in the folder of the run, to be printed or kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hmor.console.summary import kept_study, peaks, tracking_figures, while_running
from hmor.console.words import event_words, order_words
from hmor.report import figures
from hmor.report.page import Page
from hmor.study.steps import program_version
from rt_runtime import Record, load_run
from rt_runtime.engine.pacing import Durations, Timing
from rt_runtime.engine.run_folder import RUN, STUDY
from rt_runtime.errors import ConfigError
from rt_runtime.files import read_json, write_file
from rt_runtime.safety.watches import FORCE_OF

Run = Mapping[str, Any]
REPORT = "report.html"
SHEET = {"good": ("in order", True), "bad": ("NOT in order", False), "open": ("not known", False)}


def run_report(folder: Path) -> Path:
    """Write report.html into the folder of a run and return its path."""
    if not (folder / RUN).is_file():
        raise ConfigError(f"Folder of a run must hold {RUN}, got {folder}; a run that did not finish has no report.")
    run: Run = read_json(folder / RUN, f"{RUN} of {folder}")
    record = load_run(folder)
    name = str(run.get("study") or folder.name)
    page = Page(
        f"Test {name}",
        f"Run {folder.name}, by {run.get('who', 'unknown')}, begun {run.get('started', 'unknown')}, written "
        f"{run.get('written', 'unknown')}, hybrid-mor {program_version()}.",
    )
    page.text(record.ended if record.ended != "finished" else "The test ended by itself.", note=True)
    _facts(page, folder, run, record)
    _sheet(page, run)
    _events(page, run)
    _pictures(page, record)
    _figures(page, record)
    _rules(page, run)
    _identity(page, folder, run)
    write_file(folder / REPORT, str(page))
    return folder / REPORT


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
    if timing:
        page.text(f"Real time: {_verdict(timing, record.rate)}", note=True)
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
    page.table(["item", "result", "figures"], rows)


def _events(page: Page, run: Run) -> None:
    page.heading("Events")
    about = {"rules": run.get("rules", [])}
    told = [(*event_words(event, about), "monitor") for event in run.get("events", [])]
    told += [(*order_words(order), "operator") for order in run.get("operator", [])]
    if not told:
        page.text("None.")
        return
    page.table(["who", "what"], [[who, words] for _, words, who in sorted(told)])


def _own(record: Record) -> list[str]:
    """Name the signals of the test itself."""
    return [s.name for s in record.signals if "." not in s.name]


def _pictures(page: Page, record: Record) -> None:
    page.heading("Pictures")
    names = _own(record)[:8]
    if len(record) < 2 or not names:
        page.text("Too few frames to draw.")
        return
    every = max(1, len(record) // 4000)
    short = Record(record.time[::every], record.values[::every], record.signals, record.rate, record.ticks)
    page.figure(short.plot(*names), f"{', '.join(names)} over time")
    pair = force_and_motion(record)
    if pair is not None:
        motion, force = pair
        loops = {"test": (short[motion], short[force])}
        units = {s.name: s.unit for s in record.signals}
        labels = {name: f"{name} [{units[name]}]" for name in pair}
        page.figure(figures.hysteresis(loops, motion, force, labels), f"{force} over {motion}")


def force_and_motion(record: Record) -> tuple[str, str] | None:
    """Name a measured motion and its force, where the units tell."""
    units = {s.name: s.unit for s in record.signals if "." not in s.name}
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
        running = while_running(record)
        x, f = record[pair[0]][running], record[pair[1]][running]
        work = float(np.sum(0.5 * (f[1:] + f[:-1]) * np.diff(x))) if len(x) > 1 else 0.0
        page.text(f"Work done on the specimen while the test ran, the integral of {pair[1]} d{pair[0]}: {work:.5g}.")


def _rules(page: Page, run: Run) -> None:
    page.heading("Rules in force")
    rows = [
        [
            rule["name"],
            f"{rule['quantity']} of {rule['signal']}",
            f"{rule.get('lower', '')} .. {rule.get('upper', '')}",
            rule["action"],
            rule.get("reason", "default" if rule.get("default") else "study"),
        ]
        for rule in run.get("rules", [])
    ]
    page.table(["rule", "watches", "limits", "action", "from"], rows)


def _identity(page: Page, folder: Path, run: Run) -> None:
    page.heading("What was run, and where")
    study = folder / STUDY
    rows = [["study file (SHA-256)", hashlib.sha256(study.read_bytes()).hexdigest() if study.is_file() else "not kept"]]
    rows += [[f"bundle {name}", value] for name, value in run.get("bundles", {}).items()]
    rows += [[key, str(value)] for key, value in (run.get("versions", {}) | run.get("host", {})).items()]
    page.table(["", ""], rows)
