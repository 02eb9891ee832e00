"""Is it alive: import everything, step one full-order model, record, ask the command for help."""

from __future__ import annotations

import subprocess
import sys

import numpy as np


def test_alive() -> None:
    import export
    import hmor
    import mor
    import rt_runtime
    import training

    assert all(package.__doc__ for package in (export, hmor, mor, rt_runtime, training))

    @mor.ode(states={"x": "m", "v": "m/s"}, outputs={"x": "m"}, initial={"x": 1.0})
    def oscillator(t, x, u, p, dx, y):
        dx[0] = x[1]
        dx[1] = -x[0]
        y[0] = x[0]

    loop = rt_runtime.Loop(100.0)
    loop.signal("x", unit="m")
    loop.add("oscillator", oscillator.block(dt=0.01), outputs=["x"])
    record = loop.run(1.0)
    np.testing.assert_allclose(record["x"], np.cos(record.time), atol=1e-9)


def test_the_command_answers() -> None:
    for arguments in (["--help"], ["demo", "--help"], ["bench", "--help"]):
        done = subprocess.run(
            [sys.executable, "-c", "from hmor.cli import main; main()", *arguments], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert "Usage" in done.stdout
