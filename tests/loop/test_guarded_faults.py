"""Faults inside the loop: reduced models, overruns, an unstable test, a broken bundle. No rig process needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from export import write
from hmor.studies.base import Options
from hmor.studies.structural import delay_stability
from mor import ode
from rt_runtime import (
    BundleError,
    Command,
    Delay,
    Drive,
    Gain,
    Loop,
    Pacing,
    Record,
    Rule,
    Sensor,
    SimulatedActuator,
    StartStop,
    Table,
    Tripped,
    load_bundle,
    previous,
    protect,
    replay,
)
from rt_runtime.rig.actuators import names_of
from tests.contract.reduced_models import hysteresis
from tests.loop.rig_loop import MANNERS, STROKE, assert_within_limits
from tests.loop.rig_process import RATE
from tests.reference.exported_models import network
from tests.reference.stability import stability_warning

TRIPPED = 6


def rom_loop(folder: Path, speed: np.ndarray, rules: list[Rule] | None = None) -> Loop:
    """A reduced model in the feedback of a simulated actuator; the table gives its second input."""
    write(network("relu"), folder / "bundle")
    loop = Loop(RATE)
    for name in ("x", "rig.age", "rig.status", "rig.sent", "speed", "torque", "outside", "wanted", "target"):
        loop.signal(name)
    actuator = SimulatedActuator([1.0], [0.003, 1.0], dt=1 / RATE)
    loop.add("rig.read", Sensor(actuator), outputs=names_of("rig", ["x"]))
    t = np.arange(len(speed)) / RATE
    loop.add(
        "table", Table(t, np.stack([speed, 0.005 - 0.005 * np.cos(12.0 * t)], axis=1)), outputs=["speed", "target"]
    )
    rom = load_bundle(folder / "bundle").block(watch=True)
    loop.add("rom", rom, inputs=["x", "speed"], outputs=["torque", "outside"])
    loop.add("controller", Gain([[1.0, 1e-9]]), inputs=["target", "torque"], outputs=["wanted"])
    protect(loop, [STROKE], rules or [], manners=MANNERS)
    loop.add("rig.write", Drive(actuator), inputs=["command"], outputs=["rig.sent"])
    return loop


def tripped(loop: Loop, duration: float = 1.0) -> Record:
    with pytest.raises(Tripped) as caught:
        loop.run(duration)
    assert_within_limits(caught.value.record)
    assert caught.value.record["command"][-1] == STROKE.rest
    return caught.value.record


def test_a_reduced_model_that_gives_infinity_trips_in_that_tick(tmp_path: Path) -> None:
    speed = np.full(1000, 10.0)
    speed[300:] = 1e308
    record = tripped(rom_loop(tmp_path, speed))
    assert "at tick 300 (0.3 s): signal 'torque' of block 'rom' is " in record.ended
    assert record["monitor.state"][300] == TRIPPED and np.isfinite(record["command"]).all()


def test_an_input_outside_the_domain_of_a_reduced_model_has_its_action(tmp_path: Path) -> None:
    speed = np.linspace(10.0, 60.0, 1000)  # the domain ends at 49
    record = tripped(rom_loop(tmp_path, speed, [Rule("domain", "outside", upper=0.0)]))
    first = int(np.flatnonzero(speed > 49.0)[0])
    assert f"at tick {first} " in record.ended and "outside 1 exceeds its limit 0 (rule 'domain')" in record.ended


@pytest.mark.parametrize("outside_rule", ["clip", "tangent", "trip"])
def test_a_model_that_must_not_leave_its_domain_trips_the_loop(tmp_path: Path, outside_rule: str) -> None:
    """The domain of x ends at 1; what was declared at export happens, without a rule of the study."""
    write(hysteresis(outside_rule), tmp_path / "bundle")
    loop = Loop(RATE)
    for name in ("x", "v", "F", "wanted"):
        loop.signal(name)
    x = np.linspace(0.0, 1.5, 1000)
    loop.add("way", Table(np.arange(1000) / RATE, np.stack([x, np.zeros(1000)], axis=1)), outputs=["x", "v"])
    loop.add("spring", load_bundle(tmp_path / "bundle").block(), inputs=["x", "v"], outputs=["F"])
    loop.add("controller", Gain([[1e-4]]), inputs=["F"], outputs=["wanted"])
    monitor = protect(loop, [STROKE], manners=MANNERS)
    named = [rule.name for rule in monitor.rules if rule.name.endswith("_domain")]
    if outside_rule != "trip":
        assert named == [] and loop.run(0.9)["x"][-1] > 1.0
        return
    assert named == ["spring_x_domain", "spring_v_domain"]
    record = tripped(loop)
    assert f"at tick {int(np.flatnonzero(x > 1.0)[0])} " in record.ended and "spring_x_domain" in record.ended


def test_a_loop_with_a_reduced_model_replays_to_the_same_bits(tmp_path: Path) -> None:
    loop = rom_loop(tmp_path, np.full(1000, 10.0))
    record = loop.run(0.5)
    assert replay(loop, record).values.tobytes() == record.values.tobytes()


def test_a_corrupted_bundle_is_refused_before_anything_moves(tmp_path: Path) -> None:
    rom_loop(tmp_path, np.zeros(10))
    golden = tmp_path / "bundle" / "model.golden.npz"
    golden.write_bytes(golden.read_bytes()[:-10])
    with pytest.raises(BundleError, match=r"File 'model\.golden\.npz' was changed or cut off"):
        load_bundle(tmp_path / "bundle")


@pytest.mark.paced
def test_an_overrun_storm_trips_through_the_monitor_and_still_comes_to_rest() -> None:
    @ode(states={"x": "m", "v": "m/s"}, outputs={"x": "m"}, initial={"x": 0.01})
    def oscillator(t, x, u, p, dx, y):  # type: ignore[no-untyped-def]
        dx[0] = x[1]
        dx[1] = -100.0 * x[0]
        y[0] = x[0]

    loop = Loop(RATE)
    loop.signal("wanted", unit="m")
    loop.add("slow", oscillator.block(dt=1 / RATE, substeps=250_000), outputs=["wanted"])
    patient = Rule("stall", "host.elapsed", upper=60.0)
    protect(loop, [STROKE], [patient], manners=StartStop(soft_start=0.005, soft_stop=0.02, trip=0.02))
    pacing = Pacing(overrun="trip", grace_ticks=5, overruns_to_trip=3, priority=0, lock_memory=False)
    with pytest.raises(Tripped, match="missed too many wake-up times in a row") as caught:
        loop.run(1.0, paced=True, pacing=pacing)
    record = caught.value.record
    assert_within_limits(record)
    assert record["command"][-1] == 0.0
    first = int(np.flatnonzero(record["monitor.state"] == TRIPPED)[0])
    assert (
        6 <= first <= 8
    )  # five ticks of grace, three periods lost in one to three ticks, and the tick that hears of it
    assert (record["host.late"][first] >= 3.0) and record["host.asked"][first] == 2.0
    assert replay(loop, record).values.tobytes() == record.values.tobytes()


def test_overruns_can_have_a_milder_action() -> None:
    loop = Loop(RATE)
    loop.signal("wanted", unit="m")
    loop.add("target", Table([0.0, 1.0], [0.0, 0.01]), outputs=["wanted"])
    protect(loop, [STROKE], [Rule("late", "host.late", upper=5.0, action="hold")], manners=MANNERS)
    assert loop.run(0.2).ended == "finished"  # without a clock nothing is ever late


@pytest.mark.parametrize(("delay", "stable"), [(0.001, True), (0.0071, True), (0.009, False)])
def test_the_stability_warning_ends_an_unstable_test_long_before_displacements_are_large(
    delay: float, stable: bool
) -> None:
    part = delay_stability.whole_frame().minus(
        0, mass=delay_stability.MASS, damping=delay_stability.DAMPING, stiffness=delay_stability.STIFFNESS
    )
    loop, duration = delay_stability._loop(part, Options(), delay_stability.constant_delay(delay))
    loop.signal("wanted", unit="m")
    loop.add("target", Delay(0.0), inputs=["x1"], outputs=["wanted"])
    stroke = Command("wanted", "command", -0.2, 0.2, rate=10.0, action="trip")
    protect(loop, [stroke], [Rule("stability", "sw", upper=1.0)], manners=StartStop(soft_start=0.0, soft_stop=0.1))
    if stable:
        assert loop.run(duration).ended == "finished"
        return
    with pytest.raises(Tripped, match=r"sw 1\.\d* exceeds its limit 1 \(rule 'stability'\)") as caught:
        loop.run(duration)
    record = caught.value.record
    peak = np.abs(record["x1"]).max()
    assert record.time[-1] < duration and peak < 0.05
    x, v = (np.stack([record[f"{kind}{i}"] for i in (1, 2, 3)], axis=1) for kind in "xv")
    sw = stability_warning(x, v, record["force"][:, None], part.C, np.eye(1, 3), delay_stability.MARGIN)
    assert np.allclose(record["sw"], sw, rtol=1e-9, atol=1e-11)


def test_previous_is_needed_for_a_signal_of_the_drive() -> None:
    loop = Loop(RATE)
    for name in ("x", "rig.age", "rig.status", "rig.sent", "wanted"):
        loop.signal(name)
    actuator = SimulatedActuator(dt=1 / RATE)
    loop.add("rig.read", Sensor(actuator), outputs=names_of("rig", ["x"]))
    loop.add("controller", Gain([[0.0, 0.0]], offset=[0.01]), inputs=["x", previous("rig.sent")], outputs=["wanted"])
    protect(loop, [STROKE], [Rule("sent", "rig.sent", lower=0.0)], manners=MANNERS)
    loop.add("rig.write", Drive(actuator), inputs=["command"], outputs=["rig.sent"])
    assert loop.run(0.5).ended == "finished"
