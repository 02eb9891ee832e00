"""What the default rules and detectors notice, how soon, and what they cost.

Lies of sensors are rehearsed in process (hmor.rigs.lies) on three tests; lies of the network and faults of a rig run
against a rig over UDP and the clock; faults of processes, hosts and operators in processes of their own. Limits of the
detectors were chosen with seeds 1000 to 1199 of the built-in studies and seeds 0 to 5 of the lies; everything here is
judged with other seeds, which draw noise, prototype, ground motion and the time at which a lie begins.
"""

from __future__ import annotations

import math
import re
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hmor.rigs.catalogue import find_rig
from hmor.rigs.lies import LIES
from hmor.rigs.rehearsal import RUNNING, Rehearsal, healthy, rehearse
from hmor.study.file import load_study
from hmor.study.run import prepare
from mor.models.benchmark_frame import NOISE
from rt_runtime import Faults, InProcessRig, Monitor, Rig, Tripped, UdpRig
from rt_runtime.safety import watches as safety_watches

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks import safety_faults, safety_healthy
from tests.realtime import test_allocations as counting

ROOT = Path(__file__).resolve().parents[1]
SEEDS = tuple(range(200, 210))
FIRST_HEALTHY = 6000
NETWORK = {
    "duplicated datagrams": Faults(repeat=0.5),
    "two rigs answering": Faults(twin=0.5),
}
FAULTS = {
    "answers lost": Faults(loss=0.6),
    "answers ever later": Faults(creep=0.5),
    "position nan": Faults(nan_at=700),
    "sensors frozen": Faults(stuck_at=1500),
    "forged answers": Faults(forge=0.5),
    "replayed answers": Faults(replay=0.5),
}


def tutorial(folder: Path) -> Path:
    """Write the study of docs/tutorials/rig_over_udp.md and its side into a folder."""
    text = (ROOT / "docs/tutorials/rig_over_udp.md").read_text(encoding="utf-8")
    for body in re.findall(r"```(?:python|toml)\n(.*?)```", text, re.DOTALL):
        if named := re.match(r"# (\S+\.(?:py|toml))\n", body):
            (folder / named[1]).write_text(body, encoding="utf-8")
    (folder / "rig.key").write_text("00" * 32, encoding="utf-8")
    (folder / "rig.key").chmod(0o600)
    return folder / "rig_test.toml"


def rehearsals(folder: Path) -> dict[str, Rehearsal]:
    """Return the three tests."""
    examples, sensors = ROOT / "hmor/studies", (5e-6, 0.5)
    bench = Rehearsal(
        examples / "benchmark_test.toml", "benchmark_specimen", ("true_position", "true_force"), tuple(NOISE), 20.0
    )
    return {
        "spring": Rehearsal(examples / "spring_test.toml", "spring", ("position", "force"), sensors, 5.0),
        "tutorial": Rehearsal(tutorial(folder), "spring", ("position", "force"), sensors, 6.0),
        "benchmark": bench,
    }


def over_udp(test: Rehearsal, faults: Faults, peak: float = math.inf) -> dict[str, Any]:
    """Run a test on the clock against a rig over UDP that has these faults from the start.

    The specimen had moved by `specimen_error` of the healthy peak when the fault was noticed: no error is larger.
    """
    study = load_study(test.study)
    section = study.need("run", study.run)
    side = find_rig(test.rig, section.rate, study.folder, section.settings)
    key = bytes(range(32))
    rig = Rig(side.loop, side.commands, side.measured, key=key, faults=faults, lease=10.0)
    server = threading.Thread(target=rig.serve, kwargs={"seconds": 60.0, "sessions": 1})
    server.start()
    actuator = UdpRig(1, 2, port=rig.port, key=key, timeout=10.0, goodbye=False)
    prepared = prepare(section, study.folder, 0, actuators={"rig": actuator})
    monitor = prepared.loop.blocks["monitor"]
    assert isinstance(monitor, Monitor)
    try:
        record, tripped = prepared.loop.run(3.0, paced=True), False
    except Tripped as trip:
        record, tripped = trip.record, True
    finally:
        rig.stop()
        server.join()
    ended = np.flatnonzero(record["monitor.state"] > RUNNING)
    noticed = len(ended) > 0 and ended[0] < round(3.0 * record.rate)
    wall = np.maximum(record["host.elapsed"][1:], 1.0 / record.rate)
    moved = record["position"][: ended[0] + 1 if len(ended) else None]
    return {
        "specimen_error": float(np.nanmax(np.abs(moved - moved[0]))) / peak,
        "noticed_after_ms": 1e3 * float(ended[0]) / record.rate if noticed else None,
        "rule": monitor.rules[monitor.tripped_by].name if noticed and monitor.tripped_by >= 0 else "",
        "answers_rejected": record["rig.rejected"][-1],
        "largest_rate_m_per_s": float(np.abs(np.diff(record["command"]) / wall).max()),
        "ended": record.ended,
        "exit_code": 3 if tripped else 0,
    }


