"""The stored type stub of the core is the one its build gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_stub_is_up_to_date(tmp_path: Path) -> None:
    fresh = tmp_path / "_core.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "rt_runtime._core", "-o", str(fresh)]
    subprocess.run(command, check=True)
    assert fresh.read_text() == (ROOT / "rt_runtime" / "_core.pyi").read_text(), "renew it with `make stub`"
