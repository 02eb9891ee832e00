"""Numbers and arrays as C99 text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class CType:
    """The floating type of a generated source: its C name, its literals, and the names of the math functions."""

    def __init__(self, precision: str) -> None:
        self.dtype = np.dtype(precision)
        self.name = "double" if precision == "float64" else "float"
        self._suffix = "" if precision == "float64" else "f"

    def literal(self, value: float) -> str:
        """Return the shortest literal that gives back every bit of `value` in this type."""
        number = self.dtype.type(value)
        if np.isnan(number):
            raise ValueError("a model must not contain NaN")
        if np.isinf(number):
            return f"{'-' if number < 0 else ''}HUGE_VAL{self._suffix.upper()}"
        return f"{number!s}{self._suffix}"  # numpy prints the shortest text that reads back as the same bits

    def call(self, function: str) -> str:
        """Return the name of a math.h function for this type."""
        return function + self._suffix

    def array(self, name: str, values: NDArray[Any]) -> str:
        """Return `static const` array `name` of one or two dimensions."""
        cells = [self.literal(v) for v in np.ravel(values)]
        return _array(self.name, name, values.shape, cells)


def int_array(name: str, values: NDArray[Any]) -> str:
    """Return a `static const int` array."""
    return _array("int", name, values.shape, [str(int(v)) for v in np.ravel(values)])


def _array(kind: str, name: str, shape: tuple[int, ...], cells: list[str]) -> str:
    head = f"static const {kind} {name}" + "".join(f"[{n}]" for n in shape) + " = {"
    if len(shape) == 1:
        return head + "\n" + _fold(cells, "", "") + "\n};"
    width = shape[1]
    rows = [_fold(cells[i : i + width], "{", "}") for i in range(0, len(cells), width)]
    return head + "\n" + ",\n".join(rows) + "\n};"


def _fold(cells: list[str], opening: str, closing: str) -> str:
    """Join cells by commas on indented lines of at most 110 characters."""
    lines, line = [], "    " + opening
    for at, cell in enumerate(cells):
        piece = cell + (closing if at == len(cells) - 1 else ",")
        if len(line) + len(piece) > 110:
            lines.append(line.rstrip())
            line = "    "
        line += piece + " "
    return "\n".join([*lines, line.rstrip()])


def comment_text(text: str) -> str:
    """Return `text` so that it can stand in a C comment: one line, no end of comment in it."""
    return " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *").encode("ascii", "replace").decode()
