"""The lamps of the desk, the same on the page and in the terminal: rig, record, clock, stability, reduced models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rt_runtime import Loop, _core
from rt_runtime.bundle.rom import Rom
from rt_runtime.engine.pacing import STATES

GOOD, WARN, BAD, OFF = "good", "warn", "bad", "off"
SILENT = 20
"""Ticks without an answer after which a rig is called silent."""
Extremes = Mapping[str, tuple[float, float]]
"""Smallest and largest value of each signal since the lamps were last set; both nan when one was not finite."""
OURS = re.compile(
    r"^(host|monitor)\.|\.(age|status|sent|state|lost|repeated|conflicting|foreign|rejected|delay|drift|lag|gain|doubt"
    r"|frozen|quiet|energy|lost_recently|repeated_recently)$"
)
"""Signals of the program itself: host, monitor, links and detectors."""


def described(signals: Sequence[Any]) -> list[dict[str, Any]]:
    """Return name and unit of each signal, and whether it is one of the program itself."""
    return [{"name": s.name, "unit": s.unit, "ours": bool(OURS.search(s.name))} for s in signals]


def watched_signals(loop: Loop, recorded: tuple[str, ...]) -> dict[str, Any]:
    """Name the recorded signals that lamps look at: stability warnings, and the inputs of reduced models."""
    warnings = [outputs[0] for outputs in loop.written_by(_core.StabilityWarning).values()]
    domain = [
        {"signal": signal, "lower": port.lower, "upper": port.upper}
        for rom, signals in loop.reduced_models().values()
        if isinstance(rom, Rom)
        for port, signal in zip(rom.model.inputs, signals, strict=True)
        if signal in recorded and np.isfinite([port.lower, port.upper]).all()
    ]
    return {"stability": [name for name in warnings if name in recorded], "domain": domain}


class Recent:
    """Gives the extremes of every signal since it was last asked.

    Parameters
    ----------
    reader
        Of the live file.
    about
        The test, as in live.json.
    """

    def __init__(self, reader: _core.LiveReader, about: Mapping[str, Any]) -> None:
        self._reader, self._names = reader, [signal["name"] for signal in about["signals"]]
        self._last: dict[str, tuple[float, float]] = {}

    def extremes(self) -> Extremes:
        """Return the newest ones; the last ones again when no frame is new."""
        first, buckets = self._reader.buckets(1, 1 << 12)
        if first >= 0:
            low, high = buckets[:, :, 0].min(0).tolist(), buckets[:, :, 1].max(0).tolist()
            self._last = dict(zip(self._names, zip(low, high, strict=True), strict=False))
        return self._last


def lamps(
    about: Mapping[str, Any], status: Mapping[str, int], seen: Extremes, wake_us: float | None
) -> list[list[str]]:
    """Return the lamps as [kind, words]; kind is good, warn, bad or off."""
    found = [*_rigs(status, seen), _record(status), _clock(status, wake_us)]
    warnings = [seen[name][1] for name in about.get("stability", ()) if name in seen]
    if warnings:
        worst = max(warnings)
        found.append([BAD, "loop gains energy"] if worst >= 1.0 else [WARN if worst > 0.5 else GOOD, "stability"])
    domain = [port for port in about.get("domain", ()) if port["signal"] in seen]
    if domain:
        outside = [p for p in domain if seen[p["signal"]][0] < p["lower"] or seen[p["signal"]][1] > p["upper"]]
        words = f"model outside its domain: {outside[0]['signal']}" if outside else "model in its domain"
        found.append([BAD if outside and _runs(status) else OFF if outside else GOOD, words])
    broken = [name for name, (low, _) in seen.items() if np.isnan(low)]
    return [*found, *([[BAD, f"{broken[0]} is no number"]] if broken else [])]


def _runs(status: Mapping[str, int]) -> bool:
    return not status["ended"] and STATES[status["state"]] in ("running", "holding")


def _rigs(status: Mapping[str, int], seen: Extremes) -> list[list[str]]:
    """One lamp for each link: silent, losing answers, or well."""
    found = []
    for name in seen:
        rig, _, kind = name.rpartition(".")
        if kind != "age" or f"{rig}.status" not in seen:
            continue
        age, error = seen[name][1], seen[f"{rig}.status"][0] < 0
        lost = seen.get(f"{rig}.lost_recently", (0.0, 0.0))[1]
        if status["ended"]:
            found.append([OFF, f"{rig} released"])
        elif error or age > SILENT:
            found.append([BAD, f"{rig} reports an error" if error else f"{rig} silent for {age:.0f} ticks"])
        else:
            found.append([WARN if lost > 1.0 else GOOD, f"{rig} answers"])
    return found


def _record(status: Mapping[str, int]) -> list[str]:
    if status.get("lost", 0) > 0:
        return [BAD, f"{status['lost']} frames not recorded"]
    return [OFF, "record closed"] if status["ended"] else [GOOD, "recording"]


def _clock(status: Mapping[str, int], wake_us: float | None) -> list[str]:
    words = f"{status.get('missed', 0)} missed" + (f", wake p99 {wake_us:.0f} µs" if wake_us else "")
    return [WARN if status.get("missed", 0) else GOOD, words]
