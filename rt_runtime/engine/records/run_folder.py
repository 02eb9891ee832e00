"""One folder per run: the data of every tick, what was run, on which host, how well it kept time, and why it ended."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rt_runtime import _core
from rt_runtime.checks import Array
from rt_runtime.engine.records.record import Record, Signal
from rt_runtime.errors import ConfigError
from rt_runtime.files import read_json, reading, write_file
from rt_runtime.versions import versions

FORMAT = 1
RING_BYTES = 1 << 23
FRAMES, HEADER, DATA, RUN, STUDY = "frames.bin", "frames.json", "data.nc", "run.json", "study.toml"


@dataclass(frozen=True)
class RunFolder:
    """Where a run is kept. `study` is the text of its study file, `bundles` the hashes of its bundles by name.

    While the loop runs, a writer thread puts every frame into frames.bin (tick as int64, signals as float64,
    little-endian; described in frames.json). After the run it becomes data.nc and run.json is written. After a crash
    frames.bin is still there, and `load_run` reads it.

    Parameters
    ----------
    path
        A folder that is not there yet.
    ring_seconds
        How much the buffer between loop and writer holds.
    """

    path: Path
    study: str = ""
    bundles: Mapping[str, str] = field(default_factory=dict)
    ring_seconds: float = 2.0

    def open(self, signals: Sequence[Signal], rate: float, every: int) -> None:
        """Make the folder and describe what will stand in frames.bin."""
        path = Path(self.path)
        if path.exists() and any(path.iterdir() if path.is_dir() else [path]):
            raise ConfigError(f"Folder of a run must be new or empty, got {path}; choose another name.")
        header = {
            "format": FORMAT,
            "rate_hz": rate,
            "every": every,
            "signals": [{"name": s.name, "unit": s.unit, "initial": s.initial} for s in signals],
        }
        try:
            path.mkdir(parents=True, exist_ok=True)
            write_file(path / HEADER, json.dumps(header, indent=2) + "\n")
            if self.study:
                write_file(path / STUDY, self.study)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ConfigError(f"Folder of a run cannot be made at {path}: {reason}; choose another place.") from None

    def discard(self) -> None:
        """Take back what `open` made, after a start that was refused."""
        for name in (FRAMES, HEADER, STUDY):
            (Path(self.path) / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            Path(self.path).rmdir()

    def close(self, record: Record, facts: Mapping[str, Any]) -> None:
        """Write data.nc and run.json; frames.bin goes when data.nc is safe, and stays when the disk refuses."""
        path = Path(self.path)
        about = {
            "format": FORMAT,
            "ended": record.ended,
            "ticks": record.ticks,
            "frames": len(record),
            "frames_lost": record.frames_lost,
            "rate_hz": record.rate,
            "bundles": dict(self.bundles),
            "versions": versions(),
            "host": host_facts(),
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        refused = None
        for write in (
            lambda: write_file(path / RUN, json.dumps(about | dict(facts), indent=2) + "\n"),
            lambda: record.save(path / DATA),
        ):
            try:
                write()
            except OSError as error:
                refused = error
        if refused is not None:
            reason = refused.strerror or str(refused)
            print(f"The run in {path} could not be finished ({reason}); its frames stay in {FRAMES}.", file=sys.stderr)
            return
        (path / FRAMES).unlink(missing_ok=True)
        (path / HEADER).unlink(missing_ok=True)


def load_run(path: str | Path) -> Record:
    """Read the record of a run folder: data.nc, or the frames that were written when the run did not finish.

    Parameters
    ----------
    path
        The run folder.
    """
    folder = Path(path)
    if (folder / DATA).is_file():
        return Record.load(folder / DATA)
    if not (folder / HEADER).is_file():
        raise ConfigError(f"Folder of a run must hold {DATA} or {FRAMES}, got {folder}.")
    header = read_json(folder / HEADER, f"{HEADER} of the run {folder}")
    with reading(f"{HEADER} of the run {folder}"):
        signals = tuple(Signal(s["name"], s["unit"], s["initial"]) for s in header["signals"])
        ticks, values = read_frames(folder / FRAMES, len(signals))
        ended = "The run was not finished; these are the frames that reached the disk."
        last = int(ticks[-1]) + 1 if len(ticks) else 0
        gaps = -(-last // header["every"]) - len(ticks)
        return Record(ticks / header["rate_hz"], values, signals, header["rate_hz"], last, ended, frames_lost=gaps)


def read_frames(path: Path, width: int) -> tuple[NDArray[np.int64], Array]:
    """Map frames.bin into memory: ticks (n) and values (n, width), read where they are looked at; half a frame at the
    end is left out."""
    stride = 8 * (width + 1)
    n = path.stat().st_size // stride if path.is_file() else 0
    if n == 0:
        return np.empty(0, dtype=np.int64), np.empty((0, width))
    frames = np.memmap(path, dtype="<f8", mode="r", shape=(n, width + 1))
    return frames.view("<i8")[:, 0], frames[:, 1:]


def host_facts() -> dict[str, str]:
    """Say what a run's timing depends on: machine, kernel, CPUs, the kernel's limit on real-time threads."""
    throttle = Path("/proc/sys/kernel/sched_rt_runtime_us")
    return {
        "machine": platform.machine(),
        "kernel": platform.release(),
        "preemption": "realtime" if Path("/sys/kernel/realtime").exists() else platform.version(),
        "cpus": str(os.cpu_count()),
        "rt_runtime_us_per_s": throttle.read_text().strip() if throttle.is_file() else "unknown",
    }


def lost_frames(kept: Mapping[str, Any]) -> str:
    """Say in one sentence which frames a record lacks and why; empty when it has them all."""
    if not kept.get("frames_lost"):
        return ""
    reasons = []
    if kept["frames_dropped_ring_full"]:
        reasons.append(f"{kept['frames_dropped_ring_full']} came while the disk was too slow and the ring was full")
    if kept["frames_refused_by_disk"]:
        error = kept["disk_error"] or "unknown error"
        reasons.append(f"{kept['frames_refused_by_disk']} were refused by the disk ({error})")
    total = kept["frames_written"] + kept["frames_lost"]
    return f"The record lacks {kept['frames_lost']} of {total} frames: {'; '.join(reasons)}."


class Stream:
    """Ring and writer thread of one run; `latest` feeds a live view.

    Without a clock the loop `waits` for the writer when the ring is full. The ring is then large enough for all that
    the loop can make while the writer is between two looks.
    """

    def __init__(self, folder: RunFolder, indices: Sequence[int], every: int, rate: float, *, waits: bool) -> None:
        frames = max(1024, int(folder.ring_seconds * rate / every))
        if waits:
            frames = max(1024, RING_BYTES // (8 * (len(indices) + 1)))
        self.ring = _core.Ring(list(indices), every, frames, waits)
        self.writer = _core.Writer(self.ring, str(Path(folder.path) / FRAMES))

    def latest(self) -> tuple[int, tuple[float, ...]]:
        """Return the frames lost so far and the newest frame that passed (without its tick)."""
        return self.ring.lost, tuple(self.writer.latest[1:])

    def finish(self) -> dict[str, Any]:
        """End the thread and say what became of the frames."""
        self.writer.finish()
        error = os.strerror(self.writer.error) if self.writer.error else ""
        return {
            "frames_written": self.writer.written,
            "frames_dropped_ring_full": self.ring.dropped,
            "frames_refused_by_disk": self.ring.refused,
            "frames_lost": self.ring.lost,
            "disk_error": error,
            "ring_frames": self.ring.capacity,
            "ring_fullest": self.writer.fullest,
        }
