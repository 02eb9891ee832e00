"""A loop as users build it, with an @ode in it, allocates nothing per tick: 10 000 more ticks, not one more malloc."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from export import write
from mor.reduced.memory import MemoryModel
from tests.contract.reduced_models import MODELS, hysteresis

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import ctypes, sys
import numpy as np
from mor import OdeSubstructure, ode
from rt_runtime import Delay, Filter, Gain, Loop, Noise, StateSpace, Table, load_bundle, previous

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
for i, folder in enumerate(sys.argv[2:]):
    loop.signal(f"F{i}")
    loop.add(f"rom{i}", load_bundle(folder).block(), inputs=["x", "q"], outputs=[f"F{i}"])
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


GUARDED = """
import ctypes
import numpy as np
from hmor.rigs.catalogue import spring
from rt_runtime import Command, Drive, InProcessRig, Link, Loop, Sensor, Table, protect
from rt_runtime.rig.actuators import link_names, names_of

counter = ctypes.CDLL(None).allocation_count
counter.restype = ctypes.c_long
side = spring(1000.0)
rig = InProcessRig(side.loop, side.commands, side.measured)
loop = Loop(1000.0)
for name, unit in (("position", "m"), ("force", "N"), ("wanted", "m")):
    loop.signal(name, unit=unit)
for name in ("rig.age", "rig.status", "rig.sent", *link_names("rig")):
    loop.signal(name)
loop.add("rig.read", Sensor(rig), outputs=names_of("rig", ["position", "force"]))
loop.add("rig.link", Link(rig), outputs=link_names("rig"))
t = np.arange(0.0, 100.0, 0.01)
loop.add("target", Table(t, 0.01 * np.sin(6.0 * t)), outputs=["wanted"])
monitor = protect(loop, [Command("wanted", "command", -0.02, 0.02, rate=0.5, measured="position", stiffness=1e5)])
assert {"position_follows", "force_energy", "two_rigs"} <= {rule.name for rule in monitor.rules}
loop.add("rig.write", Drive(rig), inputs=["command"], outputs=["rig.sent"])

def allocations(ticks):
    loop.record(["command"], every=ticks)
    core, _ = loop._build(ticks)
    core.start()
    core.reset()
    before = counter()
    core.run(ticks)
    return counter() - before

allocations(100)
print(allocations(20_000) - allocations(10_000))
"""
"""A loop with all default rules and detectors against a rig in this process."""


@pytest.fixture(scope="module")
def counter(tmp_path_factory) -> Path:
    return compiled(tmp_path_factory.mktemp("counter"))


def compiled(folder: Path) -> Path:
    """Compile the library that counts allocations."""
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("g++")
    assert compiler, "a C compiler built the core, so there must be one"
    library = folder / "count_allocations.so"
    source = Path(__file__).with_name("count_allocations.c")
    subprocess.run([compiler, "-x", "c", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def run(counter: Path, which: str, *bundles: Path, program: str = PROGRAM) -> int:
    environment = os.environ | {"LD_PRELOAD": str(counter)}
    command = [sys.executable, "-c", program, which, *bundles]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_no_allocation_per_tick(counter: Path, tmp_path: Path) -> None:
    """With reduced models of hysteresis in the loop: every operator, and a gated recurrent unit."""
    unit = MODELS["memory of gru"]()
    assert isinstance(unit, MemoryModel)
    models = {"operators": hysteresis(), "unit": replace(unit, dt=1e-3)}
    folders = [tmp_path / name for name in models]
    for folder, model in zip(folders, models.values(), strict=True):
        write(model, folder)
    assert run(counter, "core", *folders) == 0


def test_no_allocation_with_all_default_rules_and_detectors(counter: Path) -> None:
    assert run(counter, "core", program=GUARDED) == 0


def test_the_counter_sees_a_block_that_allocates(counter: Path) -> None:
    assert run(counter, "python") > 1000
