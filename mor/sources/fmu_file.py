"""Read an FMU: what it describes, checked in words, and its binary unpacked for this process."""

from __future__ import annotations

import hashlib
import importlib.util
import stat
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from rt_runtime.bundle.files import UNREADABLE
from rt_runtime.errors import ConfigError, MissingExtra

_MOST_ENTRIES, _MOST_BYTES = 20_000, 4 * 2**30
_unpacked: dict[str, tempfile.TemporaryDirectory[str]] = {}


@dataclass(frozen=True)
class FmuFile:
    """A checked FMU: version 2 or 3, co-simulation or model exchange, and FMPy's description of it."""

    path: Path
    sha256: str
    version: int
    exchange: bool
    description: Any

    @property
    def interface(self) -> Any:
        """The element CoSimulation or ModelExchange of the description."""
        return self.description.modelExchange if self.exchange else self.description.coSimulation

    @property
    def of(self) -> str:
        """How error sentences call it."""
        return f"FMU '{self.path.name}'"

    @property
    def ours(self) -> bool:
        """Whether it was written by `export`: its outputs of a step belong to the inputs of that step."""
        return str(self.description.generationTool) == "hybrid-mor"

    @property
    def inner_binary(self) -> str:
        """Where the binary of this platform stands in the zip file."""
        folder = "linux64" if self.version == 2 else "x86_64-linux"
        return f"binaries/{folder}/{self.interface.modelIdentifier}.so"

    def unpack(self) -> Path:
        """Unpack it once per process; return the folder, which is removed when the process ends."""
        place = _unpacked.get(self.sha256)
        if place is None or not Path(place.name).is_dir():
            if hashlib.sha256(self.path.read_bytes()).hexdigest() != self.sha256:
                raise ConfigError(f"{self.of} has changed since it was read; read it again.")
            place = tempfile.TemporaryDirectory(prefix="hmor-fmu-")
            with zipfile.ZipFile(self.path) as archive:
                archive.extractall(place.name)
            _unpacked[self.sha256] = place
        return Path(place.name)


def read_fmu(path: str | Path, *, tool: bool = False) -> FmuFile:
    """Read and check an FMU; everything that cannot be run here is refused in one sentence.

    Co-simulation is taken where an FMU has it, else model exchange (FMI 2). `tool`: the tool that made it is here.
    """
    if importlib.util.find_spec("fmpy") is None:
        raise MissingExtra("FmuSubstructure needs FMPy, which is not installed; run pip install 'hybrid-mor[fmu]'.")
    import fmpy

    file = Path(path)
    if not file.is_file():
        raise ConfigError(f"FMU '{file}' does not exist; give the path of an .fmu file.")
    names = _checked_names(file)
    try:
        description = fmpy.read_model_description(str(file), validate=True)
    except Exception as error:  # XML, schema and type errors of FMPy
        raise ConfigError(f"modelDescription.xml of FMU '{file.name}' must be valid, got: {_line(error)}.") from None
    version = 2 if str(description.fmiVersion).startswith("2.") else 3 if str(description.fmiVersion)[0] == "3" else 0
    exchange = description.coSimulation is None
    fmu = FmuFile(file, hashlib.sha256(file.read_bytes()).hexdigest(), version, exchange, description)
    _check_interface(fmu, tool)
    if sys.platform != "linux" or fmu.inner_binary not in names:
        compiles = any(name.startswith("sources/") and name.endswith(".c") for name in names)
        hint = f"compile its sources with: fmpy compile {file}" if compiles else "ask its author for a Linux binary"
        raise ConfigError(f"{fmu.of} must have a binary {fmu.inner_binary}, found none for this platform; {hint}.")
    return fmu


def _check_interface(fmu: FmuFile, tool_is_here: bool) -> None:
    if fmu.version == 0:
        raise ConfigError(f"{fmu.of} must be of FMI 2 or 3, got FMI {fmu.description.fmiVersion}.")
    if fmu.interface is None:
        raise ConfigError(f"{fmu.of} must offer co-simulation or model exchange, got neither.")
    if fmu.exchange and fmu.version == 3:
        raise ConfigError(f"{fmu.of} must offer co-simulation: model exchange is taken from FMI 2 only.")
    if fmu.interface.needsExecutionTool and not tool_is_here:
        tool = fmu.description.generationTool or "its tool"
        raise ConfigError(
            f"{fmu.of} needs {tool} at run time (needsExecutionTool); export it as a stand-alone FMU, or say tool=True "
            "where the tool is installed."
        )
    if fmu.exchange and fmu.description.numberOfEventIndicators:
        raise ConfigError(
            f"{fmu.of} has {fmu.description.numberOfEventIndicators} event indicators, which are not supported in "
            "model exchange; export it for co-simulation."
        )


def _checked_names(file: Path) -> set[str]:
    """Return the names in the zip file; refuse paths that lead out of it, links and sizes beyond reason."""
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
    except UNREADABLE as error:
        raise ConfigError(f"FMU '{file.name}' must be a zip file, got: {_line(error)}.") from None
    if len(entries) > _MOST_ENTRIES or sum(entry.file_size for entry in entries) > _MOST_BYTES:
        raise ConfigError(
            f"FMU '{file.name}' must unpack to at most {_MOST_ENTRIES} files and 4 GiB; do not use this file."
        )
    for entry in entries:
        inside = PurePosixPath(entry.filename)
        leaves = inside.is_absolute() or ".." in inside.parts or "\\" in entry.filename
        if leaves or stat.S_ISLNK(entry.external_attr >> 16):
            raise ConfigError(
                f"Entry {entry.filename!r} of FMU '{file.name}' must be a plain relative path inside it; do not use "
                "this file."
            )
    return {entry.filename for entry in entries}


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300].rstrip(".")
