"""A loop as users build it, with an @ode in it, allocates nothing per tick: 10 000 more ticks, not one more malloc."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import ctypes, sys
import numpy as np
from mor import OdeSubstructure, ode
from rt_runtime import Delay, Filter, Gain, Loop, Noise, StateSpace, Table, previous

@ode(states=["x", "v"], inputs=["f"], outputs=["x"])
def duffing(t, x, u, p, dx, y):
    dx[0] = x[1]
    dx[1] = u[0] - 40.0 * x[0] - 5.0 * x[0] ** 3 - 0.3 * x[1] + np.sin(t)
    y[0] = x[0]

counter = ctypes.CDLL(None).allocation_count
counter.restype = ctypes.c_long
loop = Loop(1000.0)
for name in ("a", "n", "f", "x", "q", "s", "d", "z"):
    loop.signal(name)
loop.add("excitation", Table([0.0, 3.0, 30.0], [0.0, 1.0, -1.0]), outputs=["a"])
loop.add("noise", Noise(0.1, seed=1), outputs=["n"])
loop.add("sum", Gain([[1.0, 1.0, -0.1]]), inputs=["a", "n", previous("d")], outputs=["f"])
loop.add("duffing", duffing.block(dt=1e-3, substeps=2), inputs=["f"], outputs=["x"])
cheap = OdeSubstructure(duffing, method="ab2", direct=()).block(dt=1e-3, update="start", fresh=["f"])
loop.add("cheap", cheap, inputs=["x"], outputs=["q"])
loop.add("frame", StateSpace([[-3.0]], [[1.0]], [[1.0]], dt=1e-3), inputs=["q"], outputs=["s"])
loop.add("delay", Delay(2.5), inputs=["s"], outputs=["d"])
loop.add("filter", Filter([[0.1, 0.2, 0.1, 1.0, -0.5, 0.2]]), inputs=["d"], outputs=["z"])
leak = sys.argv[1] == "python"
if leak:
    from rt_runtime import PythonBlock
    loop.signal("bad")
    loop.add("python", PythonBlock(lambda t, u: [t], n_in=0, n_out=1), outputs=["bad"])

def allocations(ticks):
    loop.record(["z"], every=ticks)
    core, _ = loop._build(ticks)
    core.reset()
    before = counter()
    core.run(ticks)
    return counter() - before

allocations(100)
print(allocations(20_000) - allocations(10_000))
"""


@pytest.fixture(scope="module")
def counter(tmp_path_factory) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("g++")
    assert compiler, "a C compiler built the core, so there must be one"
    library = tmp_path_factory.mktemp("counter") / "count_allocations.so"
    source = Path(__file__).with_name("count_allocations.c")
    subprocess.run([compiler, "-x", "c", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def run(counter: Path, which: str) -> int:
    environment = os.environ | {"LD_PRELOAD": str(counter)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, which], env=environment, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def test_no_allocation_per_tick(counter: Path) -> None:
    assert run(counter, "core") == 0


def test_the_counter_sees_a_block_that_allocates(counter: Path) -> None:
    assert run(counter, "python") > 1000
