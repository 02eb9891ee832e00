"""What a command costs before it does anything: CPU time of `hmor --help` and others, beside that of Python alone."""

from __future__ import annotations

import resource
import subprocess
import sys

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


def run(quick: bool) -> dict[str, float]:
    """Fastest of some repeats, the commands in turns."""
    best = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(3 if quick else 10):
        for name, arguments in COMMANDS.items():
            best[name] = min(best[name], cpu_seconds(arguments))
    count = "import sys, hmor.cli; print(len(sys.modules))"
    modules = subprocess.run([sys.executable, "-c", count], check=True, capture_output=True, text=True).stdout
    return {f"{name}_cpu_s": seconds for name, seconds in best.items()} | {"help_modules": int(modules)}
