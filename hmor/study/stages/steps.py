"""Cached steps: each leaves a result with the fingerprint of what it was made from, and is re-run when that changes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import pickle
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from datetime import datetime
from multiprocessing import get_context
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from typing import Any

from rt_runtime.errors import ConfigError
from rt_runtime.files import read_json, write_file
from rt_runtime.versions import version_of

PRELOADED = ["hmor.study.stages.pipeline", "hmor.study.stages.scenario", "mor.compile.arrays", "training.fit"]
"""What steps import, before their processes are forked."""
ONE_THREAD = "OPENBLAS_NUM_THREADS"

Result = dict[str, Any]
Results = Mapping[str, Any]


def program_version() -> str:
    """Return the version of this program."""
    return version_of()


@dataclass(frozen=True)
class Step:
    """One step: what it needs, what its outcome depends on besides that, and what it does.

    `name` is "group" or "group/item"; a command makes all steps of its group. `depends` returns plain values; when one
    of them, or the fingerprint of a needed step, changes, the step is made again. `make` gets the results of the needed
    steps by name, writes its files below the folder of the results, returns plain values. `files` are paths below that
    folder that must exist for the result to count. A step of some `effort`, a rough number to compare it with others,
    may be made in another process, beside others; those of the largest effort are begun first.
    """

    name: str
    make: Callable[[Results], Result]
    depends: Mapping[str, Any]
    needs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    effort: float = 0.0

    @property
    def group(self) -> str:
        """The command that makes it."""
        return self.name.partition("/")[0]


class Pipeline:
    """The steps of a study in their order, and the folder that holds what they leave behind."""

    def __init__(self, study: str, folder: Path, steps: list[Step], *, called: str | None = None) -> None:
        self.study = study
        self.folder = folder
        self.steps = {step.name: step for step in steps}
        self.called = called or study  # how the user names it, options included: what hints repeat
        self.rebuild: Callable[[], Pipeline] | None = None  # makes the same pipeline in another process

    @property
    def groups(self) -> tuple[str, ...]:
        """The commands that make these steps, in their order."""
        return tuple(dict.fromkeys(step.group for step in self.steps.values()))

    def fingerprint(self, name: str) -> str:
        """Return a text that changes when anything the step is made from changes."""
        step = self.steps[name]
        parts = {"depends": step.depends, "needs": [self.fingerprint(other) for other in step.needs]}
        text = json.dumps(parts, sort_keys=True, default=_plain)
        return hashlib.sha256(f"{name} {text}".encode()).hexdigest()[:16]

    def run_group(self, group: str, *, force: bool = False) -> Result:
        """Make all steps of a group; return {item: result}, or the result of a step without items."""
        found: Result = self.run_groups((group,), force=force)[group]
        return found

    def run_groups(self, groups: Sequence[str], *, force: bool = False) -> Result:
        """Make all steps of some groups, side by side where they need not wait for each other; {group: results}."""
        names = {group: [name for name, step in self.steps.items() if step.group == group] for group in groups}
        for group, found in names.items():
            if not found:
                raise ConfigError(
                    f"Study {self.called} has nothing to {group}: it has {', '.join(self.groups) or 'no steps'}."
                )
        every = [name for found in names.values() for name in found]
        made = self._run_apart([n for n in every if self.steps[n].effort and (force or not self.holds(n))], force)
        results = {name: self.result(name) if name in made else self.run(name, force=force) for name in every}
        return {
            group: results[group] if found == [group] else {name.partition("/")[2]: results[name] for name in found}
            for group, found in names.items()
        }

    def _run_apart(self, names: list[str], force: bool) -> list[str]:
        """Make steps side by side in processes where that is worth the second a process takes to start.

        Returns the names of the steps that were made, none or all.
        """
        workers = min(os.cpu_count() or 1, len(names) // 2)
        if workers < 2 or self.rebuild is None:
            return []
        self._check_folder(force)
        for other in {other for name in names for other in self.steps[name].needs} - set(names):
            self.result(other)  # what is missing is said before anything is started
        waiting, under_way = set(names), dict[Future[None], str]()
        with ProcessPoolExecutor(workers, warm_processes()) as pool:
            try:
                while waiting or under_way:
                    free = workers - len(under_way)
                    for name in self._ready(waiting, waiting | set(under_way.values()))[:free]:
                        waiting.remove(name)
                        under_way[pool.submit(_make, self.rebuild, name, force)] = name
                    for ended in wait(under_way, return_when=FIRST_COMPLETED).done:
                        ended.result()
                        under_way.pop(ended)
            except BrokenProcessPool as error:
                raise ConfigError(
                    f"A process that made one of {', '.join(under_way.values())} was killed from outside or crashed "
                    "(out of memory?). What is finished is safe; run the command again to go on."
                ) from error
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return names

    def _ready(self, waiting: set[str], missing: set[str]) -> list[str]:
        """Return the steps that need none of the missing ones, those of the largest effort first."""
        ready = [name for name in waiting if not missing & set(self.steps[name].needs)]
        return sorted(ready, key=lambda name: (-self.steps[name].effort, list(self.steps).index(name)))

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
        result: Result = _finite(step.make(given))
        seconds = time.perf_counter() - start
        entry = {
            "study": self.study,
            "version": program_version(),
            "fingerprint": self.fingerprint(name),
            "made": datetime.now().astimezone().isoformat(timespec="seconds"),
            "seconds": round(seconds, 3),
            "result": result,
        }
        self._path(name).parent.mkdir(parents=True, exist_ok=True)
        write_file(self._path(name), (json.dumps(entry, indent=2, allow_nan=False) + "\n").encode())
        print(f"{name}: done in {seconds:.1f} s", file=sys.stderr)
        return result

    def result(self, name: str) -> Result:
        """Return the result of a step that was made and is still true."""
        step = self.steps[name]
        stored = self._stored(name)
        if stored is None:
            raise ConfigError(
                f"Step '{name}' of study '{self.study}' is not made yet; run: hmor {step.group} {self.called}"
            )
        if not self._holds(step, stored):
            raise ConfigError(
                f"Step '{name}' of study '{self.study}' was made from other settings or its files are gone from "
                f"{self.folder}; run it again: hmor {step.group} {self.called}"
            )
        return dict(stored["result"])

    def holds(self, name: str) -> bool:
        """Tell whether a step was made and is still true."""
        stored = self._stored(name)
        return stored is not None and self._holds(self.steps[name], stored)

    def made(self, name: str) -> tuple[str, float] | None:
        """Return when a step was made and how many seconds it took, None when it was not made."""
        stored = self._stored(name)
        return None if stored is None else (str(stored["made"]), float(stored["seconds"]))

    def seconds(self, name: str) -> float | None:
        """Return how long a step took, None when it was not made."""
        made = self.made(name)
        return None if made is None else made[1]

    def _holds(self, step: Step, stored: Result) -> bool:
        there = all((self.folder / file).exists() for file in step.files)
        return there and bool(stored["fingerprint"] == self.fingerprint(step.name))

    def _path(self, name: str) -> Path:
        return self.folder / "steps" / f"{name}.json"

    def _stored(self, name: str) -> Result | None:
        path = self._path(name)
        if not path.is_file():
            return None
        entry = read_json(path, f"File {path}", "delete it and run again")
        if not {"study", "version", "fingerprint", "made", "seconds", "result"} <= set(entry):
            why = "a key is missing"
        elif not (isinstance(entry["result"], dict) and isinstance(entry["seconds"], int | float)):
            why = "a value of the wrong kind"
        else:
            return entry
        raise ConfigError(f"File {path} must hold the result of a step, got {why}; delete it and run again.")

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


def warm_processes() -> Any:
    """Return the kind of process that steps are made in: forked from one that has imported what they need.

    That one starts at the first call, which may come long before it is needed.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    given = os.environ.get(ONE_THREAD)
    os.environ[ONE_THREAD] = given or "1"  # the processes share the cores already: it starts with this environment
    try:
        ensure_running()
    finally:
        if given is None:
            del os.environ[ONE_THREAD]
    return context


_built: dict[bytes, Pipeline] = {}  # in a process that makes steps: its pipeline


def _make(rebuild: Callable[[], Pipeline], name: str, force: bool) -> None:
    """Make one step in a process of its own; its result is on disk then."""
    with contextlib.redirect_stdout(sys.stderr):
        key = pickle.dumps(rebuild)
        if key not in _built:
            _built[key] = rebuild()
        _built[key].run(name, force=force)


def _plain(value: Any) -> Any:
    """Return what stands for an object in a fingerprint."""
    return value.to_dict() if hasattr(value, "to_dict") else str(value)


def _finite(value: Any) -> Any:
    """Return plain values as JSON can hold them: null for what is not finite."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
