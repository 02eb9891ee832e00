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
key = bytes.fromhex(options.pop("key", ""))
rig = Rig(loop, ["command"], ["x", "force"], key=key, faults=Faults(**options))
print(rig.port, flush=True)
rig.serve(seconds=60.0, sessions=1)
print(json.dumps(rig.traffic), flush=True)
"""


@contextmanager
def rig_process(**options: object) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start the rig; give the process and its port; kill it at the end whatever happened."""
    program = PROGRAM.format(rate=RATE, stiffness=STIFFNESS)
    process = subprocess.Popen(
        [sys.executable, "-c", program, json.dumps(options)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.wait(10)
