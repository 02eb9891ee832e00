"""The log of a fit: metrics.csv and, where TensorBoard is installed, its event file beside it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, Self


class Log:
    """Rows of numbers over the iterations of one restart.

    Rows after iteration `after` that an earlier, interrupted run left behind are dropped, so that a resumed fit has
    each iteration once.
    """

    def __init__(self, folder: Path, columns: tuple[str, ...], *, after: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "metrics.csv"
        kept: list[dict[str, str]] = []
        if after and path.exists():
            with path.open(newline="") as file:
                kept = [row for row in csv.DictReader(file) if int(row["iteration"]) <= after]
        self._file = path.open("w", newline="")
        self._rows = csv.DictWriter(self._file, ("iteration", *columns))
        self._rows.writeheader()
        self._rows.writerows(kept)
        self._board = _board(folder)

    def write(self, iteration: int, values: dict[str, float]) -> None:
        """Add one row."""
        self._rows.writerow({"iteration": iteration, **values})
        if self._board is not None:
            for name, value in values.items():
                self._board.add_scalar(name, value, iteration)

    def flush(self) -> None:
        """Put everything written so far on disk."""
        self._file.flush()

    def close(self) -> None:
        """End the log."""
        self._file.close()
        if self._board is not None:
            self._board.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _board(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder))
