"""Load openseespy where its wheel cannot: it ships libraries that the dynamic linker does not find by itself."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from pathlib import Path
from typing import Any

from rt_runtime.errors import MissingExtra

# In the order of their dependence: each finds those before it already loaded.
_LIBRARIES = ("libquadmath.so.0", "libgfortran.so.4", "libgomp.so.1", "libblas.so.3", "liblapack.so.3")


def opensees_installed() -> bool:
    """Tell whether openseespy is installed, without loading it."""
    return importlib.util.find_spec("openseespy") is not None


def need_opensees(what: str) -> None:
    """Raise MissingExtra unless openseespy is installed; `what` needs it."""
    if not opensees_installed():
        raise MissingExtra(
            f"{what} needs openseespy, which is not installed; run pip install 'hybrid-mor[opensees]' (free for "
            "research, education and internal use)."
        )


def load_opensees() -> Any:
    """Import openseespy and return its module of commands; to be called in a process of its own.

    OpenSees keeps one model per process and ends the process on some errors.
    """
    need_opensees("This model")
    if sys.platform == "linux":
        spec = importlib.util.find_spec("openseespylinux")
        if spec is not None and spec.origin is not None:
            folder = Path(spec.origin).parent / "lib"
            for name in _LIBRARIES:
                if (folder / name).is_file():
                    ctypes.CDLL(str(folder / name), mode=ctypes.RTLD_GLOBAL)
    import openseespy.opensees as ops

    return ops
