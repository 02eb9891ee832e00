"""A small host for the FMUs written here: loads the binary and steps it with raw arrays, to check it."""

from __future__ import annotations

import ctypes as ct
import io
import tempfile
import zipfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from xml.etree import ElementTree as ET

import numpy as np

from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

_LOG2 = ct.CFUNCTYPE(None, ct.c_void_p, ct.c_char_p, ct.c_int, ct.c_char_p, ct.c_char_p, ct.c_char_p)
_TAKE = ct.CFUNCTYPE(ct.c_void_p, ct.c_size_t, ct.c_size_t)
_GIVE = ct.CFUNCTYPE(None, ct.c_void_p)
_DONE = ct.CFUNCTYPE(None, ct.c_void_p, ct.c_int)


class _Callbacks2(ct.Structure):
    _fields_ = (
        ("logger", _LOG2),
        ("allocateMemory", _TAKE),
        ("freeMemory", _GIVE),
        ("stepFinished", _DONE),
        ("componentEnvironment", ct.c_void_p),
    )


class FmuHost:
    """One instance of an FMU, initialised at time zero; use it in a `with` statement.

    content: the .fmu file. A file without a binary for this host is refused.
    """

    def __init__(self, content: bytes, n_inputs: int, n_outputs: int) -> None:
        self._folder = tempfile.TemporaryDirectory()
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            root = ET.fromstring(archive.read("modelDescription.xml"))
            self.version = int(root.attrib["fmiVersion"][0])
            slave = root.find("CoSimulation")
            assert slave is not None
            name = slave.attrib["modelIdentifier"]
            inner = f"binaries/{'linux64' if self.version == 2 else 'x86_64-linux'}/{name}.so"
            if inner not in archive.namelist():
                self._folder.cleanup()
                raise ConfigError(f"FMU of model '{name}' has no binary for this host; export it where a compiler is.")
            library = Path(self._folder.name) / f"{name}.so"
            library.write_bytes(archive.read(inner))
        self._token = root.attrib["guid" if self.version == 2 else "instantiationToken"].encode()
        self._library: Any = ct.CDLL(str(library))
        self._inputs = (ct.c_uint * n_inputs)(*range(1, n_inputs + 1))
        self._outputs = (ct.c_uint * n_outputs)(*range(n_inputs + 1, n_inputs + n_outputs + 1))
        self._u, self._y = (ct.c_double * n_inputs)(), (ct.c_double * n_outputs)()
        self._time = 0.0
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        getattr(self._library, f"fmi{self.version}FreeInstance")(self._instance)
        self._folder.cleanup()

    def _start(self) -> None:
        library = self._library
        if self.version == 2:
            self._callbacks = _Callbacks2()
            library.fmi2Instantiate.restype = ct.c_void_p
            pointer = library.fmi2Instantiate(
                b"check", ct.c_int(1), self._token, None, ct.byref(self._callbacks), ct.c_int(0), ct.c_int(0)
            )
            self._instance = ct.c_void_p(pointer)
            zero, no = ct.c_double(0.0), ct.c_int(0)
            self._ask("SetupExperiment", no, zero, zero, no, zero)
            self._ask("EnterInitializationMode")
        else:
            library.fmi3InstantiateCoSimulation.restype = ct.c_void_p
            off, none = ct.c_bool(False), ct.c_void_p(None)
            pointer = library.fmi3InstantiateCoSimulation(
                b"check", self._token, None, off, off, off, off, none, ct.c_size_t(0), none, none, none
            )
            self._instance = ct.c_void_p(pointer)
            zero = ct.c_double(0.0)
            self._ask("EnterInitializationMode", off, zero, zero, off, zero)
            self._flags = [ct.byref(ct.c_bool()) for _ in range(3)] + [ct.byref(ct.c_double())]
        self._ask("ExitInitializationMode")

    def _ask(self, function: str, *arguments: Any) -> None:
        status = getattr(self._library, f"fmi{self.version}{function}")(self._instance, *arguments)
        if status != 0:
            raise ConfigError(f"FMU must accept fmi{self.version}{function}, got status {status}.")

    def run(self, u: Array, h: float) -> Array:
        """Make one communication step of h seconds for each row of u (n_steps, n_in); return y (n_steps, n_out)."""
        out = np.empty((len(u), len(self._y)))
        get, put = ("GetReal", "SetReal") if self.version == 2 else ("GetFloat64", "SetFloat64")
        counts = [(ct.c_size_t(len(v)), v) for v in (self._u, self._y)]
        extra_u = () if self.version == 2 else (counts[0][0],)
        extra_y = () if self.version == 2 else (counts[1][0],)
        tail: tuple[Any, ...] = (ct.c_int(0),) if self.version == 2 else (ct.c_bool(False), *self._flags)
        for k, row in enumerate(u):
            self._u[:] = row.tolist()
            self._ask(put, self._inputs, counts[0][0], self._u, *extra_u)
            self._ask("DoStep", ct.c_double(self._time), ct.c_double(h), *tail)
            self._time += h
            self._ask(get, self._outputs, counts[1][0], self._y, *extra_y)
            out[k] = self._y
        return out
