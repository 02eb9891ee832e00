"""Steps that remember: each leaves a result with the fingerprint of what it was made from; none is repeated in vain."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rt_runtime.errors import ConfigError
from rt_runtime.files import write_file

Result = dict[str, Any]


def program_version() -> str:
    """Return the version of this program."""
    return version("hybrid-mor")


@dataclass(frozen=True)
class Step:
    """One step: what it needs, what its outcome depends on besides that, and what it does.

    `depends` returns plain values; when one of them, or the fingerprint of a needed step, changes, the step is made
    again. `make` gets the results of the needed steps, writes its files below the study folder, returns plain values.
    `files` are paths below the study folder that must exist for the result to count.
    """

    name: str
    make: Callable[[Mapping[str, Result]], Result]
    depends: Mapping[str, Any]
    needs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class Pipeline:
    """The steps of a study in their order, and the folder that holds what they leave behind."""

    def __init__(self, study: str, folder: Path, steps: list[Step]) -> None:
        self.study = study
        self.folder = folder
        self.steps = {step.name: step for step in steps}
        self.called = study  # how the user names it, options included: what hints repeat

    def fingerprint(self, name: str) -> str:
        """Return a text that changes when anything the step is made from changes."""
        step = self.steps[name]
        parts = {"depends": step.depends, "needs": [self.fingerprint(other) for other in step.needs]}
        text = json.dumps(parts, sort_keys=True, default=str)
        return hashlib.sha256(f"{name} {text}".encode()).hexdigest()[:16]

    def run(self, name: str, *, force: bool = False) -> Result:
        """Make one step, unless its result is there and still true; return the result."""
        step = self.steps[name]
        self._check_folder(force)
        stored = self._stored(name)
        if stored is not None and not force and self._holds(step, stored):
            print(f"{name}: unchanged, made {stored['made']}", file=sys.stderr)
            return dict(stored["result"])
        given = {other: self.result(other) for other in step.needs}
        print(f"{name} ...", file=sys.stderr)
        start = time.perf_counter()
        result = step.make(given)
        seconds = time.perf_counter() - start
        entry = {
            "study": self.study,
            "version": program_version(),
            "fingerprint": self.fingerprint(name),
            "made": datetime.now().astimezone().isoformat(timespec="seconds"),
            "seconds": round(seconds, 3),
            "result": result,
        }
        write_file(self._path(name), (json.dumps(entry, indent=2, allow_nan=False) + "\n").encode())
        print(f"{name}: done in {seconds:.1f} s", file=sys.stderr)
        return result

    def result(self, name: str) -> Result:
        """Return the result of a step that was made and is still true."""
        step = self.steps[name]
        stored = self._stored(name)
        if stored is None:
            raise ConfigError(f"Step '{name}' of study '{self.study}' is not made yet; run: hmor {name} {self.called}")
        if not self._holds(step, stored):
            raise ConfigError(
                f"Step '{name}' of study '{self.study}' was made from other settings or its files are gone from "
                f"{self.folder}; run it again: hmor {name} {self.called}"
            )
        return dict(stored["result"])

    def seconds(self, name: str) -> float | None:
        """Return how long a step took, None when it was not made."""
        stored = self._stored(name)
        return None if stored is None else float(stored["seconds"])

    def _holds(self, step: Step, stored: Result) -> bool:
        there = all((self.folder / file).exists() for file in step.files)
        return there and bool(stored["fingerprint"] == self.fingerprint(step.name))

    def _path(self, name: str) -> Path:
        return self.folder / "steps" / f"{name}.json"

    def _stored(self, name: str) -> Result | None:
        path = self._path(name)
        if not path.is_file():
            return None
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
            if not {"study", "version", "fingerprint", "made", "seconds", "result"} <= set(entry):
                raise ValueError("a key is missing")
        except ValueError as error:
            text = f"File {path} must hold the result of a step, got {error}; delete it and run again."
            raise ConfigError(text) from None
        return dict(entry)

    def _check_folder(self, force: bool) -> None:
        (self.folder / "steps").mkdir(parents=True, exist_ok=True)
        for name in self.steps:
            stored = self._stored(name)
            if stored is None or force:
                continue
            if stored["study"] != self.study:
                raise ConfigError(
                    f"Folder {self.folder} belongs to study '{stored['study']}', not to '{self.study}'; choose another "
                    "with --folder."
                )
            if stored["version"] != program_version():
                raise ConfigError(
                    f"Folder {self.folder} was made by hybrid-mor {stored['version']}, this is {program_version()}; "
                    "choose another with --folder, or make it anew with --force."
                )
