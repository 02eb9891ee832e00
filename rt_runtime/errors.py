"""The errors a user can meet. Each message is one sentence: which, of what, must be what, got what, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def printable(text: str) -> str:
    """Return `text` with every character that is neither printable nor a line end written as an escape.

    What comes from a file may hold terminal sequences; on a terminal they would act instead of being read.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


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
    """A bundle on disk cannot be trusted or read; its message is always printable and no line of it very long."""

    def __init__(self, message: str) -> None:
        lines = (line if len(line) <= 600 else f"{line[:450]} ... {line[-100:]}" for line in message.split("\n"))
        super().__init__(printable("\n".join(lines)))

    @classmethod
    def from_problems(cls, what: str, problems: Sequence[str]) -> BundleError:
        """Gather several problems into one error: the first twenty, each on one line."""
        lines = [" ".join(text.split()) for text in problems[:20]]
        if len(problems) > 20:
            lines.append(f"... and {len(problems) - 20} more.")
        return cls(str(ConfigError.from_problems(what, lines)))


class RecordWarning(RuntimeWarning):
    """A run has ended and its record lacks frames."""


class Tripped(RuntimeError):
    """A run ended before its time; `record` holds everything up to the last tick, `tick` is that tick."""

    def __init__(self, message: str, record: Any = None, tick: int = -1) -> None:
        super().__init__(message)
        self.record = record
        self.tick = tick
