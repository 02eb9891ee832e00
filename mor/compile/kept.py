"""Machine code of compiled functions, kept between runs: what was compiled, proven and tried out once is loaded.

Entries are in the folder `compiled` of HMOR_CACHE, by default hybrid-mor in XDG_CACHE_HOME (~/.cache); with an empty
HMOR_CACHE nothing is kept. An entry is a checksum, a line of JSON and an object file with one visible symbol, named
by the fingerprint of its function; a damaged one is compiled anew. The folder belongs to the user alone.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from rt_runtime.files import write_file

MOST = 500
"""Entries that are kept; beyond, the oldest quarter goes."""


@dataclass(frozen=True)
class Machine:
    """A C function `void f(double t, double *a, ...)` in memory.

    Parameters
    ----------
    address
        Where it is; valid as long as the process lives.
    arrays
        Number of its array arguments.
    """

    address: int = field(compare=False)
    arrays: int

    @cached_property
    def ctypes(self) -> Callable[..., None]:
        """The function for calls from Python."""
        numbers = ctypes.POINTER(ctypes.c_double)
        return ctypes.CFUNCTYPE(None, ctypes.c_double, *[numbers] * self.arrays)(self.address)


@dataclass(frozen=True)
class Entry:
    """What is kept of a function: C functions, and what was found out about it.

    Parameters
    ----------
    machines
        Its C functions.
    facts
        Plain values.
    """

    machines: tuple[Machine, ...]
    facts: dict[str, Any]


_one_at_a_time = threading.RLock()  # LLVM's engine is for one thread
_loaded: dict[str, Entry] = {}
_tried: set[str] = set()


def load(key: str | None) -> Entry | None:
    """Return what is kept under a fingerprint; None when there is nothing, or nothing whole."""
    folder = _folder()
    if key is None or folder is None:
        return None
    with _one_at_a_time:
        if key not in _loaded:
            found = _read(folder / f"{key}.o", key)
            if found is None:
                return None
            _loaded[key] = found
        return _loaded[key]


def keep(key: str | None, pointers: Sequence[Any], arrays: Sequence[int], facts: dict[str, Any]) -> Entry | None:
    """Keep numba's C functions; return them as they will be loaded later, None when they cannot be kept."""
    folder = _folder()
    if key is None or folder is None or any(pointer._library.has_dynamic_globals for pointer in pointers):
        return None
    symbols = [f"hmor_{key}_{i}" for i in range(len(pointers))]
    made = [_object(pointer, symbol) for pointer, symbol in zip(pointers, symbols, strict=True)]
    objects = [data for data, _ in made]
    head = {
        "facts": facts,
        "arrays": list(arrays),
        "needs": sorted({name for _, needs in made for name in needs}),
        "sizes": [len(one) for one in objects],
    }
    content = json.dumps(head).encode() + b"\n" + b"".join(objects)
    try:
        write_file(folder / f"{key}.o", hashlib.sha256(content).digest() + content)
        _prune(folder)
    except OSError:
        return None
    return load(key)


def was_tried(key: str | None, points: bytes) -> bool:
    """Tell whether a kept function passed its trial at these points before."""
    folder = _folder()
    if key is None or folder is None:
        return False
    name = _trial(key, points)
    return name in _tried or (folder / name).is_file()


def note_trial(key: str | None, points: bytes) -> None:
    """Note that a function passed its trial."""
    folder = _folder()
    if key is None or folder is None:
        return
    name = _trial(key, points)
    _tried.add(name)
    with suppress(OSError):
        (folder / name).touch()


def _trial(key: str, points: bytes) -> str:
    return hashlib.sha256(key.encode() + points).hexdigest() + ".tried"


def _folder() -> Path | None:
    """Return the folder, made when it is missing; None when nothing is to be kept or it is not ours alone."""
    given = os.environ.get("HMOR_CACHE")
    if given == "":
        return None
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        place = Path(given).expanduser() if given else Path(home).expanduser() / "hybrid-mor"
    except RuntimeError:  # a user without a home
        return None
    return _ours(place / "compiled")


@cache
def _ours(folder: Path) -> Path | None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        state = folder.stat()
    except OSError:
        return None
    return folder if state.st_uid == os.getuid() and not state.st_mode & 0o022 else None


def _prune(folder: Path) -> None:
    files = list(folder.glob("*.o")) + list(folder.glob("*.tried"))
    if len(files) > 2 * MOST:
        for old in sorted(files, key=lambda file: file.stat().st_mtime)[: len(files) // 4]:
            old.unlink(missing_ok=True)


def _read(path: Path, key: str) -> Entry | None:
    try:
        found = path.read_bytes()
    except OSError:
        return None
    digest, content = found[:32], found[32:]
    if hashlib.sha256(content).digest() != digest:
        return None
    line, _, data = content.partition(b"\n")
    head = json.loads(line)
    if not all(_is_here(name) for name in head["needs"]):
        return None
    with suppress(OSError):  # where nothing can be written, nothing is pruned either
        os.utime(path)
    machines, at = [], 0
    for i, (size, arrays) in enumerate(zip(head["sizes"], head["arrays"], strict=True)):
        machines.append(Machine(_address(data[at : at + size], f"hmor_{key}_{i}"), arrays))
        at += size
    return Entry(tuple(machines), head["facts"])


def _object(pointer: Any, symbol: str) -> tuple[bytes, list[str]]:
    """Return an object file of a C function of numba, with one symbol to be seen, and the functions that it calls."""
    import llvmlite.binding as llvm

    text = pointer._library.get_llvm_str()
    module = llvm.parse_assembly(re.sub(rf'@"?{re.escape(pointer.native_name)}"?(?=[\s(,)])', f"@{symbol}", text))
    for one in (*module.functions, *module.global_variables):
        if not one.is_declaration and one.name != symbol:
            one.linkage = "internal"
            one.visibility = "default"
    machine = pointer._library.codegen._tm
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_strip_dead_prototype_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.PipelineTuningOptions(speed_level=0)))
    module.verify()
    needs = [one.name for one in module.functions if one.is_declaration and not one.name.startswith("llvm.")]
    return bytes(machine.emit_object(module)), needs


def _address(data: bytes, symbol: str) -> int:
    """Load an object file; return the address of its symbol."""
    import llvmlite.binding as llvm

    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(data))
    engine.finalize_object()
    return int(engine.get_function_address(symbol))


def _is_here(name: str) -> bool:
    """Tell whether compiled code can call a function by its name; LLVM ends the process where it cannot."""
    import llvmlite.binding as llvm

    _engine()
    return llvm.address_of_symbol(name) is not None


@cache
def _engine() -> Any:
    """Return an engine of our own, so that no name of numba's meets ours."""
    import llvmlite.binding as llvm
    from numba.core.registry import cpu_target
    from numba.core.runtime import rtsys

    rtsys.initialize(cpu_target.target_context)  # makes LLVM ready and names the functions of numba's runtime
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
