"""What a reader may rely on: short files, docstrings on public names, nothing named utils, no registry host."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("mor", "training", "export", "rt_runtime", "hmor")
CODE = sorted(
    path
    for folder in (*PACKAGES, "tests", "benchmarks", "docs")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".hpp", ".cpp", ".h", ".c"} and "__pycache__" not in path.parts
)


def test_no_file_is_far_beyond_300_lines() -> None:
    long = {f"{path.relative_to(ROOT)}: {n}" for path in CODE if (n := len(path.read_text().splitlines())) > 400}
    assert not long


@pytest.mark.parametrize("package", PACKAGES)
def test_rooms_are_small(package: str) -> None:
    """About a dozen files side by side at most, and each folder of Python says what lives there."""
    kinds = {".py", ".hpp", ".cpp", ".h", ".c", ".toml"}
    here = [path for path in (ROOT / package).rglob("*") if path.suffix in kinds]
    beside = Counter(path.parent.relative_to(ROOT) for path in here if path.stem != "__init__")
    assert not {str(folder): n for folder, n in beside.items() if n > 13}
    folders = {path.parent for path in here if path.suffix == ".py"}
    assert not [str(f.relative_to(ROOT)) for f in folders if not (f / "__init__.py").exists()]


def test_tests_mirror_the_rooms() -> None:
    """Each folder of unit tests has the name of a room that exists."""
    tests = ROOT / "tests" / "unit"
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")}
    assert not [str(folder) for folder in folders if not (ROOT / folder).is_dir()]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_shares_its_name_with_what_its_package_offers(package: str) -> None:
    """`from mor.uncertainty import sobol` must not be a module for one reader and a function for the other."""
    offered = {
        room.parent / f"{name.asname or name.name}.py"
        for room in (ROOT / package).rglob("__init__.py")
        for node in ast.walk(ast.parse(room.read_text()))
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    assert not sorted(str(path.relative_to(ROOT)) for path in offered if path.exists())


def test_no_utils_and_no_common() -> None:
    assert not [path for path in CODE if path.stem in {"utils", "util", "common", "helpers", "misc"}]


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_have_docstrings(package: str) -> None:
    missing = []
    for path in sorted((ROOT / package).rglob("*.py")):
        tree = ast.parse(path.read_text())
        scopes: list[ast.Module | ast.ClassDef] = [tree, *[n for n in tree.body if isinstance(n, ast.ClassDef)]]
        if not ast.get_docstring(tree):
            missing.append(f"{path.relative_to(ROOT)}: module")
        for scope in scopes:
            for node in scope.body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                    inside_private = isinstance(scope, ast.ClassDef) and scope.name.startswith("_")
                    overloads = getattr(node, "decorator_list", [])
                    if inside_private or any(getattr(d, "attr", "") in {"setter"} for d in overloads):
                        continue
                    if not ast.get_docstring(node):
                        missing.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert not missing


def test_no_function_hides_its_arguments_behind_kwargs() -> None:
    hidden = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and node.args.kwarg and not node.name.startswith("_")
    ]
    assert not hidden


def test_every_step_in_the_core_is_noexcept() -> None:
    """A function declared `In the loop.` must not throw."""
    broken = []
    for path in sorted((ROOT / "rt_runtime" / "core").rglob("*.hpp")):
        for match in re.finditer(r"\bvoid (step|reset)\([^)]*\)([^;{]*)", path.read_text()):
            if "noexcept" not in match.group(2):
                broken.append(f"{path.relative_to(ROOT)}: {match.group(0)}")
    assert not broken


def test_no_registry_host_is_named() -> None:
    pattern = r"https?://[a-z0-9.-]*(py" + r"pi|python" + r"hosted|deb" + r"ian|npm" + r"js)"
    found = subprocess.run(["git", "grep", "-nIE", pattern], cwd=ROOT, capture_output=True, text=True)
    assert found.stdout == ""
