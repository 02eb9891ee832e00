"""Ground motions of the viaduct study, and the full-order responses to them that come with the package.

They are test records: nothing is trained or chosen on them. The campaign of the piers draws synthetic motions and
pulses of its own, with other seeds and shapes.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np

from hmor.studies.viaduct.bridge import RATE
from hmor.studies.viaduct.piers import STORED
from mor.data.trajectory import Trajectory
from mor.excitation import Excitation, el_centro, near_fault_pulse, synthetic_ground_motion
from rt_runtime.checks import Array, one_of
from rt_runtime.errors import ConfigError

RECORDS = ("el_centro", "synthetic", "pulse")
SCALES = (0.7, 1.3)
RESPONSES = (*((name, scale, True) for name in RECORDS for scale in SCALES), ("el_centro", 1.3, False))
"""Record, scale, and whether the specimen is there, of the responses that come with the package."""

KEEP = 4
"""Of the responses each fourth tick is stored."""


@cache
def record(name: str) -> Excitation:
    """Return a ground motion at 1024 Hz: 12 s of El Centro, a synthetic motion, a near-fault pulse of 0.4 m/s."""
    one_of(name, "name", "record", RECORDS)
    if name == "el_centro":
        whole = el_centro().resampled(RATE)
        return Excitation(whole.values[: int(12 * RATE) + 1], whole.dt, name=name)
    if name == "synthetic":
        return synthetic_ground_motion(seed=1940, duration=12.0, rate=RATE, peak=3.135)
    return near_fault_pulse(peak_velocity=0.4, period=1.2, cycles=2.0, phase=0.1, rate=RATE, after=5.6)


def response_file(name: str, scale: float, specimen: bool) -> str:
    """Return the name of the file of a stored response."""
    return f"{name}_{scale:g}_{'specimen' if specimen else 'free'}.npz"


def stored_response(name: str, scale: float = 1.3, *, specimen: bool = True) -> tuple[Trajectory, float]:
    """Return the response of the whole viaduct in OpenSees, every fourth tick, and the processor time it took in s.

    Parameters
    ----------
    name : the record.
    scale : its scale, 0.7 or 1.3.
    specimen : with the middle pier, or with no force in its place.

    Returns
    -------
    ag, x1 to x7, F1 to F7 (static forces), and seconds.
    """
    arrays, made = _stored(response_file(name, scale, specimen))
    piers = [i for i in range(1, arrays["x"].shape[1] + 1) if specimen or i != 4]
    return _trajectory(arrays, piers), float(made["cpu_s_per_step"] * made["steps"])


def one_pier_file(name: str) -> str:
    """Return the name of the file of the response of a single pier."""
    return f"{name}_one_pier.npz"


def stored_one_pier(name: str) -> tuple[Trajectory, float]:
    """Return the response of a single pier in OpenSees under its deck (`one_pier`): ag, x1, F1, and the time in s."""
    arrays, made = _stored(one_pier_file(name))
    return _trajectory(arrays, [1]), float(made["cpu_s_per_step"] * made["steps"])


def _stored(file: str) -> tuple[dict[str, Array], dict[str, Any]]:
    path = STORED / file
    if not path.is_file():
        have = ", ".join(sorted(p.stem for p in STORED.glob("*_*_*.npz"))) or "none"
        raise ConfigError(f"Stored response {path.stem} is not there; there are {have}.")
    with np.load(path, allow_pickle=False) as arrays:
        found = {name: np.asarray(arrays[name], float) for name in ("x", "F", "ag", "dt")}
        return found, json.loads(str(arrays["provenance"]))


def _trajectory(arrays: dict[str, Array], piers: list[int]) -> Trajectory:
    x, F = arrays["x"], arrays["F"]
    ports = {"ag": "m/s2"} | {f"x{i + 1}": "m" for i in range(x.shape[1])} | {f"F{i}": "N" for i in piers}
    return Trajectory(np.arange(len(x)) * float(arrays["dt"]), np.column_stack([arrays["ag"], x, F]), ports)
