"""What a selection gives back: the best model and a table of all candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from mor.reduced.base import ReducedModel
from mor.sampling.space import text_table

Model = TypeVar("Model", bound=ReducedModel)


@dataclass(frozen=True)
class Selection(Generic[Model]):
    """The best model and the results table: one row of plain values a candidate, `chosen` marks the best."""

    model: Model
    table: list[dict[str, Any]]

    def __str__(self) -> str:
        head = tuple(self.table[0])
        return text_table(head, [tuple(_text(row[key]) for key in head) for row in self.table])


def best_of(models: Sequence[Model], table: list[dict[str, Any]], score: str) -> Selection[Model]:
    """Return the model whose row has the smallest `score`, the first of equals."""
    best = min(range(len(table)), key=lambda i: (table[i][score], i))
    return Selection(models[best], [{**row, "chosen": i == best} for i, row in enumerate(table)])


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "*" if value else ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
