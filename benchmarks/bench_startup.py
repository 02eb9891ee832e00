"""What a command costs before it does anything: CPU time of `hmor --help` and others, beside that of Python alone.

`demo_first_step`: wall time from the start of `hmor demo` to the first word of its first step, the first time (nothing
compiled is kept) and the second time; `make demo` adds what make takes to see that nothing is to be built.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time

COMMANDS = {
    "python": ["-c", "pass"],
    "help": ["-m", "hmor", "--help"],
    "version": ["-m", "hmor", "--version"],
    "help_of_run": ["-m", "hmor", "run", "--help"],
    "studies": ["-m", "hmor", "studies"],
}


def cpu_seconds(arguments: list[str]) -> float:
    """User and system time of one Python process, in s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_step(cache: str) -> float:
    """Wall time in s until the demo begins its first step; it is ended there."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "hmor", "demo", "--folder", f"{folder}/demo"]
        start = time.perf_counter()
        demo = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"HMOR_CACHE": cache},
        )
        assert demo.stderr is not None
        line = next((line for line in demo.stderr if line.startswith("sample/")), "")
        seconds = time.perf_counter() - start
        demo.kill()
        demo.wait()
        demo.stderr.close()
    assert line, "the demo must begin with samples"
    return seconds


def run(quick: bool) -> dict[str, float]:
    """Fastest of some repeats, the commands in turns."""
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(3 if quick else 10):
        for name, arguments in COMMANDS.items():
            best[name] = min(best[name], cpu_seconds(arguments))
    count = "import sys, hmor.cli; print(len(sys.modules))"
    modules = subprocess.run([sys.executable, "-c", count], check=True, capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory() as cache:
        demo = {"first_time": first_step(cache)}
        demo["second_time"] = min(first_step(cache) for _ in range(1 if quick else 3))
    measured = {f"{name}_cpu_s": seconds for name, seconds in best.items()} | {"help_modules": int(modules)}
    measured |= {f"demo_first_step.{name}_s": seconds for name, seconds in demo.items()}
    return measured | {"goal.help_cpu_s": 0.5, "goal.demo_first_step.second_time_s": 3.0}
