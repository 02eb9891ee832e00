"""A short run of the mutation fuzzer of bundles; `make fuzz` runs 20 000 cases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.fuzz.fuzz_bundles import sentence_problem


def test_every_changed_bundle_ends_in_a_sentence() -> None:
    """500 bundles with fields, tensors, files and archives changed, hashes corrected: within 5 s and 500 MB each."""
    program = Path(__file__).with_name("fuzz_bundles.py")
    done = subprocess.run([sys.executable, program, "--cases", "500"], capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "500 cases" in done.stdout and "'refused'" in done.stdout and "'loaded'" in done.stdout


def test_the_fuzzer_tells_a_sentence_from_anything_else() -> None:
    assert sentence_problem("Bundle 'b' must be signed.") is None
    assert sentence_problem("\x1b[31mBundle.") is not None
    assert sentence_problem("Traceback (most recent call last)") is not None
    assert sentence_problem("x" * 5000 + ".") is not None
