"""Large linear structures in a loop, and the curved bridge under two loading boxes.

Settings of the bridge were chosen on El Centro with plants of seed 11 (1 % off; the case "quiet" on the identified ones
and 0.1 % off); Kobe (at 60 %, within the strokes) and the plants of seed 2026 only judge.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.bench_multi_axial import EL_CENTRO, KOBE, SEED
from hmor.studies.base import Options, ground_motion
from hmor.studies.multi_axial import curved_bridge
from hmor.studies.multi_axial.loading_box import NOISE
from hmor.studies.structural import railway_bridge
from mor import lhs
from mor.dynamics.reduced_structure import full_response, small_response
from mor.models.multi_axial.curved_bridge import INTERFACE
from mor.models.multi_axial.curved_bridge import curved_bridge as bridge
from mor.models.multi_axial.loading_box import platform
from mor.models.slab import slab_part
from rt_runtime import Tripped


def large(cells: int) -> dict[str, Any]:
    """Reduce the slab to 0.1 % up to 100 Hz, and judge it at frequencies it was not chosen on."""
    part = slab_part(cells)
    start = time.perf_counter()
    small = part.reduced_to(1e-3, (0.0, 100.0))
    taken = time.perf_counter() - start
    block = small.block(dt=1e-3)
    rng = np.random.default_rng(SEED)
    mean_ns = block.time_steps(rng.normal(size=(5000, 2)), 5)[0].mean()
    assert small.reduction is not None
    f = rng.uniform(0.0, 100.0, 30)
    full = np.array([full_response(part.structure, x) for x in f])
    size = np.maximum(np.abs(small.reduction.response).max(axis=0), np.abs(full).max(axis=0))
    other = np.abs(full - small_response(small.reduction.system, f)).max(axis=0) / size
    name = f"slab, {part.structure.n} freedoms"
    return {
        f"{name}: one call (s)": taken,
        f"{name}: states": small.reduction.states,
        f"{name}: error to 100 Hz told (%)": 100 * small.error,
        f"{name}: error at 30 other frequencies (%)": 100 * float(other.max()),
        f"{name}: tick (us)": 1e-3 * mean_ns,
    }


def two_boxes(plants: int) -> dict[str, Any]:
    """Frequencies, tick, tracking and response of the curved bridge."""
    found: dict[str, Any] = {
        "bridge: frequencies (Hz)": ", ".join(f"{f:.4f}" for f in bridge().modes(9).frequencies),
        "bridge: coordinates": curved_bridge.deck(0.02).T.shape[1],  # type: ignore[union-attr]
    }
    if EL_CENTRO.exists():
        found["bridge: worst history error of the reduction (%)"] = 100 * history_error()
    motion = ground_motion(Options(), scale=1.0)
    loop = curved_bridge.build(curved_bridge.CASES["state"], motion, {}, Options())
    loop.record(["d_1"], every=1000)
    loop.run(0.1)
    times = []
    for _ in range(5):
        start = time.process_time()
        loop.run(5.0)
        times.append((time.process_time() - start) / 5000)
    found["bridge: tick with both virtual boxes, 12 actuators (us)"] = 1e6 * min(times)
    if not (EL_CENTRO.exists() and KOBE.exists()):
        return found
    for label, record, settings in (
        ("El Centro", EL_CENTRO, {}),
        ("El Centro, no noise", EL_CENTRO, {"noise": 0.0}),
        ("Kobe", KOBE, {"scale": 0.6}),
        ("El Centro, quiet", EL_CENTRO, {"case": "quiet"}),
        ("Kobe, quiet", KOBE, {"case": "quiet", "scale": 0.6}),
    ):
        found[f"bridge, {label}: tracking, translations, response, worst (%)"] = _row({}, record, settings, 0)
    found |= noise_floor()
    design = lhs(curved_bridge.SPACE, 10, seed=SEED)
    for case, off in (("state", 1.0), ("quiet", 0.1)):
        for i in range(plants):
            plant = {name: 1 + off * (value - 1) for name, value in design.parameters(i).items()}
            words = f"bridge, El Centro, {case}, plant {i + 1} of {off:g} % off: tracking, translations, response (%)"
            found[words] = _row(plant, EL_CENTRO, {"case": case}, 1 + i)
    return found


def noise_floor() -> dict[str, Any]:
    """Compare the noise of one reading of each coordinate, and the motion it causes, with the motion itself (rms)."""
    found: dict[str, Any] = {}
    runs = {}
    motion = ground_motion(Options(record=EL_CENTRO), scale=1.0)
    for case, noise in (("state", 0.0), ("state", NOISE), ("quiet", 0.0), ("quiet", NOISE)):
        options = Options(settings={"noise": noise})
        runs[case, noise] = curved_bridge.build(curved_bridge.CASES[case], motion, {}, options).run(motion.duration)
    at = curved_bridge.DIRECTIONS
    for i, prefix in curved_bridge.BOXES.items():
        inverse = np.linalg.inv(platform(i, "pots").jacobian())
        size = np.sqrt(np.mean(runs["state", 0.0][f"{prefix}target[6]"] ** 2, axis=0))[at]
        reading = NOISE * np.linalg.norm(inverse, axis=1)[at]
        found[f"bridge, box {i}: noise of a reading of {', '.join(INTERFACE)} over its rms (%)"] = _shares(
            reading, size
        )
        for case in ("state", "quiet"):
            both = [
                runs[case, noise][f"{prefix}{name}[6]"][:, at] for noise in (NOISE, 0.0) for name in ("pose", "target")
            ]
            moved = (both[0] - both[1]) - (both[2] - both[3])
            words = f"bridge, box {i}, {case}: motion by noise over rms (%)"
            found[words] = _shares(np.sqrt(np.mean(moved**2, axis=0)), size)
    return found


def _shares(part: Any, whole: Any) -> str:
    return ", ".join(f"{100 * a / b:.2f}" for a, b in zip(part, whole, strict=True))


def _row(parameters: dict[str, float], record: Any, settings: dict[str, Any], seed: int) -> str:
    case = settings.get("case", "state")
    options = Options(seed=seed, record=record, settings={"case": case, **settings})
    try:
        m = curved_bridge.run(parameters, options).metrics
    except Tripped as trip:
        return f"unstable at {trip.record.time[-1]:.1f} s"
    moved = max(m[f"{case}_box{i}_{d}"] for i in (1, 2) for d in ("ux", "uz"))
    return f"{m[f'{case}_tracking_worst']:.2f}, {moved:.2f}, {m[f'{case}_response_worst']:.2f}"


def history_error() -> float:
    """Worst NRMSE of the ten interface histories of the reduced deck under El Centro and the forces of the piers."""
    motion = ground_motion(Options(record=EL_CENTRO), scale=1.0).resampled(1000.0)
    d = curved_bridge.complete(0.02, motion, motion.duration)
    n = min(len(d), len(motion.values))
    ground = np.outer(motion.values[:n], curved_bridge.SCALES)
    u = np.hstack([ground, -d[:n] @ curved_bridge.piers()])
    return float(curved_bridge.deck(0.02).history_error(u, 1e-3).max())


def train(plants: int) -> dict[str, Any]:
    """Cross the railway bridge at all speeds; tracking and response on speeds and actuators nothing was chosen on."""
    start = time.perf_counter()
    m = railway_bridge.TEST.simulate().metrics
    found: dict[str, Any] = {"railway: all speeds (s)": time.perf_counter() - start}
    for name in ("bare", "off", "on"):
        found[f"railway, {name}: 169 km/h (mm, m/s2)"] = f"{m[f'{name}_169_mm']:.1f}, {m[f'{name}_169_m_s2']:.2f}"
    words = f"{m['tracking_worst']:.2f}, {m['response_worst']:.2f}"
    found["railway: tracking, response, worst of 12 speeds (%)"] = words
    design = lhs(railway_bridge.SPACE, 10, seed=SEED)
    rows = []
    for i in range(plants):
        options = Options(seed=1 + i, settings={"speed": 173.0})
        r = railway_bridge.run(design.parameters(i), options).metrics
        rows.append((r["tracking_worst"], r["response_worst"]))
    words = ", ".join(f"{value:.2f}" for value in np.max(rows, axis=0))
    found[f"railway, 173 km/h: tracking, response, worst of {plants} actuators 1 % off (%)"] = words
    return found


def run(quick: bool) -> dict[str, Any]:
    """Measure everything; `quick` takes a smaller slab and fewer plants."""
    return large(20 if quick else 58) | two_boxes(2 if quick else 10) | train(2 if quick else 10)
