"""Small models for campaigns, importable by the workers of a cluster."""

from __future__ import annotations

import math
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from mor import Trajectory


def oscillator(k: float, c: float, pause: float = 0.0, log: str = "") -> dict[str, Any]:
    """Free decay of a unit mass in closed form: two numbers and a trajectory; notes its parameters in `log`."""
    if log:
        handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, f"{k!r}\n".encode())
        os.close(handle)
    time.sleep(pause)
    t = np.arange(100) * 0.01
    damped = math.sqrt(k - 0.25 * c * c)
    x = np.exp(-0.5 * c * t) * np.cos(damped * t)
    return {"lowest": float(x.min()), "last": float(x[-1]), "run": Trajectory(t, x, {"x": "m"})}


def fragile(a: float, marks: str) -> float:
    """Fail in every way, depending on a; once mended (a file named mended in `marks`), succeed."""
    Path(marks, f"{a:.3f}").touch()
    if Path(marks, "mended").exists():
        return a
    if a < 0.2:
        raise RuntimeError("no equilibrium found")
    if a < 0.4:
        return math.nan
    if a < 0.6:
        os.kill(os.getpid(), signal.SIGKILL)
    if a < 0.8:
        time.sleep(60)
    print("noise on standard output")
    return a


def patricide(a: float, mark: str) -> float:
    """Take the parent process down, once."""
    if a > 0.5:
        try:
            Path(mark).touch(exist_ok=False)
        except FileExistsError:
            return a
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    return a
