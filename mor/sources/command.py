"""Any program as a model of a campaign: files from templates in, numbers or histories from a file out."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mor.campaign.model import Result
from mor.compile.code_hash import code_hash
from mor.data.ports import Port, as_ports
from mor.data.trajectory import Trajectory
from rt_runtime.checks import one_of, positive
from rt_runtime.errors import ConfigError

_FIELD = re.compile(r"\{\{\s*(\w+)\s*(?::([^}]*))?\}\}")
_KEPT = 2000  # characters of its messages in an error
_MOST_BYTES = 512 * 2**20  # of a result


class CommandFailure(RuntimeError):
    """A program gave no result; the message says how and ends with what it wrote last."""


class CommandModel:
    """A program that is started once per sample, in a folder of its own.

    Parameters
    ----------
    command : text or list; {input} and {output} are the paths of its files, {name} is a parameter. No shell reads it.
    outputs : {name: unit} of the numbers to take; none when the result is a history.
    template : text of the input file, or the path of a file with it; {{name}} or {{name:.6e}} is a parameter.
    input, output : names of these files in the working folder.
    read : function of the path of the output that returns {name: number} or a Trajectory. None: by its ending, .json
        ({name: number}), .csv (a header; columns named `time` and after units in brackets, `x [m]`, are a history), or
        lines of "name value".
    files : further files that are copied beside the input.
    timeout : s after which the program is ended with everything it has started.
    exit_codes : what counts as success.
    keep : "failed" keeps the folders of failed samples, "all" all, "none" none; below `folder` (default: temporary).
    environment : variables beside those of this process.

    Examples
    --------
    >>> from mor.sources import CommandModel
    >>> model = CommandModel("sh {input} {output}", {"y": "m"}, template="echo y $(({{k:.0f}} * 2)) > $1")
    >>> model.evaluate({"k": 21.0})
    {'y': 42.0}
    """

    def __init__(
        self,
        command: str | Sequence[str],
        outputs: Mapping[str, str] | Iterable[Port | str] = (),
        *,
        template: str | Path | None = None,
        input: str = "input.txt",
        output: str = "output.txt",
        read: Callable[[Path], Result] | None = None,
        files: Sequence[str | Path] = (),
        timeout: float = 3600.0,
        exit_codes: Sequence[int] = (0,),
        keep: str = "none",
        folder: str | Path | None = None,
        environment: Mapping[str, str] | None = None,
        name: str = "",
    ) -> None:
        self.command = shlex.split(command) if isinstance(command, str) else [str(part) for part in command]
        if not self.command:
            raise ConfigError("command of CommandModel must name a program, got nothing.")
        self.program = shutil.which(self.command[0])
        if self.program is None:
            raise ConfigError(
                f"Program '{self.command[0]}' of CommandModel must be a program that can be run, found none; give its "
                "path or put it on PATH."
            )
        self.name = name or Path(self.command[0]).stem
        self.outputs = as_ports(outputs, f"outputs of {self.name}")
        self.template = self._text(template)
        for which, file in (("input", input), ("output", output)):
            if Path(file).name != file:
                raise ConfigError(f"{which} of CommandModel must be a plain file name, got {file!r}.")
        self.input, self.output, self.read = input, output, read
        self.files = tuple(Path(file).resolve() for file in files)
        missing = [str(file) for file in self.files if not file.is_file()]
        if missing:
            raise ConfigError(f"File '{missing[0]}' of CommandModel must exist, found none.")
        self.timeout = positive(timeout, "timeout", "CommandModel")
        self.exit_codes = tuple(exit_codes)
        self.keep = one_of(keep, "keep", "CommandModel", ("none", "failed", "all"))
        self.folder = None if folder is None else Path(folder).absolute()  # the program runs in another folder
        self.environment = dict(environment or {})

    @staticmethod
    def _text(template: str | Path | None) -> str | None:
        if isinstance(template, Path) or (template is not None and "\n" not in template and Path(template).is_file()):
            try:
                return Path(template).read_text()
            except OSError as error:
                raise ConfigError(f"Template '{template}' of CommandModel cannot be read: {error.strerror}.") from None
        return template

    def identity(self) -> dict[str, Any]:
        """Return the command, hashes of the program, of the template and of the files, and how results are read."""
        files = {file.name: _hash(file) for file in self.files}
        return {
            "name": self.name,
            "command": self.command,
            "program": _hash(Path(str(self.program))),
            "template": self.template,
            "files": files,
            "read": "" if self.read is None else code_hash(self.read),
            "outputs": {port.name: port.unit for port in self.outputs},
        }

    def check_parameters(self, names: Iterable[str]) -> None:
        """Raise when a placeholder has no parameter, or a parameter no placeholder."""
        given, used, of = set(names), self._placeholders(), self.name
        problems = [f"Placeholder '{n}' of {of} must be a parameter of the design." for n in sorted(used - given)]
        problems += [
            f"Parameter '{n}' of the design must stand in the command or the template of {of}; write {{{{{n}}}}}."
            for n in sorted(given - used)
        ]
        for match in _FIELD.finditer(self.template or ""):
            try:
                format(0.0, (match[2] or "").strip())
            except ValueError:
                problems.append(f"Format '{match[2]}' of placeholder '{match[1]}' must be one of numbers, like .6e.")
        if problems:
            raise ConfigError.from_problems(f"Placeholders of {self.name}", problems)

    def _placeholders(self) -> set[str]:
        used = {match[1] for match in _FIELD.finditer(self.template or "")}
        for part in self.command:
            used |= set(re.findall(r"\{(\w+)[^}]*\}", part)) - {"input", "output"}
        return used

    def evaluate(self, parameters: Mapping[str, float]) -> Result:
        """Run the program for one sample in a new folder and read its result."""
        self.check_parameters(parameters)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=f"{self.name}-", dir=self.folder))
        keep = self.keep != "none"
        try:
            result = self._run(place, parameters)
            keep = self.keep == "all"
            return result
        finally:
            if not keep:
                shutil.rmtree(place, ignore_errors=True)

    def _run(self, place: Path, parameters: Mapping[str, float]) -> Result:
        paths = {"input": str(place / self.input), "output": str(place / self.output)}
        if self.template is not None:
            text = _FIELD.sub(lambda field: format(parameters[field[1]], (field[2] or ".17g").strip()), self.template)
            (place / self.input).write_text(text)
        for file in self.files:
            shutil.copy2(file, place / file.name)
        words = [part.format(**paths, **parameters) for part in self.command]
        words[0] = str(self.program)
        with (place / "messages.log").open("w+b") as log:
            code = self._wait(words, place, log.fileno())
            messages = _end(place / "messages.log")
        if code not in self.exit_codes:
            how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
            wanted = ", ".join(map(str, self.exit_codes))
            raise CommandFailure(f"Program '{self.name}' must end with exit code {wanted}, got {how}{messages}")
        result = place / self.output
        if not result.is_file() or result.stat().st_size == 0:
            what = "an empty file" if result.is_file() else "none"
            raise CommandFailure(f"Program '{self.name}' must write {self.output}, got {what}{messages}")
        if result.stat().st_size > _MOST_BYTES:
            raise CommandFailure(
                f"Result {self.output} of program '{self.name}' must have at most {_MOST_BYTES} bytes."
            )
        return self._result(result)

    def _wait(self, words: list[str], place: Path, log: int) -> int:
        """Run it in a process group of its own, so that it can be ended with all it starts."""
        process = subprocess.Popen(
            words, cwd=place, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            env={**os.environ, **self.environment},
        )  # fmt: skip
        try:
            return process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            messages = _end(place / "messages.log")
            raise CommandFailure(
                f"Program '{self.name}' must end within {self.timeout:g} s, but did not and was ended{messages}"
            ) from None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _result(self, file: Path) -> Result:
        try:
            result = self.read(file) if self.read is not None else _read(file)
        except CommandFailure:
            raise
        except Exception as error:  # the user's function, or a file that is not what its name says
            raise CommandFailure(f"Result {self.output} of program '{self.name}' cannot be read: {error}.") from error
        if isinstance(result, Trajectory) or not self.outputs:
            return result
        lacking = [port.name for port in self.outputs if port.name not in result]
        if lacking:
            raise CommandFailure(
                f"Result {self.output} of program '{self.name}' must hold '{lacking[0]}', got "
                f"{', '.join(map(str, result)) or 'nothing'}."
            )
        return {port.name: result[port.name] for port in self.outputs}


def _read(file: Path) -> Result:
    if file.suffix == ".json":
        value = json.loads(file.read_text())
        if not isinstance(value, dict):
            raise ValueError(f"it must be an object of names and numbers, got {type(value).__name__}")
        return {str(name): float(number) for name, number in value.items()}
    if file.suffix == ".csv":
        return _history(file)
    numbers = {}
    for line in file.read_text().splitlines():
        words = line.replace("=", " ").split()
        if words:
            if len(words) != 2:
                raise ValueError(f"a line must be a name and a number, got {line!r:.80}")
            numbers[words[0]] = float(words[1])
    return numbers


def _history(file: Path) -> Trajectory:
    header = file.read_text().splitlines()[0].split(",")
    values = np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2)
    named = [re.fullmatch(r"\s*(\w+)\s*(?:\[(.*)\])?\s*", column) for column in header]
    if any(match is None for match in named) or values.shape[1] != len(header):
        raise ValueError(f"its first line must name each column as 'name [unit]', got {','.join(header)!r:.80}")
    ports = [Port(match[1], match[2] or "") for match in named if match is not None]
    if ports[0].name != "time":
        raise ValueError(f"its first column must be time, got {ports[0].name}")
    return Trajectory(values[:, 0], values[:, 1:], tuple(ports[1:]))


def _end(file: Path) -> str:
    """Return the end of the messages as the end of a sentence."""
    text = " ".join(file.read_bytes()[-_KEPT:].decode(errors="replace").split())
    return f"; it wrote: {text[-300:]}" if text else "; it wrote nothing."


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]
