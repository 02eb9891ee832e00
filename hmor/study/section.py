"""What every section of a study has in common."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, with_config

Kind = TypeVar("Kind", bound=type)


class Section(BaseModel):
    """A section of a study; a key it does not know is a problem."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=True)


def strict(kind: Kind) -> Kind:
    """Let pydantic refuse unknown keys of a dataclass that stands in study files as it is."""
    return with_config(ConfigDict(extra="forbid"))(kind)


def problem_sentences(error: ValidationError) -> list[str]:
    """Make one sentence of each problem pydantic found: the key, what it must be, what it is."""
    return [_sentence(problem) for problem in error.errors()]


def _sentence(problem: Any) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] in ("missing", "missing_argument"):
        return f"Key '{key}' is missing."
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"Key '{key}' is unknown; check its spelling and its section."
    if problem["type"] == "value_error":
        words = str(problem["ctx"]["error"]).rstrip(".") + "."
        return f"Key '{key}': {words}" if key else words
    message = problem["msg"].replace("Input should be", "must be")
    return f"Key '{key}' {message}, got {problem['input']!r:.60}."
