"""A run folder as plain values and as text, for `hmor info`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mor.sampling.space import text_table
from rt_runtime.engine.records.run_folder import RUN, load_run
from rt_runtime.files import read_json


def run_content(path: Path) -> dict[str, Any]:
    """Return what a run folder says: run.json, and the range of every recorded signal."""
    record = load_run(path)
    about: dict[str, Any] = {}
    if (path / RUN).is_file():
        about = read_json(path / RUN, f"File {path / RUN}")
    signals = {}
    for signal in record.signals:
        values = record[signal.name]
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if known.size else (None, None)
        signals[signal.name] = {"unit": signal.unit, "min": low, "max": high}
    plain = {"ended": record.ended, "ticks": record.ticks, "rate_hz": record.rate}
    kept = {"frames": len(record), "frames_lost": record.frames_lost}
    return {"kind": "run", "path": str(path), **plain, **kept, **about, "signals": signals}


def run_text(content: dict[str, Any]) -> str:
    """Return how a run ended, how it kept time, what the monitor noted, and the range of its signals."""
    seconds = content["ticks"] / content["rate_hz"]
    lines = [
        f"run       {content['path']}",
        f"ended     {content['ended']}",
        f"ticks     {content['ticks']} at {content['rate_hz']:g} Hz ({seconds:.6g} s), {content['frames']} recorded",
    ]
    if content["frames_lost"]:
        lines.append(f"LOST      {content['frames_lost']} frames are missing; the ranges below are of what is left")
    timing = content.get("timing")
    if timing:
        lines.append(f"timing    {timing['missed']} missed, {timing['skipped']} skipped")
    if "written" in content:
        lines.append(f"written   {content['written']}")
    for event in content.get("events", []):
        rule = f"rule '{event['rule']}', {event['action']}" if event["rule"] else "on request, or at the end"
        lines.append(f"event     tick {event['tick']} ({event['time']:.6g} s): {event['state']}, {rule}")
    numbers = [
        (name, s["unit"] or "-", *("nan" if s[side] is None else f"{s[side]:.6g}" for side in ("min", "max")))
        for name, s in content["signals"].items()
    ]
    return "\n".join(lines) + "\n\n" + text_table(("signal", "unit", "min", "max"), numbers)
