"""Adaptive controllers learn nothing while the monitor holds a test or takes it to rest."""

from __future__ import annotations

import numpy as np
import pytest

from rt_runtime import (
    AdaptedGain,
    AdaptiveCompensation,
    AdaptiveMpc,
    Command,
    Horizon,
    Identification,
    Loop,
    ModelBasedCompensator,
    ModelReferenceAdaptation,
    PythonBlock,
    Rule,
    StartStop,
    StateSpace,
    Tripped,
    previous,
    protect,
)

DT = 1e-3
FAULT_AT = 1.0


def compensator():
    adaptation = ModelReferenceAdaptation(rate=20.0, largest=1.0)
    return ModelBasedCompensator([[1.0, 0, 0, 1.0, 0, 0]], dt=DT, adaptation=adaptation), [1]


def first_order():
    return AdaptiveCompensation(AdaptedGain(1.0, 5.0, 0.5, 2.0), AdaptedGain(0.0, 5.0, -1.0, 1.0), dt=DT), [1, 2]


def predictive():
    identification = Identification([-0.95], [0.05], drift=1e-6, noise_variance=1e-4)
    return AdaptiveMpc(identification, Horizon(10, 1.0, 0.1, bounds=(-3, 3)), dt=DT), [3, 4]


def run(make, action: str, **manners: object):
    """A lag whose gain jumps together with the signal that breaks a rule; the learnt numbers of the controller."""
    block, learnt = make()
    loop = Loop(1 / DT)
    for name in ("target", "gone", "measured", "wanted", *(f"c_{i}" for i in range(1, block.n_out))):
        loop.signal(name)
    source = PythonBlock(
        lambda t, u: np.array([np.sin(10 * t), float(FAULT_AT <= t < FAULT_AT + 0.3)]), n_in=0, n_out=2
    )
    loop.add("source", source, outputs=["target", "gone"])
    loop.signal("sent")
    loop.add("lag", StateSpace([[-30.0]], [[30.0]], [[1.3]], dt=DT), inputs=[previous("sent")], outputs=["measured"])
    outputs = ["wanted", *(f"c_{i}" for i in range(1, block.n_out))]
    loop.add("control", block, inputs=["target", "measured"], outputs=outputs)
    settings = StartStop(
        **({"soft_start": 0.0, "trip": 0.5, "soft_stop": 0.5, "hold_limit": 5.0, "release": 0.05} | manners)
    )
    rules = [Rule("gone", "gone", upper=0.5, action=action)]
    protect(loop, [Command("wanted", "command", -5, 5, 100.0)], rules, manners=settings)
    loop.add("drive", StateSpace(np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), [[1.0]], dt=DT),
             inputs=["command"], outputs=["sent"])  # fmt: skip
    try:
        record = loop.run(2.0)
    except Tripped as trip:
        record = trip.record
    return record, np.column_stack([record[f"c_{i}"] for i in learnt])


@pytest.mark.parametrize("make", [compensator, first_order, predictive])
@pytest.mark.parametrize("action", ["trip", "ramp", "hold"])
def test_nothing_is_learnt_while_a_test_is_held_or_ended(make, action: str) -> None:
    record, learnt = run(make, action)
    state = record["monitor.state"]
    before = np.flatnonzero(state == 3)
    before = before[before < FAULT_AT / DT]
    assert np.ptp(learnt[before[len(before) // 2 :]], axis=0).max() > 0  # it does learn
    ending = np.flatnonzero(state > 3)
    if action == "hold":
        ending = ending[ending < 1.5 / DT]  # the end of the test ramps, too
    assert len(ending) > 100
    frozen = learnt[ending[2] : ending[-1] + 1]
    assert np.array_equal(frozen, np.broadcast_to(frozen[0], frozen.shape))
    if action == "hold":  # and goes on after it
        after = learnt[ending[-1] + 50 : round(1.9 / DT)]
        assert np.ptp(after, axis=0).max() > 0


@pytest.mark.parametrize("make", [compensator, first_order, predictive])
def test_nothing_is_learnt_from_commands_that_the_plant_did_not_get(make) -> None:
    """Faded in, limited or blended after a hold: the step behind such a tick learns nothing."""
    record, learnt = run(make, "hold", soft_start=0.2)
    strayed = record["command"] != record["wanted"]
    assert strayed[1:150].all() and not strayed[300:900].any() and np.ptp(learnt[300:900], axis=0).max() > 0
    moved = np.any(np.diff(learnt, axis=0) != 0, axis=1)
    assert not np.any(moved[1:] & strayed[1:-1] & strayed[:-2])  # the compensator shows what it learnt a tick later


@pytest.mark.parametrize("make", [compensator, first_order, predictive])
def test_the_step_after_a_hold_that_stopped_the_clock_learns_nothing(make) -> None:
    record, learnt = run(make, "hold", hold_clock="stop")
    held = np.flatnonzero(record["monitor.state"] == 4)
    held = held[held < 1.5 / DT]
    assert len(held) > 100
    assert np.array_equal(learnt[held[-1] + 1], learnt[held[0]])
