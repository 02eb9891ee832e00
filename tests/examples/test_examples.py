"""Every example runs as it is and leaves its picture."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("[0-9]*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example: Path, tmp_path: Path) -> None:
    variables = os.environ | {"MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout and (tmp_path / f"{example.stem}.png").stat().st_size > 5000


def test_every_example_is_listed() -> None:
    listed = (EXAMPLES[0].parent / "README.md").read_text()
    assert not [example.name for example in EXAMPLES if f"({example.name})" not in listed]
