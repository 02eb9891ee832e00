"""Keys that a loop and its rig sign their datagrams with."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from rt_runtime.errors import ConfigError
from rt_runtime.rig.actuators import SHORTEST_KEY


def new_key(path: Path) -> None:
    """Write 32 random bytes as hexadecimal digits into a new file that only its owner can read."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ConfigError(f"Key file {path} must be new, but it is there; delete it first.") from None
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_hex(32) + "\n")


def read_key(path: Path) -> bytes:
    """Read the key of a rig: hexadecimal digits in a file that only its owner can read."""
    if not path.is_file():
        raise ConfigError(f"Key file {path} must exist; make one with: hmor rig --new-key {path}.")
    if os.stat(path).st_mode & 0o077:
        raise ConfigError(f"Key file {path} must be readable by its owner alone; chmod 600 it.")
    try:
        key = bytes.fromhex(path.read_text().strip())
    except ValueError:
        raise ConfigError(f"Key file {path} must hold hexadecimal digits.") from None
    if len(key) < SHORTEST_KEY:
        raise ConfigError(
            f"Key file {path} must hold at least {2 * SHORTEST_KEY} hexadecimal digits, got {2 * len(key)}; make a new "
            "one with: hmor rig --new-key FILE."
        )
    return key
