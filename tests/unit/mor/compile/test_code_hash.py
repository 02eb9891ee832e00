"""The code hash changes when the code, its constants or its helpers change, and not otherwise."""

from __future__ import annotations

import importlib.util
import linecache
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from mor.compile.code_hash import code_hash

SOURCE = """
import numpy as np
GAIN = 2.0
TABLE = np.array([1.0, 2.0])
LOG = []
def helper(a):
    return GAIN * a
def unused(a):
    return a
def model(a, b=1.0):
    LOG.append(a)
    return sum(helper(a) + b * t for t in TABLE)
"""


def hash_of(folder: Path, text: str) -> str:
    path = folder / "hashed_model.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("hashed_model", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["hashed_model"] = module
    linecache.checkcache()
    spec.loader.exec_module(module)
    module.model(1.0)
    return code_hash(module.model)


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("LOG.append(a)", "LOG.append(b)", True),
        ("GAIN = 2.0", "GAIN = 3.0", True),
        ("[1.0, 2.0]", "[1.0, 2.5]", True),
        ("return GAIN * a", "return GAIN * a + 0.0", True),
        ("b=1.0", "b=2.0", True),
        ("def unused(a):\n    return a", "def unused(a):\n    return 2 * a", False),
        ("LOG = []", "LOG = [5]", False),
    ],
)
def test_changes(tmp_path: Path, old: str, new: str, changes: bool) -> None:
    assert old in SOURCE
    before = hash_of(tmp_path, SOURCE)
    assert hash_of(tmp_path, SOURCE) == before
    assert (hash_of(tmp_path, SOURCE.replace(old, new)) != before) is changes


def test_values_closed_over_count() -> None:
    def make(gain: object) -> Callable[[float], object]:
        return lambda a: gain

    assert code_hash(make(1.0)) == code_hash(make(1.0)) != code_hash(make(2.0))
    assert code_hash(make(np.ones(2))) != code_hash(make(np.zeros(2)))
    assert code_hash(make((1, "a"))) != code_hash(make((1, "b")))


def test_code_without_source_and_other_callables() -> None:
    one, same, other = (eval(text) for text in ("lambda a: a + 1", "lambda a: a + 1", "lambda a: a + 2"))
    assert code_hash(one) == code_hash(same) != code_hash(other)
    assert code_hash(partial(hash_of, text="a")) == code_hash(partial(hash_of, text="a"))
    assert code_hash(partial(hash_of, text="a")) != code_hash(partial(hash_of, text="b"))
    assert code_hash(Path) != code_hash(int)

    class Called:
        def __call__(self) -> int:
            return 1

    assert code_hash(Called()) == code_hash(Called()) != code_hash(one)


def test_recursion_ends() -> None:
    def back(n: int) -> int:
        return back(n - 1) if n else 0

    assert len(code_hash(back)) == 16


HELPERS = """
from dataclasses import dataclass
from numba import njit
import deeper_equations
@dataclass(frozen=True)
class Mass:
    kg: float
    def weight(self):
        return 9.81 * self.kg
MASS = Mass(kg=2.0)
STIFFNESS = 3.0
def force(a):
    return STIFFNESS * deeper_equations.cube(a)
@njit
def damping(a):
    return 0.5 * a
def rest(a):
    return turn(a - 1.0) if a > 0.0 else 0.0
def turn(a):
    return rest(a)
class Spring:
    def pull(self, a):
        return deeper_equations.square(a)
def unused(a):
    return a
"""
DEEPER = "def cube(a):\n    return a**3\ndef square(a):\n    return a**2\ndef unused(a):\n    return a\n"
MODEL = """
import numpy as np
import shared_equations as equations
from shared_equations import MASS, Spring, damping, rest
def model(a):
    return equations.force(a) + damping(a) + rest(a) + MASS.weight() + Spring().pull(a) + np.linalg.norm([a])
"""


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("STIFFNESS = 3.0", "STIFFNESS = 4.0", True),
        ("return STIFFNESS * deeper", "return -STIFFNESS * deeper", True),
        ("0.5 * a", "0.6 * a", True),
        ("kg=2.0", "kg=2.5", True),
        ("9.81 *", "9.80 *", True),
        ("return rest(a)", "return rest(a) + 1.0", True),
        ("a**3", "a**5", True),
        ("a**2", "a**4", True),
        ("def unused(a):\n    return a", "def unused(a):\n    return 2 * a", False),
    ],
)
def test_helpers_of_other_modules_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, changes: bool
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def hashed(change: Callable[[str], str]) -> str:
        for name, text in (("shared_equations", HELPERS), ("deeper_equations", DEEPER)):
            (tmp_path / f"{name}.py").write_text(change(text))
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return hash_of(tmp_path, MODEL)

    assert old in HELPERS + DEEPER
    before = hashed(str)
    assert hashed(str) == before
    assert (hashed(lambda text: text.replace(old, new)) != before) is changes


COMPILED = """
from mor import ode
@ode(states={"x": "m"}, inputs={"u": "m/s"}, outputs={"y": "m"}, parameters={"gain": (2.0, "1")})
def integrator(t, x, u, p, dx, y):
    dx.x = p.gain * u.u
    y.y = x.x
def model(a):
    return a, integrator
"""


def test_where_machine_code_lies_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = []
    for cache in ("", tmp_path / "kept", tmp_path / "kept"):  # compiled, compiled and kept, loaded
        monkeypatch.setenv("HMOR_CACHE", str(cache))
        hashes.append(hash_of(tmp_path, COMPILED))
    assert hashes[0] == hashes[1] == hashes[2]
    assert hash_of(tmp_path, COMPILED.replace("(2.0,", "(3.0,")) != hashes[0]
    assert hash_of(tmp_path, COMPILED.replace("p.gain * u.u", "p.gain + u.u")) != hashes[0]