def tick_ns(test: Rehearsal, *, watched: bool, ticks: int) -> float:
    """CPU time of a tick of the guarded loop; without the default rules on the actuator and the detectors as before."""
    study = load_study(test.study)
    section = study.need("run", study.run)
    side = find_rig(test.rig, section.rate, study.folder, section.settings)
    rig = InProcessRig(side.loop, side.commands, side.measured)
    found = safety_watches.watched_actuators
    if not watched:
        safety_watches.watched_actuators = lambda loop: []  # type: ignore[assignment]
    try:
        loop = prepare(section, study.folder, 0, actuators={"rig": rig}).loop
    finally:
        safety_watches.watched_actuators = found
    core, _ = loop.build()
    core.start()
    times = []
    for _ in range(7):
        core.reset()
        start = time.process_time_ns()
        core.run(ticks)
        times.append(time.process_time_ns() - start)
    core.stop()
    return min(times) / ticks


def sensor_lies(tests: Mapping[str, Rehearsal], seed: int) -> list[dict[str, Any]]:
    """Return a row per lie of a sensor and test."""
    return [{"test": place} | rehearse(test, lie, seed=seed) for place, test in tests.items() for lie in LIES]


def network_lies(tests: Mapping[str, Rehearsal], sensors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row per lie of the network and test; peaks are those of the rows of the sensors."""
    peaks = {row["test"]: row["peak_m"] for row in sensors}
    return [
        {"test": place, "lie": lie} | over_udp(test, faults, peaks[place])
        for place, test in tests.items()
        for lie, faults in NETWORK.items()
    ]


def caught(row: Mapping[str, Any]) -> bool:
    """Tell whether a lie was noticed before the specimen was off by a fifth of its peak."""
    return row["noticed_after_ms"] is not None and float(row["specimen_error"]) < 0.2


def allocations() -> int:
    """Return how many allocations 10 000 ticks with all default rules and detectors make."""
    with tempfile.TemporaryDirectory() as name:
        return counting.run(counting.compiled(Path(name)), "core", program=counting.GUARDED)


def run(quick: bool) -> dict[str, object]:
    """Measure; `quick` with the spring test alone and few healthy runs."""
    with tempfile.TemporaryDirectory() as name:
        tests = rehearsals(Path(name))
        if quick:
            tests = {"spring": tests["spring"]}
        by_seed = {seed: sensor_lies(tests, seed) for seed in (SEEDS[:1] if quick else SEEDS)}
        of_network = network_lies(tests, by_seed[SEEDS[0]])
        faults = [{"test": "spring", "fault": name} | over_udp(tests["spring"], kind) for name, kind in FAULTS.items()]
        faults += safety_faults.rows(quick)
        runs = 3 if quick else 100
        alarms = {
            place: [why for seed in range(FIRST_HEALTHY, FIRST_HEALTHY + runs) if (why := healthy(test, seed))]
            for place, test in tests.items()
        }
        of_studies, not_judged = safety_healthy.false_alarms(1 if quick else runs, FIRST_HEALTHY)
        alarms |= of_studies
        ticks = 20_000 if quick else 200_000
        cost = {on: min(tick_ns(tests["spring"], watched=on, ticks=ticks) for _ in range(3)) for on in (False, True)}
    counts = [sum(map(caught, [*rows, *of_network])) for rows in by_seed.values()]
    return {
        "lies": len(by_seed[SEEDS[0]]) + len(of_network),
        "seeds": len(counts),
        "caught_least": min(counts),
        "caught_median": float(np.median(counts)),
        "missed": [
            (seed, row["test"], row["lie"], row["noticed_after_ms"], row["specimen_error"])
            for seed, rows in by_seed.items()
            for row in rows
            if not caught(row)
        ]
        + [("network", row["test"], row["lie"]) for row in of_network if not caught(row)],
        "healthy_runs_each": runs,
        "false_alarms": alarms,
        "not_judged": not_judged,
        "tick_before_ns": cost[False],
        "tick_with_default_rules_and_detectors_ns": cost[True],
        "added_ns": cost[True] - cost[False],
        "allocations_in_10000_ticks": allocations(),
        "table": [*by_seed[SEEDS[0]], *of_network, *faults],
    }
