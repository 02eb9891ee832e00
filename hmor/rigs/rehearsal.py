"""Rehearse the test of a study without a clock, against a rig in this process that is honest or lies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hmor.rigs.catalogue import find_rig
from hmor.rigs.lies import Truth, lying_rig
from hmor.study.file import load_study
from hmor.study.run import prepare
from rt_runtime import Monitor, Record, Tripped

RUNNING = 3


@dataclass(frozen=True)
class Rehearsal:
    """What is rehearsed.

    Parameters
    ----------
    study
        File of the study; its actuator is replaced.
    rig
        As for `hmor rig`.
    measured
        True position and force among the signals of the rig.
    noise
        Standard deviations of the two sensors.
    duration
        In s.
    """

    study: Path
    rig: str
    measured: tuple[str, str]
    noise: tuple[float, float]
    duration: float


def run(
    test: Rehearsal, lie: str | None, *, seed: int, onset: float = 0.0, largest: tuple[float, float] = (1.0, 1.0)
) -> tuple[Record, bool, Truth, Monitor]:
    """Run the test; return its record, whether it tripped, what the specimen truly did, and the monitor."""
    study = load_study(test.study)
    section = study.need("run", study.run)
    side = replace(find_rig(test.rig, section.rate, study.folder, section.settings), measured=test.measured)
    rig, truth = lying_rig(side, lie, noise=test.noise, seed=seed, onset=onset, largest=largest)
    prepared = prepare(section, study.folder, study.study.seed, actuators={"rig": rig})
    monitor = prepared.loop.blocks["monitor"]
    assert isinstance(monitor, Monitor)
    try:
        return prepared.loop.run(test.duration), False, truth, monitor
    except Tripped as trip:
        return trip.record, True, truth, monitor


def healthy(test: Rehearsal, seed: int) -> str | None:
    """Run the test with an honest rig; return why it did not end by itself, None if it did."""
    record, _, _, _ = run(test, None, seed=seed)
    return None if record.ended == "finished" else record.ended


def rehearse(test: Rehearsal, lie: str, *, seed: int) -> dict[str, Any]:
    """Run the test twice, honest and with a lie that begins between 40 and 60 % of it; say what came of it.

    `specimen_error` is the largest difference of the true positions until the lie was noticed (to the end if it was
    not), over the largest honest position.
    """
    onset = float(np.random.default_rng(seed).uniform(0.4, 0.6)) * test.duration
    _, _, honest, _ = run(test, None, seed=seed)
    largest = max(map(abs, honest.x)), max(map(abs, honest.f))
    record, tripped, truth, monitor = run(test, lie, seed=seed, onset=onset, largest=largest)
    ended = np.flatnonzero(record["monitor.state"] > RUNNING)
    first = int(ended[0]) if len(ended) else len(record)
    noticed = first < round(test.duration * record.rate)
    n = min(first, len(honest.x), len(truth.x))
    error = np.abs(np.array(truth.x[:n]) - honest.x[:n]).max() / largest[0]
    return {
        "lie": lie,
        "onset_s": onset,
        "noticed_after_ms": 1e3 * (first / record.rate - onset) if noticed else None,
        "rule": monitor.rules[monitor.tripped_by].name if noticed and monitor.tripped_by >= 0 else "",
        "specimen_error": float(error),
        "peak_m": largest[0],
        "largest_rate_m_per_s": float(np.abs(np.diff(record["command"])).max() * record.rate),
        "ended": record.ended,
        "exit_code": 3 if tripped else 0,
    }
