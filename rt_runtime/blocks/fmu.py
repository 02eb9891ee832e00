"""A Functional Mock-up Unit in the loop; mor.sources.FmuSubstructure makes one from a file."""

from __future__ import annotations

from typing import Any

from rt_runtime import _core
from rt_runtime.errors import ConfigError


class Fmu(_core.Fmu):
    """The binary of an FMU as a block: set, doStep, get; what the arguments mean stands in core/fmu/fmu.hpp."""

    def __init__(self, **description: Any) -> None:
        try:
            super().__init__(**description)
        except RuntimeError as error:
            raise ConfigError(str(error)) from None
