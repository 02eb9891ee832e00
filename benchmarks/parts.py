"""What a long benchmark has measured so far, part by part: a run that is cut off goes on where it stopped.

In the folder HMOR_BENCH_FOLDER, or one of the topic's own, every part is written to <topic>.json as soon as it is
measured, and is not measured again as long as its state (versions, settings, code) is the same; with HMOR_BENCH_SECONDS
a run ends after so many, and the next one goes on. Progress goes to stderr.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rt_runtime.files import write_file

ROOT = Path(__file__).resolve().parents[1]


def code_state(*places: str, also: str = "") -> str:
    """Tell one state of files or folders of the checkout, and of `also`, from another.

    Of a folder its code counts, and the data and settings beside it (.npz, .toml).
    """
    digest = hashlib.sha256(also.encode())
    for place in places:
        found = ROOT / place
        for file in sorted(found.rglob("*")) if found.is_dir() else [found]:
            if not found.is_dir() or file.suffix in (".py", ".npz", ".toml"):
                digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


class Parts:
    """The parts of one topic; nothing is kept without a folder.

    Parameters
    ----------
    topic : name of the benchmark.
    default : folder where HMOR_BENCH_FOLDER is not set.
    """

    def __init__(self, topic: str, default: Path | None = None) -> None:
        folder, seconds = os.environ.get("HMOR_BENCH_FOLDER"), os.environ.get("HMOR_BENCH_SECONDS")
        self.folder = Path(folder) if folder else default
        self._file = None if self.folder is None else self.folder / f"{topic}.json"
        self._end = time.monotonic() + float(seconds or "inf")
        self._found: dict[str, Any] = {}
        self.open = 0
        if self._file is not None and self._file.is_file():
            self._found = json.loads(self._file.read_text())

    def measured(self, part: str, state: str, measure: Callable[[], Mapping[str, object]]) -> dict[str, object]:
        """Measure a part, or take what is there; empty and counted as open when the time is over."""
        key = f"{part} {state}"
        if key not in self._found:
            if time.monotonic() > self._end:
                self.open += 1
                return {}
            start = time.monotonic()
            self._found[key] = dict(measure())
            print(f"  {part}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
            if self._file is not None:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                write_file(self._file, json.dumps(self._found, indent=1))
        return dict(self._found[key])
