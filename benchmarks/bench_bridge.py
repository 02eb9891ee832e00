"""Large linear structures in a loop, and the curved bridge under two loading boxes.

Settings of the bridge were chosen on El Centro with plants of seed 11; Kobe (at 60 %, within the strokes) and the
plants of seed 2026 only judge.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.bench_multi_axial import EL_CENTRO, KOBE, SEED
from hmor.studies.base import Options, ground_motion
from hmor.studies.multi_axial import curved_bridge
from mor import lhs
from mor.dynamics.reduced_structure import full_response, small_response
from mor.models.multi_axial.curved_bridge import curved_bridge as bridge
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
    ):
        found[f"bridge, {label}: tracking, translations, response, worst (%)"] = _row({}, record, settings, 0)
    design = lhs(curved_bridge.SPACE, 10, seed=SEED)
    rows = [_row(design.parameters(i), EL_CENTRO, {}, 1 + i) for i in range(plants)]
    for i, row in enumerate(rows):
        found[f"bridge, El Centro, plant {i + 1} of 1 % off: tracking, translations, response (%)"] = row
    return found


def _row(parameters: dict[str, float], record: Any, settings: dict[str, Any], seed: int) -> str:
    options = Options(seed=seed, record=record, settings={"case": "state", **settings})
    try:
        m = curved_bridge.run(parameters, options).metrics
    except Tripped as trip:
        return f"unstable at {trip.record.time[-1]:.1f} s"
    moved = max(m[f"state_box{i}_{d}"] for i in (1, 2) for d in ("ux", "uz"))
    return f"{m['state_tracking_worst']:.2f}, {moved:.2f}, {m['state_response_worst']:.2f}"


def run(quick: bool) -> dict[str, Any]:
    """Measure everything; `quick` takes a smaller slab and fewer plants."""
    return large(20 if quick else 58) | two_boxes(2 if quick else 10)
