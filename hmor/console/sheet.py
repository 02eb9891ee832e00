"""The pre-test sheet: what is checked by itself and what somebody must tick before a test may be armed."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hmor.console.words import interval
from rt_runtime import Record, _core

GOOD, TICK, BAD, OPEN = "good", "tick", "bad", "open"
"""Result of an item: in order; to be ticked by somebody; must be mended first; not known yet."""


NEAREST = 4
"""Rules whose peaks in the virtual run are told."""


@dataclass(frozen=True)
class Item:
    """One line of the sheet: what, how it came out, the figures in words, whether somebody has ticked it."""

    what: str
    result: str
    words: str = ""
    done: bool = False

    @property
    def complete(self) -> bool:
        """Whether it no longer stands in the way."""
        return self.result == GOOD or (self.result == TICK and self.done)


class Sheet:
    """The items in their order; safe to be read and ticked from several threads."""

    def __init__(self, items: Sequence[Item] = ()) -> None:
        self._items, self._lock = list(items), threading.Lock()

    def set(self, item: Item) -> None:
        """Add an item, or replace the one of its name."""
        with self._lock:
            for i, old in enumerate(self._items):
                if old.what == item.what:
                    self._items[i] = replace(item, done=old.done)
                    return
            self._items.append(item)

    def tick(self, number: int, done: bool = True) -> str:
        """Tick an item; return why that cannot be, or nothing."""
        with self._lock:
            if not 0 <= number < len(self._items):
                return f"the sheet has no item {number}"
            item = self._items[number]
            if item.result != TICK:
                return f"'{item.what}' is not for ticking: it is {item.result}"
            self._items[number] = replace(item, done=done)
        return ""

    def open(self) -> list[str]:
        """Name the items that stand in the way."""
        with self._lock:
            return [item.what for item in self._items if not item.complete]

    def rows(self) -> list[dict[str, Any]]:
        """Return plain values."""
        with self._lock:
            return [{"what": i.what, "result": i.result, "words": i.words, "done": i.done} for i in self._items]


def latency_item(rate: float, pacing: Any, *, seconds: float = 1.0) -> Item:
    """Measure the wake-up latency at the rate of the test."""
    from rt_runtime.engine.host_check import check_host

    found = check_host(seconds=seconds, rate=rate, pacing=pacing, rates=[rate])
    wake, verdict = found.timing.wake.summary_us(), found.verdicts[rate]
    words = f"{rate:g} Hz {verdict}: wake-up p99 {wake['p99']:.0f} us, worst {wake['max']:.0f} us in {seconds:g} s"
    return Item("Host keeps the rate", GOOD if verdict == "holds" else TICK, words)


def disk_item(folder: Path, signals: int, rate: float, seconds: float) -> Item:
    """Compare the room on the disk with what the record needs, twice (frames and final file)."""
    needed = 2 * 8 * (signals + 1) * rate * seconds
    free = shutil.disk_usage(folder).free
    words = f"{free / 1e9:.1f} GB free, the record needs {needed / 1e9:.3g} GB"
    return Item("Disk room", GOOD if free > 2 * needed else BAD, words)


def bundle_items(bundles: Mapping[str, Any], signed: bool) -> list[Item]:
    """List the models: their hashes; loading them has repeated the golden vectors and checked the signature."""
    if not bundles:
        return [Item("Bundles", GOOD, "the test uses none")]
    words = ", ".join(f"{name} {next(iter(bundle.hashes.values()))[:12]}" for name, bundle in bundles.items())
    kind = "signature and golden vectors hold" if signed else "golden vectors hold; no signer is asked for"
    return [Item("Bundles", GOOD if signed else TICK, f"{words}; {kind}")]


def rule_items(rules: Sequence[Mapping[str, Any]], gaps: Sequence[str]) -> list[Item]:
    """Say how many rules are in force, and what none of them watches."""
    loose: dict[str, list[str]] = {}
    for rule in rules:
        if rule.get("reason"):
            loose.setdefault(rule["reason"], []).append(rule["name"])
    words = "; ".join([f"{len(rules)} in force", *(f"loosened ({why}): {', '.join(n)}" for why, n in loose.items())])
    items = [Item("Rules", TICK if loose else GOOD, words)]
    return [*items, *(Item(f"Not watched {i + 1}", TICK, gap) for i, gap in enumerate(gaps))]


def virtual_item(run: Callable[[], tuple[Record, list[tuple[str, float, float, float, float]]]]) -> Item:
    """Run the same study without a clock; every rule must keep a margin: (name, least, most, lower, upper)."""
    what = "Virtual run"
    try:
        record, peaks = run()
    except Exception as error:  # whatever stops it, the operator must know
        return Item(what, TICK, f"not possible: {error}")
    if record.ended != "finished":
        return Item(what, BAD, record.ended)
    used = sorted(((share(*peak[1:]), *peak) for peak in peaks), key=lambda row: -row[0])
    told = [
        f"{name} {most if abs(most) >= abs(least) else least:.3g} of {limit_words(lower, upper)} ({100 * part:.0f} %)"
        for part, name, least, most, lower, upper in used[:NEAREST]
    ]
    words = "; ".join(["finished", *([f"nearest to their limits: {', '.join(told)}"] if told else [])])
    return Item(what, GOOD if not used or used[0][0] < 0.9 else TICK, words)


def limit_words(lower: float, upper: float) -> str:
    """Write the limits of a rule, infinite where there is none."""
    return interval(lower if np.isfinite(lower) else None, upper if np.isfinite(upper) else None)


def share(least: float, most: float, lower: float, upper: float) -> float:
    """Return how much of its interval a quantity used: 0 in the middle (or at 0), 1 at a limit."""
    middle = 0.5 * (lower + upper) if np.isfinite(lower + upper) else 0.0
    above = (most - middle) / (upper - middle) if np.isfinite(upper) and upper > middle else 0.0
    below = (middle - least) / (middle - lower) if np.isfinite(lower) and lower < middle else 0.0
    return max(above, below, 0.0)


def sensor_items(reader: _core.LiveReader, signals: Sequence[Mapping[str, str]], measured: Sequence[str]) -> list[Item]:
    """Give offset and noise of each sensor over the last second or so, at rest."""
    names = [signal["name"] for signal in signals]
    _, frames = reader.buckets(1, 1 << 16)
    if len(frames) < 20:
        return []
    items = []
    for name in measured:
        if name not in names:
            continue
        values, unit = frames[:, names.index(name), 0].astype(float), signals[names.index(name)]["unit"]
        offset, noise = float(np.mean(values)), float(np.std(values))
        words = f"offset {offset:.3g} {unit}, noise {noise:.2g} {unit} over {len(values)} frames"
        finite = np.isfinite(values).all()
        items.append(Item(f"Sensor {name}", TICK if finite else BAD, words if finite else "gives no number"))
    return items


def of_rig(what: str, rig: str) -> str:
    """Name an item of one rig; the only one is called rig and needs no name."""
    return what if rig == "rig" else f"{what}: {rig}"


def rig_item(latest: Mapping[str, float], rig: str = "rig") -> Item:
    """Say whether a rig answers, and in which state its watchdog is."""
    what = of_rig("Rig answers", rig)
    if f"{rig}.age" not in latest:
        return Item(what, TICK, "its signals are not recorded")
    age, status, state, lost = (latest.get(f"{rig}.{name}", 0.0) for name in ("age", "status", "state", "lost"))
    words = f"age {age:.0f} ticks, status {status:.0f}, watchdog state {state:.0f}, {lost:.0f} lost"
    return Item(what, GOOD if status >= 0 and age < 100 else BAD, words)


def delay_item(latest: Mapping[str, float], critical: float | None, rig: str = "rig") -> Item:
    """Compare the measured delay of a rig with the critical one that the study declares."""
    what, delay = of_rig("Delay", rig), latest.get(f"{rig}.delay", 0.0)
    if critical is None:
        return Item(what, TICK, f"measured {1e3 * delay:.2f} ms; the study declares no critical_delay to compare with")
    words = f"measured {1e3 * delay:.2f} ms, critical {1e3 * critical:.2f} ms"
    return Item(what, GOOD if delay < 0.5 * critical else BAD, words)
