"""Versions of installed packages, looked up in one place."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version


def version_of(package: str = "hybrid-mor") -> str:
    """Return the version of an installed package, by default of this one; "not installed" where there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of Python and of `packages`, by default those a run depends on."""
    return {"python": platform.python_version()} | {name: version_of(name) for name in packages or _RUN}


_RUN = ("numpy", "hybrid-mor")
