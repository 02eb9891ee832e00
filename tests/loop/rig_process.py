"""A rig in a process of its own: a spring that follows its command by a first-order lag. Used by the fault tests."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RATE = 1000.0
STIFFNESS = 1e5
SIX = """
import json, signal, sys
import numpy as np
from rt_runtime import Faults, Gain, Loop, Rig, StateSpace
options = json.loads(sys.argv[1])
loop, six = Loop({rate}), np.eye(6)
commands = [f"command_{{i}}" for i in range(1, 7)]
for name in commands:
    loop.constant(name, 0.0, unit="m")
loop.signal("x[6]", unit="m")
loop.signal("force[6]", unit="N")
loop.add("lag", StateSpace(-300.0 * six, 300.0 * six, six, dt=1 / {rate}, update="start"), inputs=commands, outputs=["x[6]"])
loop.add("spring", Gain({stiffness} * six), inputs=["x[6]"], outputs=["force[6]"])
key, protocol = bytes.fromhex(options.pop("key", "")), options.pop("protocol", 2)
measured = [f"{{name}}_{{i}}" for name in ("x", "force") for i in range(1, 7)]
rig = Rig(loop, commands, measured, key=key, faults=Faults(**options), protocol=protocol)
signal.signal(signal.SIGTERM, lambda *_: rig.stop())
print(rig.port, flush=True)
rig.serve(seconds=60.0)
"""
"""Six springs, each behind an actuator of its own."""

PROGRAM = """
import json, sys
from rt_runtime import Faults, Gain, Loop, Rig, StateSpace
options = json.loads(sys.argv[1])
loop = Loop({rate})
loop.constant("command", 0.0, unit="m")
loop.signal("x", unit="m")
loop.signal("force", unit="N")
loop.add("lag", StateSpace([[-300.0]], [[300.0]], [[1.0]], dt=1 / {rate}, update="start"), inputs=["command"], outputs=["x"])
loop.add("spring", Gain({stiffness}), inputs=["x"], outputs=["force"])
key, watchdog = bytes.fromhex(options.pop("key", "")), options.pop("watchdog", {{}})
rig = Rig(loop, ["command"], ["x", "force"], key=key, faults=Faults(**options), **watchdog)
print(rig.port, flush=True)
rig.serve(seconds=60.0, sessions=1)
print(json.dumps(rig.traffic), flush=True)
"""


@contextmanager
def rig_process(*, program: str = PROGRAM, **options: object) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start the rig; give the process and its port; kill it at the end whatever happened."""
    program = program.format(rate=RATE, stiffness=STIFFNESS)
    process = subprocess.Popen(
        [sys.executable, "-c", program, json.dumps(options)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.wait(10)
