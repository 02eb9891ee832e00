"""The C compiler of this host, if there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from rt_runtime.errors import ConfigError

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
_SECONDS = 120


def find_compiler() -> str | None:
    """Return the path of the C compiler: the one named in the environment variable CC, else cc, gcc or clang."""
    named = os.environ.get("CC")
    if named is not None:
        return shutil.which(named)
    return next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def find_cross_compiler() -> str | None:
    """Return the path of the compiler for 64-bit Windows (mingw-w64), if it is installed."""
    return shutil.which("x86_64-w64-mingw32-gcc")


def compile_c(
    sources: Sequence[Path],
    output: Path,
    *,
    compiler: str,
    shared: bool = False,
    options: Sequence[str] = ("-O2",),
    warnings: Sequence[str] = WARNINGS,
) -> Path:
    """Compile C99 `sources` to a program (or a shared library) with `warnings` on; return `output`.

    Contraction of a * b + c is off, so that every host computes the same bits from the same libm.
    """
    mode = ["-shared", "-fPIC", "-fvisibility=hidden"] if shared else []
    command = [compiler, "-std=c99", *options, "-ffp-contract=off", *warnings, *mode]
    command += [*map(str, sources), "-o", str(output), "-lm"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"C compiler '{compiler}' could not be run: {error}.") from None
    if done.returncode != 0:
        raise ConfigError(f"C compiler '{compiler}' refused the generated source: {done.stderr.strip()[:2000]}")
    return output
