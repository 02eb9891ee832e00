"""The loop's CPU is for the loop: the console and what a test starts stay off it, and give way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hmor.console.aside import NICE, loop_cpu, off_cpu

CPUS = sorted(os.sched_getaffinity(0))
several = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")


@several
def test_threads_and_processes_of_a_test_are_kept_off_the_loops_cpu_and_only_there() -> None:
    found: list[set[int]] = []
    with off_cpu(CPUS[-1]):
        thread = threading.Thread(target=lambda: found.append(os.sched_getaffinity(0)))
        thread.start()
        thread.join()
        words = [sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))"]
        found.append(set(json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)))
    assert found == [set(CPUS[:-1])] * 2
    assert sorted(os.sched_getaffinity(0)) == CPUS
    with off_cpu(None):
        assert sorted(os.sched_getaffinity(0)) == CPUS


@several
def test_a_console_stands_aside_once_however_often_it_is_asked() -> None:
    words = (
        f"import os; from hmor.console.aside import stand_aside; stand_aside({CPUS[-1]}); stand_aside({CPUS[-1]}); "
        "print([os.getpriority(os.PRIO_PROCESS, 0), *sorted(os.sched_getaffinity(0))])"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    nice, *cpus = json.loads(done.stdout)
    assert cpus == CPUS[:-1] and nice == max(NICE, os.getpriority(os.PRIO_PROCESS, 0))


def test_the_only_cpu_is_shared() -> None:
    words = (
        f"import os; os.sched_setaffinity(0, {{{CPUS[0]}}})\n"
        "from hmor.console.aside import off_cpu, stand_aside\n"
        f"with off_cpu({CPUS[0]}):\n    pass\nstand_aside({CPUS[0]}); print(sorted(os.sched_getaffinity(0)))"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [CPUS[0]]


@pytest.mark.parametrize(("text", "cpu"), [('{"cpu": 1}', 1), ('{"cpu": null}', None), ("[]", None), ("{", None)])
def test_the_loops_cpu_is_read_from_a_running_test(tmp_path: Path, text: str, cpu: int | None) -> None:
    assert loop_cpu(tmp_path) is None
    (tmp_path / "live.json").write_text(text)
    assert loop_cpu(tmp_path) == cpu
