"""README, docs and tutorials do what they say.

The blocks of a page run in their order, in one namespace and one folder:
- ```python runs; a block that begins with "# name.py" is written to that file instead, and so is ```toml with "# name.toml"
- ```sh runs in bash and stops at the first command that fails
- ```text right behind one of them is what it printed; "..." stands for anything
Commands that are only shown stand indented, without a fence.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mor.marginals import LAWS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|sh|toml|text)\n(.*?)^```", flags=re.S | re.M)
FILE = re.compile(r"# ([\w/-]+\.(?:py|toml))\b")
PORT = "5005"  # of the rigs in the pages


@pytest.mark.parametrize("page", [p for p in PAGES if p.exists()], ids=lambda p: str(p.relative_to(ROOT)))
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    laws = dict(LAWS)
    try:
        run_page(page.read_text(), page.name)
    finally:  # a page shows how a law is added
        LAWS.clear()
        LAWS.update(laws)


def run_page(text: str, name: str = "page.md") -> None:
    """Run all blocks of a page in the current folder."""
    namespace: dict[str, object] = {"__name__": "snippet"}
    printed = None
    text = re.sub(rf"\b{PORT}\b", str(free_port()), text)  # another test may use the port of the page
    for match in BLOCK.finditer(text):
        kind, body = match.groups()
        where = f"{name}, line {text[: match.start()].count(chr(10)) + 1}"
        file = FILE.match(body)
        if kind == "toml":
            tomllib.loads(body)
        if kind == "text":
            assert printed is not None, f"{where}: nothing was printed before"
            check_printed(body, printed, where)
            printed = None
        elif file and kind in ("python", "toml"):
            Path(file[1]).parent.mkdir(parents=True, exist_ok=True)
            Path(file[1]).write_text(body)
        elif kind == "python":
            printed = run_python(body, where, namespace)
        elif kind == "sh":
            printed = run_shell(body, where)


def run_python(body: str, where: str, namespace: dict[str, object]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(body, where, "exec", dont_inherit=True), namespace)
    return out.getvalue()


def run_shell(body: str, where: str) -> str:
    """Run a block in bash; what stands in the background has ended too when this returns."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", body + "\nwait"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{where} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def check_printed(wanted: str, got: str, where: str) -> None:
    checker, flags = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert checker.check_output(wanted, got, flags), f"{where} says\n{wanted}\nbut printed was\n{got}"


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_page_that_does_not_do_what_it_says_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fence = "`" * 3
    run_page(f"{fence}python\nprint('a 1.5 b')\n{fence}\n\n{fence}text\na ... b\n{fence}\n")
    run_page(f"{fence}toml\n# x.toml\na = 1\n{fence}\n{fence}sh\ngrep a x.toml\n{fence}\n{fence}text\na = 1\n{fence}\n")
    with pytest.raises(AssertionError, match=r"page.md, line 4 says\s+b\s"):
        run_page(f"{fence}python\nprint('a')\n{fence}\n{fence}text\nb\n{fence}\n")
    with pytest.raises(AssertionError, match="ended with 1"):
        run_page(f"{fence}sh\nfalse\ntrue\n{fence}\n")
    with pytest.raises(AssertionError, match="nothing was printed before"):
        run_page(f"{fence}text\nb\n{fence}\n")
