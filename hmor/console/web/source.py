"""Where a console gets its pictures from: the live file of a running test, or the folder of one that has run."""

from __future__ import annotations

import asyncio
import json
import struct
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hmor.console.control import LIVE, SOCKET, short_name
from hmor.console.lamps import Recent, lamps
from hmor.console.summary import summary
from hmor.console.words import told
from rt_runtime import _core, load_run
from rt_runtime.checks import Array
from rt_runtime.engine.desk import LEGAL
from rt_runtime.engine.pacing import STATES
from rt_runtime.engine.records.run_folder import FRAMES, HEADER, RUN, read_frames
from rt_runtime.errors import ConfigError
from rt_runtime.files import read_json

BUCKETS_PER_SECOND = 60
MOST_BUCKETS = 240
"""In one message: four seconds after a pause; what is older is in the history."""
FRAME_KIND = 1
SHOWN_EVENTS = 200


def pack(first: float, length: float, buckets: NDArray[np.float32]) -> bytes:
    """Return the binary message: u32 kind, u32 buckets, f64 first t, f64 bucket length, float32 [bucket][signal][2]."""
    return struct.pack("<IIdd", FRAME_KIND, len(buckets), first, length) + buckets.astype("<f4").tobytes()


class Source:
    """A run as the console sees it; `about` is what the page must know before the first picture."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.live = (folder / LIVE).is_file()
        self.look: dict[str, Any] = {"events": [], "orders": [], "rules": [], "sheet": None}
        self.reader: _core.LiveReader | None = None
        self._recent: Recent | None = None
        if self.live:
            self.about = read_json(folder / LIVE, f"{LIVE} of the run {folder}")
            if self.about["live"]:
                try:
                    self.reader = _core.LiveReader(self.about["live"])
                    self._recent = Recent(_core.LiveReader(self.about["live"]), self.about)
                except RuntimeError as error:
                    raise ConfigError(str(error)) from None
        else:
            self.about = summary(folder)
        self.size = max(1, round(self.about["rate"] / self.about["every"] / BUCKETS_PER_SECOND))
        self._history: tuple[NDArray[Any], Array, float] | None = None

    @property
    def status(self) -> dict[str, int]:
        """Tick, test tick, missed, lost, state, ended."""
        return self.reader.status if self.reader else {"ended": int(not self.live), "state": 0, "tick": -1}

    def frames(self) -> bytes | None:
        """Return the buckets that are new since the last call as a message."""
        if self.reader is None:
            return None
        first, buckets = self.reader.buckets(self.size, MOST_BUCKETS)
        if first < 0:
            return None
        rate = self.about["rate"]
        return pack(first / rate, self.size * self.about["every"] / rate, buckets)

    def state(self) -> str:
        """The state of the monitor by its name; "ended" after the last tick."""
        now = self.status
        return "ended" if now["ended"] else STATES[now["state"]]

    def state_message(self) -> dict[str, Any]:
        """Return what the lamps and buttons need."""
        now, state = self.status, self.state()
        seen = self._recent.extremes() if self._recent else {}
        return {
            "kind": "state",
            "state": STATES[now["state"]],
            "legal": list(LEGAL.get(state, ())),
            "lamps": lamps(self.about, now, seen, self.look.get("wake_us")),
            "tick": now["tick"],
            "test_tick": now.get("test_tick", -1),
            "ended": bool(now["ended"]),
        }

    def events(self, look: dict[str, Any]) -> list[list[Any]]:
        """Return the newest events and orders in sentences, by tick."""
        return told(look["events"], look["orders"], self.about["rules"])[-SHOWN_EVENTS:]

    def history(self, signals: Sequence[str], begin: float, end: float, n: int) -> dict[str, Any]:
        """Return extremes of the signals in `n` buckets between two times, from the frames on disk."""
        names = [signal["name"] for signal in self.about["signals"]]
        unknown = [name for name in signals if name not in names]
        if unknown:
            raise ConfigError(f"Signal {unknown[0]!r} is not recorded.")
        ticks, values, rate = self._on_disk(len(names))
        first, last = (bisect_left(ticks, t * rate) for t in (begin, end))  # reads what it needs, not hours of frames
        columns = [names.index(name) for name in signals]
        part, moments = values[first:last, columns], ticks[first:last] / rate
        size = max(1, -(-len(moments) // max(1, n)))
        starts = np.arange(0, len(moments), size)
        if not len(starts):
            return {"t": [], "low": [], "high": []}
        low, high = np.minimum.reduceat(part, starts), np.maximum.reduceat(part, starts)
        return {"t": moments[starts].tolist(), "low": plain(low.T), "high": plain(high.T)}

    def _on_disk(self, width: int) -> tuple[NDArray[Any], Array, float]:
        """Moments of the frames, their values, and moments in a second."""
        if self._history is not None:
            return self._history
        if (self.folder / HEADER).is_file():  # grows: not kept
            return *read_frames(self.folder / FRAMES, width), self.about["rate"]
        record = load_run(self.folder)
        self._history = record.time, record.values, 1.0
        return self._history

    def finished(self) -> dict[str, Any] | None:
        """Return the summary once the run has ended and its folder is written."""
        if not (self.folder / RUN).is_file() or (self.folder / FRAMES).is_file():
            return None
        self.live = False
        whole = summary(self.folder)
        found: dict[str, Any] = whole["summary"]
        self.about |= {"events": whole["events"], "summary": found}
        return found


def plain(values: Array) -> list[list[float | None]]:
    """Return nested lists for JSON; what is not finite is null."""
    return [[v if np.isfinite(v) else None for v in row] for row in values.tolist()]


class Asking:
    """One connection to the control socket for an event loop; answers come in the order of the questions."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, asyncio.Lock()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, question: dict[str, Any], timeout: float = 4.0) -> dict[str, Any]:
        """Ask and return the answer; a test that does not answer refuses everything."""
        async with self._lock:
            try:
                async with asyncio.timeout(timeout):
                    if self._streams is None:
                        with short_name(self._folder / SOCKET) as name:
                            self._streams = await asyncio.open_unix_connection(name, limit=1 << 22)
                    reader, writer = self._streams
                    writer.write(json.dumps(question).encode() + b"\n")
                    await writer.drain()
                    line = await reader.readline()
                    answer: dict[str, Any] = json.loads(line)
                    return answer
            except (OSError, ValueError, TimeoutError):
                self.close()
                return {"refused": True, "why": "the test has ended or does not answer"}

    def close(self) -> None:
        """Hang up."""
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None
