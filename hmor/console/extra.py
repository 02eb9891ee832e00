"""The extra packages of the console."""

from __future__ import annotations

import importlib.util

from rt_runtime.errors import MissingExtra


def need_console() -> None:
    """Say in a sentence what is missing, if the console cannot run here."""
    for package in ("starlette", "uvicorn", "websockets"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(f"The console needs {package}; install hybrid-mor[console].")
