"""The errors a user can meet. Each message is one sentence: which, of what, must be what, got what, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class ConfigError(ValueError):
    """An argument, a wiring or a file does not say what it must."""

    @classmethod
    def from_problems(cls, what: str, problems: Sequence[str]) -> ConfigError:
        """Gather several problems of `what` into one error with a numbered list."""
        if len(problems) == 1:
            return cls(problems[0])
        lines = "\n".join(f"  {i}. {problem}" for i, problem in enumerate(problems, 1))
        verb = "have" if what.split()[0].endswith("s") else "has"  # Parameters of ..., Inputs of ...
        return cls(f"{what} {verb} {len(problems)} problems:\n{lines}")


class MissingExtra(ImportError):
    """An optional package is needed and not installed."""


class BundleError(ValueError):
    """A bundle on disk cannot be trusted or read."""


class Tripped(RuntimeError):
    """A run ended before its time; `record` holds everything up to the last tick, `tick` is that tick."""

    def __init__(self, message: str, record: Any = None, tick: int = -1) -> None:
        super().__init__(message)
        self.record = record
        self.tick = tick
