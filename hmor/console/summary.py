"""A run that has ended, as the page and the report show it: why, peaks with units, events, sheet, timing."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hmor.console.lamps import OURS, described, lamps
from hmor.console.words import told
from mor.validation.tracking import tracking
from rt_runtime import Record, load_run
from rt_runtime.engine.pacing import STATES
from rt_runtime.engine.records.run_folder import RUN, STUDY
from rt_runtime.engine.signal_names import expand
from rt_runtime.errors import ConfigError
from rt_runtime.files import read_json


def summary(folder: Path) -> dict[str, Any]:
    """Return what a console must know of a run that has ended, with its `summary`."""
    record, kept = load_run(folder), kept_study(folder).get("run", {})
    run: dict[str, Any] = read_json(folder / RUN, f"{RUN} of {folder}") if (folder / RUN).is_file() else {}
    every = round(record.rate * (record.time[1] - record.time[0])) if len(record) > 1 else 1
    about: dict[str, Any] = {
        "study": run.get("study", folder.name),
        "rate": record.rate,
        "every": max(1, every),
        "duration": run.get("duration_s", float(record.time[-1]) if len(record) else 0.0),
        "length": float(record.time[-1]) if len(record) else 0.0,
        "start": "at_once",
        "signals": described(record.signals),
        "measured": measured_signals(kept),
        "rules": run.get("rules", []),
        "margins": run.get("margins"),
        "commands": [],
        "tunables": [],
        "tracking": kept.get("tracking"),
        "run": folder.name,
    }
    about["events"] = told(run.get("events", []), run.get("operator", []), about["rules"])
    timing, names = run.get("timing") or {}, kept.get("tracking")
    shown = {"ended": 1, "state": 0, "missed": timing.get("missed", 0), "lost": record.frames_lost}
    about["lamps"] = lamps(about, shown, {}, None)
    about["summary"] = {
        "ended": record.ended,
        "peaks": peaks(record),
        "missed": timing.get("missed"),
        "ticks": record.ticks,
        "frames_lost": record.frames_lost,
        "tracking": tracking_figures(record, names) if names else None,
        "sheet": run.get("sheet"),
        "folder": str(folder),
    }
    return about


def measured_signals(kept: Mapping[str, Any]) -> list[str]:
    """Name the measured signals of all actuators of a kept [run] section."""
    rigs = [kept.get("actuator", {}), *kept.get("actuators", {}).values()]
    return [signal for rig in rigs for name in rig.get("measured", ()) for signal in expand(name)]


def peaks(record: Record) -> list[list[Any]]:
    """Return name, smallest and largest value, and unit of every signal of the test itself."""
    rows: list[list[Any]] = []
    for signal, values in zip(record.signals, record.values.T, strict=True):
        seen = values[np.isfinite(values)]
        if len(seen) and not OURS.search(signal.name):
            rows.append([signal.name, float(seen.min()), float(seen.max()), signal.unit])
    return rows


def kept_study(folder: Path) -> dict[str, Any]:
    """Return the study file that a run keeps; empty when there is none."""
    try:
        return tomllib.loads((folder / STUDY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def while_running(record: Record) -> NDArray[np.bool_]:
    """Tell of each frame whether the test clock ran and the monitor let the wanted command through."""
    names = {signal.name for signal in record.signals}
    running = np.ones(len(record), dtype=bool)
    if "monitor.state" in names:
        running &= record["monitor.state"] == STATES.index("running")
    if "monitor.test_tick" in names:
        tick = record["monitor.test_tick"]
        running &= (tick >= 0) & (np.diff(tick, prepend=-1.0) > 0)
    return running


def tracking_figures(record: Record, names: Mapping[Any, str]) -> dict[str, float] | None:
    """Return J1 to J3 of two recorded signals while the test ran."""
    running = while_running(record)
    try:
        target, measured = record[names["target"]][running], record[names["measured"]][running]
    except (ConfigError, KeyError):
        return None
    if len(target) < 2 or np.abs(target).max() < 1e-12 or not np.isfinite(target + measured).all():
        return None
    frames = 1.0 / float(np.median(np.diff(record.time)))  # a second: every n-th tick may be recorded
    found = tracking(measured, target, frames)
    return {"J1_ms": float(found.J1), "J2_percent": found.J2, "J3_percent": found.J3}
