"""The worst tick of the controllers: 1e7 adversarial ticks each, in sessions that carry on where the last ended.

Targets jump over eight decades and switch every constraint. Reported beside the enforced bound on iterations and the
counted operations: percentiles and maximum of the time of a tick without the host (CPU time where it was interrupted,
the least of three repeats where it may be the slowest), and the maximum of single repeats by the clock and by the CPU
time of the thread. What was measured is kept in runs/worst_case.json as long as the core is the same; a session ends
after about SESSION seconds.
"""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from mor import prediction_model
from mor.dynamics.control_design import arx_parameters
from mor.dynamics.transfer import StateSpaceMatrices, TransferFunction
from mor.models.actuators import electric_drive
from rt_runtime import AdaptiveMpc, Horizon, Identification, Mpc, _core
from rt_runtime.engine.step_times import StepTimes
from rt_runtime.engine.worst_case import Adversary, BlockWorstCase
from rt_runtime.files import replacing

TICKS = 10_000_000
SESSION = 400.0
SLICE = 50_000
STORE = Path("runs") / "worst_case.json"
TIMES = ("least", "once", "cpu")
PERIOD_US = 1e6 / 1024


def controllers() -> dict[str, Mpc | AdaptiveMpc]:
    """MPC of one drive and of six coupled ones with limits on inputs and moves, and adaptive MPC of a motor."""
    dt = 1e-6 * PERIOD_US
    drive = electric_drive()
    limits = {"bounds": (-0.25, 0.25), "rate_limit": 0.1, "rate_unit": "per second", "preview": True}
    one = Mpc(prediction_model(drive, dt), Horizon(10, 64.073, 0.002, **limits))  # type: ignore[arg-type]
    plant = drive.discretise(dt)
    eye = np.eye(6)
    coupling = 0.9 * eye + 0.1
    six = StateSpaceMatrices(
        np.kron(eye, plant.A), np.kron(eye, plant.B), coupling @ np.kron(eye, plant.C), np.zeros((6, 6)), dt
    )
    many = Mpc(prediction_model(six, dt), Horizon(10, 64.073, 0.05, **limits))  # type: ignore[arg-type]
    motor, rate = TransferFunction([5657.0], [1.0, 78.62, 5657.0]), 2500.0
    a, b = arx_parameters(motor, 1 / rate)
    horizon = Horizon(10, 5.204, 0.096, bounds=(-200.0, 200.0), rate_limit=20.0, rate_unit="per interval")
    adaptive = AdaptiveMpc(Identification(a, b), horizon, dt=1 / rate, noise_variance=1e-3)
    return {"mpc_1x10": one, "mpc_6x10": many, "adaptive_mpc_1x10": adaptive}


def run(quick: bool) -> dict[str, object]:
    blocks = controllers()
    seen = {name: Adversary() for name in blocks} if quick else _load(blocks)
    wanted, end = (100_000 if quick else TICKS), time.monotonic() + SESSION
    results: dict[str, object] = {"ticks_wanted": wanted}
    for place, (name, block) in enumerate(blocks.items()):
        adversary = seen[name]
        while adversary.ticks < wanted and time.monotonic() < end:
            adversary.attack(block, min(SLICE, wanted - adversary.ticks), seed=place, repeats=3)
            if not quick:
                _save(seen)
        found = BlockWorstCase.of(name, block, adversary)
        results[f"{name}_ticks"] = adversary.ticks
        if adversary.ticks < wanted:
            results[f"{name}_unfinished"] = f"run hmor bench worst_case again: it carries on from {STORE}"
        results |= {
            f"{name}_{key}": value for key, value in vars(found).items() if key not in ("name", "percentiles_us")
        }
        results |= {f"{name}_p{percent}_us": us for percent, us in found.percentiles_us.items()}
        results[f"{name}_worst_part_of_period"] = (found.worst_us or 0.0) / (1e6 * block.period)
    return results


def _core_hash() -> str:
    return hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()[:16]


def _load(blocks: dict[str, Any]) -> dict[str, Adversary]:
    """Return what earlier sessions with this very core have measured."""
    kept = json.loads(STORE.read_text()) if STORE.is_file() else {}
    if kept.get("core") != _core_hash():
        kept = {}
    found = {}
    for name in blocks:
        entry = kept.get("blocks", {}).get(name)
        found[name] = Adversary()
        if entry is not None:
            times = (StepTimes.from_plain(entry[key]) for key in TIMES)
            found[name] = Adversary(*times, entry["iterations"], entry["fallbacks"], entry["ticks"])
    return found


def _save(seen: dict[str, Adversary]) -> None:
    STORE.parent.mkdir(exist_ok=True)
    plain = {
        name: {key: getattr(a, key).plain() for key in TIMES}
        | {"iterations": a.iterations, "fallbacks": a.fallbacks, "ticks": a.ticks}
        for name, a in seen.items()
    }
    with replacing(STORE) as temporary:
        temporary.write_text(json.dumps({"core": _core_hash(), "blocks": plain}))
