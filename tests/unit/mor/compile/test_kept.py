"""Compiled functions kept between runs: the same numbers, and never the code of another function."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import float32, float64, njit

from mor import OdeSubstructure, OdeSystem, ode
from mor.compile import kept
from mor.compile.fingerprint import fingerprint

NAMES = (("x",), ("u",), ("k",), ("y",))
SCALE = 2.0


class Holder:
    value = 3.0


HOLDER = Holder()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, and nothing in memory."""
    monkeypatch.setenv("HMOR_CACHE", str(tmp_path))
    monkeypatch.setattr(kept, "_loaded", {})
    monkeypatch.setattr(kept, "_tried", set())
    return tmp_path / "compiled"


def decay(rate: float) -> OdeSystem:
    @ode(states={"x": "m"}, inputs={"u": "m"}, outputs={"y": "m"}, parameters={"k": (0.5, "1/s")})
    def system(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
        dx.x = u.u * math.exp(-rate) - p.k * math.tanh(x.x)
        y.y = x.x

    return system


def forget() -> None:
    kept._loaded.clear()
    kept._tried.clear()


def compiles(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    from mor.compile.cfunc import _Function

    seen: list[str] = []
    plain = _Function._compile

    def watched(self: Any, *arguments: Any) -> Any:
        seen.append(self._of)
        return plain(self, *arguments)

    monkeypatch.setattr(_Function, "_compile", watched)
    return seen


def test_a_function_is_compiled_once_and_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = compiles(monkeypatch)
    first = decay(0.3)
    assert seen
    seen.clear()
    forget()
    second = decay(0.3)
    assert not seen
    rows = np.random.default_rng(0).normal(size=(50, 3))
    for x, u, k in rows:
        one, other = (system.evaluate(0.0, [x], [u], {"k": abs(k)}) for system in (first, second))
        np.testing.assert_array_equal(one, other)
    runs = [_run(system) for system in (first, second)]
    np.testing.assert_array_equal(runs[0], runs[1])
    monkeypatch.setenv("HMOR_CACHE", "")
    np.testing.assert_array_equal(runs[0], _run(decay(0.3)))  # as numba itself made it


def _run(system: OdeSystem) -> np.ndarray:
    from rt_runtime import Loop

    loop = Loop(100.0)
    loop.constant("u", 1.0, unit="m")
    loop.signal("y", unit="m")
    loop.add("system", system.block(dt=0.01), inputs=["u"], outputs=["y"])
    return np.asarray(loop.run(1.0).values)


def test_another_number_in_a_closure_is_another_function() -> None:
    one, other = decay(0.3), decay(0.4)
    assert one.evaluate(0.0, [0.0], [1.0])[0] == pytest.approx([math.exp(-0.3)])
    assert other.evaluate(0.0, [0.0], [1.0])[0] == pytest.approx([math.exp(-0.4)])
    assert one.address != other.address


def test_what_the_code_depends_on_changes_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    helper = njit(lambda a: a + 1.0)

    def plain(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
        dx[0] = SCALE * x[0]

    def of(helper: Callable[..., float], gain: float = 1.0) -> Callable[..., None]:
        def calling(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
            dx[0] = gain * helper(x[0])

        return calling

    others = (of(njit(lambda a: a + 2.0)), of(lambda a: a + 1.0), of(lambda a: a + 2.0))  # plain ones are compiled too
    before = [fingerprint(f, NAMES, "rhs") for f in (plain, of(helper), of(helper, 2.0), *others)]
    assert None not in before and len(set(before)) == 6
    assert fingerprint(of(helper), NAMES, "rhs") == before[1]
    assert fingerprint(plain, NAMES, "jacobian") != before[0]
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert fingerprint(plain, NAMES, "rhs") != before[0]
    options = njit(lambda a: a + 1.0, fastmath=True)
    assert fingerprint(of(options), NAMES, "rhs") != before[1]


class Beam(NamedTuple):
    k: float
    c: float


class Turned(NamedTuple):
    c: float
    k: float


def _field(of: Any) -> Callable[..., None]:
    def reading(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
        dx[0] = of.k * x[0]

    return reading


def _calling(helper: Any) -> Callable[..., None]:
    def calling(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
        dx[0] = helper(x[0])

    return calling


def _tenth(a: float) -> float:
    b = 0.1 * a
    return b


def test_fields_and_declared_types_change_the_fingerprint() -> None:
    """The same bytes under other names, and the same text with other types, are other machine code."""
    records = [np.zeros(1, [(a, float), (b, float)])[0] for a, b in ("kc", "ck")]
    typed = [njit(f"{kind}({kind})")(_tenth) for kind in ("float64", "float32")]
    local = [njit(locals={"b": kind})(_tenth) for kind in (float64, float32)]
    made = [_field(of) for of in (Beam(1.0, 2.0), Turned(1.0, 2.0), *records)]
    made += [_calling(helper) for helper in (njit(_tenth), *typed, *local)]
    keys = [fingerprint(f, NAMES, "rhs") for f in made]
    assert None not in keys and len(set(keys)) == len(keys)


def test_a_named_tuple_whose_fields_trade_places_gives_its_own_numbers() -> None:
    def slope(of: Any) -> float:
        ports = {"states": {"x": "m"}, "outputs": {"y": "m"}}

        @ode(**ports)  # type: ignore[arg-type]
        def system(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
            dx.x = of.k * x.x
            y.y = x.x

        return float(OdeSubstructure(system).jacobian([1.0], [])[0, 0])

    assert slope(Beam(3.0, 5.0)) == pytest.approx(3.0)
    forget()
    assert slope(Turned(3.0, 5.0)) == pytest.approx(5.0)


def test_names_count_where_the_code_reads_them() -> None:
    def by_index(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
        dx[0] = x[0]

    def by_name(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
        dx.a = x.a

    other = (("b", "a"), *NAMES[1:])
    named = (("a", "b"), *NAMES[1:])
    assert fingerprint(by_index, named, "rhs") == fingerprint(by_index, other, "rhs")
    assert fingerprint(by_name, named, "rhs") != fingerprint(by_name, other, "rhs")


def test_an_object_or_a_foreign_module_has_no_fingerprint() -> None:
    def reads(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
        dx[0] = HOLDER.value

    def foreign(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
        dx[0] = os.altsep

    assert fingerprint(reads, NAMES, "rhs") is None
    assert fingerprint(foreign, NAMES, "rhs") is None


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"nonsense", b"[5, 4]", b"[5]", None])
def test_a_damaged_entry_is_compiled_anew(folder: Path, damage: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _run(decay(0.3))
    (entry,) = folder.glob("*.o")
    whole = bytearray(entry.read_bytes())
    whole[-5] ^= 1
    if damage == b"[5]":  # numbers of arrays that do not fit the functions
        damage = entry.read_bytes().replace(b"[5, 4]", damage)
    entry.write_bytes(bytes(whole) if damage is None else damage)
    forget()
    seen = compiles(monkeypatch)
    np.testing.assert_array_equal(_run(decay(0.3)), before)
    assert seen


def test_a_missing_function_is_noticed_before_it_is_linked(folder: Path) -> None:
    decay(0.3)
    (entry,) = folder.glob("*.o")
    content = entry.read_bytes()[32:].replace(b'"needs": [', b'"needs": ["no_such_function", ', 1)
    entry.write_bytes(hashlib.sha256(content).digest() + content)
    forget()
    assert kept.load(entry.stem) is None


def test_a_folder_that_others_may_write_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "open" / "compiled").mkdir(parents=True)
    (tmp_path / "open" / "compiled").chmod(0o777)
    monkeypatch.setenv("HMOR_CACHE", str(tmp_path / "open"))
    decay(0.3)
    assert not list((tmp_path / "open").rglob("*.o"))


def test_without_a_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(self: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("HMOR_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", homeless)
    assert _run(decay(0.3)).size


def test_an_entry_that_cannot_be_touched_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decay(0.3)
    (entry,) = folder.glob("*.o")

    def read_only(path: Path) -> None:
        raise OSError(30, "Read-only file system")

    forget()
    monkeypatch.setattr(os, "utime", read_only)
    assert kept.load(entry.stem) is not None


def test_the_trial_is_repeated_for_other_numbers(folder: Path) -> None:
    decay(0.3)
    (one,) = folder.glob("*.tried")
    forget()

    @ode(states={"x": "m"}, inputs={"u": "m"}, outputs={"y": "m"}, parameters={"k": (0.7, "1/s")})
    def other(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
        dx.x = u.u - p.k * x.x
        y.y = x.x

    assert len(list(folder.glob("*.tried"))) == 2 and one.exists()


def test_the_oldest_entries_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 2)
    for rate in (0.1, 0.2, 0.3, 0.4):
        decay(rate)
    assert len(list(folder.iterdir())) <= 6
    assert _run(decay(0.4)).size


def test_another_process_finds_it(folder: Path) -> None:
    text = (
        "from mor.models.mr_damper import mr_damper\n"
        "from mor.compile.cfunc import _Function\n"
        "import sys\n"
        "if len(sys.argv) > 1: _Function._compile = None\n"
        "print(mr_damper().pointer.arrays)\n"
    )
    said = [
        subprocess.run([sys.executable, "-c", text, *more], capture_output=True, text=True, check=True).stdout
        for more in ((), ("kept",))
    ]
    assert said[0] == said[1] and list(folder.glob("*.o"))
