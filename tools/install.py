"""Install the packages of pyproject.toml, at the versions of constraints.txt, and show how far it is.

    python tools/install.py ENVIRONMENT [EXTRA ...]

The packages are installed in a step of their own, with pip's build isolation: one that has no wheel (numpoly, of the
extra `chaospy`) is then built with the tools that it asks for. Only our own package is built without isolation, by the
Makefile.
Uses the standard library alone: it runs before anything is installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ["scikit-build-core", "nanobind", "cmake", "ninja"]


def requirements(extras: list[str]) -> list[str]:
    """What the package needs to be built and run, with the named extras."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    chosen = [need for extra in extras for need in project["optional-dependencies"][extra]]
    return BUILD + project["dependencies"] + chosen


def missing_tools() -> list[str]:
    """Sentences on what this host lacks."""
    problems = []
    if sys.version_info < (3, 11):  # noqa: UP036  (said in words, before anything else fails)
        problems.append(f"Python must be 3.11 or newer, got {sys.version.split()[0]}; start make with a newer python3.")
    if not (shutil.which("g++") or shutil.which("clang++") or shutil.which("c++")):
        problems.append("A C++ compiler must be installed, found none; on Debian: apt-get install g++.")
    return problems


class Progress:
    """One line that says what pip is doing: rewritten on a terminal, every few seconds elsewhere."""

    def __init__(self) -> None:
        self.start = self.said = time.monotonic()
        self.seen: set[str] = set()

    def read(self, line: str) -> None:
        """Take one line of pip's output."""
        if match := re.match(r"\s*(?:Collecting|Processing|Requirement already satisfied:) (\S+)", line):
            self.seen.add(re.split(r"[<>=!~\[(]", match.group(1))[0].lower())
            self.say(f"{len(self.seen)} packages found, at {match.group(1).rsplit('/', 1)[-1]}")
        elif match := re.match(r"\s*Building wheel for (\S+)", line):
            self.say(f"building {match.group(1)}", always=True)
        elif line.startswith("Installing collected packages"):
            self.say(f"unpacking {line.count(',') + 1} packages, the longest step", always=True)

    def say(self, text: str, always: bool = False) -> None:
        """Show what is being done, and for how long it has been going on."""
        now = time.monotonic()
        if sys.stdout.isatty():
            print(f"\r\033[K  {now - self.start:4.0f} s  {text:.90}", end="", flush=True)
        elif always or now - self.said > 10:
            print(f"  {now - self.start:4.0f} s  {text}", flush=True)
            self.said = now


def pip_install(python: Path, packages: list[str]) -> int:
    """Run pip on the packages and return its exit code; its whole output is shown when it fails."""
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["--progress-bar", "off", "--constraint", str(ROOT / "constraints.txt"), *packages]
    progress, output = Progress(), []
    pip = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT)
    assert pip.stdout is not None
    for line in pip.stdout:
        output.append(line)
        progress.read(line)
    code = pip.wait()
    if sys.stdout.isatty():
        print()
    if code:
        sys.stderr.writelines(output[-60:])
        print(f"install: pip ended with code {code}; network and disk are the usual causes.", file=sys.stderr)
    else:
        print(f"  {time.monotonic() - progress.start:4.0f} s  {len(progress.seen)} packages installed", flush=True)
    return code


def main() -> int:
    """Make the environment if there is none, and install."""
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder, extras = Path(sys.argv[1]), sys.argv[2:]
    if problems := missing_tools():
        print("\n".join(f"install: {problem}" for problem in problems), file=sys.stderr)
        return 1
    if not (folder / "bin" / "python").exists():
        print(f"First use: making {folder}; its packages take about 2 GB and a few minutes.", flush=True)
        venv.create(folder, with_pip=True)
    print(f"Packages for {', '.join(['hybrid-mor', *extras])}:", flush=True)
    return pip_install(folder / "bin" / "python", requirements(extras))


if __name__ == "__main__":
    sys.exit(main())
