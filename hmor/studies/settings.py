"""Settings of a virtual test as the test wants them: a wrong kind is refused, never rounded or read as true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rt_runtime.errors import ConfigError


def whole_of(settings: Mapping[str, Any], name: str, default: int) -> int:
    """Return a setting that counts something."""
    value = settings.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not float(value).is_integer():
        raise ConfigError(f"Setting '{name}' must be a whole number, got {value!r}.")
    return int(value)


def truth_of(settings: Mapping[str, Any], name: str, default: bool) -> bool:
    """Return a setting that is true or false."""
    value = settings.get(name, default)
    if not isinstance(value, bool) and value not in (0, 1):
        raise ConfigError(f"Setting '{name}' must be true or false, got {value!r}.")
    return bool(value)
