"""The built-in studies, by name."""

from __future__ import annotations

from importlib import import_module

from hmor.studies.base import Study
from rt_runtime.errors import ConfigError

NAMES = ("pendulum", "frame_mr_damper", "benchmark_frame", "motorcycle_ampc", "delay_stability")


def find(name: str) -> Study:
    """Return the built-in study of that name."""
    if name not in NAMES:
        raise ConfigError(f"Study must be one of {', '.join(NAMES)}, got {name!r}; see `hmor studies`.")
    study: Study = import_module(f"hmor.studies.{name}").STUDY
    return study
