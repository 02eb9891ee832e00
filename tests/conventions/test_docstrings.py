"""Docstrings of what users import: every parameter is spoken of, and the examples run."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("mor", "training", "export", "rt_runtime", "hmor")


@pytest.mark.parametrize(
    "package", ["mor", "mor.excitation", "mor.sources", "mor.uncertainty", "rt_runtime", "training"]
)
def test_docstrings_of_public_names_speak_of_every_parameter(package: str) -> None:
    module, silent = importlib.import_module(package), []
    for name, found in vars(module).items():
        own = inspect.isfunction(found) or (inspect.isclass(found) and not getattr(found, "_is_protocol", False))
        if name.startswith("_") or not own or found.__module__.split(".")[0] not in PACKAGES:
            continue
        if inspect.isclass(found) and issubclass(found, BaseException):
            continue
        with contextlib.suppress(ValueError, TypeError):  # of the core, without a signature
            parameters = inspect.signature(found).parameters
            silent += [f"{name}: {p}" for p in parameters if not re.search(rf"\b{p}\b", found.__doc__ or "")]
    assert not silent


EXAMPLES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
    if re.search(r"^ +>>> ", path.read_text(), flags=re.M)
]


@pytest.mark.parametrize("module", EXAMPLES)
def test_examples_in_docstrings_run(module: str) -> None:
    tried = doctest.testmod(importlib.import_module(module))
    assert tried.attempted > 0 and tried.failed == 0
