"""Rules, actions, states and the way of the command to rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from rt_runtime import Command, ConfigError, Delay, Gain, Loop, PythonBlock, Rule, StartStop, Table, Tripped, protect
from rt_runtime.safety.monitor import STATES, Monitor

RATE = 1000.0
SOFT = StartStop(soft_start=0.1, soft_stop=0.2, trip=0.1, hold_limit=0.3, release=0.01)
STROKE = Command("wanted", "command", -0.05, 0.05, rate=1.0)


def build(
    wanted: NDArray[np.float64],
    force: NDArray[np.float64] | None = None,
    rules: list[Rule] | None = None,
    manners: StartStop = SOFT,
    command: Command = STROKE,
) -> Loop:
    loop = Loop(RATE)
    loop.signal("wanted", unit="m")
    loop.signal("force", unit="N")
    t = np.arange(len(wanted)) / RATE
    columns = np.stack([wanted, np.zeros(len(wanted)) if force is None else force], axis=1)
    loop.add("table", Table(t, columns), outputs=["wanted", "force"])
    protect(loop, [command], rules or [], manners=manners)
    return loop


def states(record: object) -> list[str]:
    codes = record["monitor.state"].astype(int)  # type: ignore[index]
    changes = np.flatnonzero(np.diff(codes, prepend=-1))
    return [STATES[codes[i]] for i in changes]


def sine(n: int = 1000, amplitude: float = 0.02) -> NDArray[np.float64]:
    return amplitude * np.sin(2.0 * np.pi * 2.0 * np.arange(n) / RATE)


def test_soft_start_then_the_wanted_command_itself_then_soft_stop() -> None:
    record = build(sine()).run(1.0)
    r = np.arange(1, 101) / 100.0
    assert record["command"][:99] == pytest.approx((r * r * (3 - 2 * r) * record["wanted"][:100])[:99], abs=1e-15)
    assert (record["command"][100:1000] == record["wanted"][100:1000]).all()  # the same bits
    assert states(record) == ["running", "ramping", "idle"]
    assert len(record) == 1200 and record["command"][-1] == 0.0
    assert record.ended == "finished"


def test_arming_keeps_the_command_at_rest() -> None:
    record = build(sine(), manners=StartStop(arm=0.05, soft_start=0.0, soft_stop=0.1)).run(1.0)
    assert states(record) == ["armed", "running", "ramping", "idle"]
    assert (record["command"][:50] == 0.0).all()
    assert record["command"][50:1050] == pytest.approx(sine(), abs=1e-15)  # the excitation begins with the test
    assert len(record) == 1150


def test_a_trip_says_why_and_ends_at_rest() -> None:
    force = np.zeros(1000)
    force[300:] = 12400.0
    with pytest.raises(Tripped) as caught:
        build(sine(), force, [Rule.within("force", "force", 10000.0)]).run(1.0)
    assert str(caught.value) == "Tripped at tick 300 (0.3 s): force 12400 N exceeds its limit 10000 N (rule 'force')."
    record = caught.value.record
    assert record.ended == str(caught.value)
    assert states(record) == ["running", "tripped"]
    assert len(record) == record.ticks == 400 and record["command"][-1] == 0.0
    assert record["monitor.rule"][-1] == 0.0


def test_a_trip_can_hold_the_command_where_it_is() -> None:
    force = np.zeros(1000)
    force[300:] = 12400.0
    manners = StartStop(soft_start=0.0, on_trip="hold", settle=0.05)
    with pytest.raises(Tripped) as caught:
        build(sine(), force, [Rule.within("force", "force", 10000.0)], manners).run(1.0)
    record = caught.value.record
    assert (record["command"][300:] == record["command"][299]).all() and len(record) == 350


def test_a_trip_is_never_left_even_when_the_cause_is_gone() -> None:
    force = np.zeros(1000)
    force[300] = 12400.0
    with pytest.raises(Tripped) as caught:
        build(sine(), force, [Rule.within("force", "force", 10000.0)]).run(1.0)
    assert (caught.value.record["monitor.state"][300:] == STATES.index("tripped")).all()


@pytest.mark.parametrize("brake", [0.0, 0.05])
def test_a_hold_freezes_the_command_and_comes_back_without_a_jump(brake: float) -> None:
    force = np.zeros(1000)
    force[300:400] = 5.0
    manners = replace(SOFT, brake=brake)
    record = build(sine(), force, [Rule("soft", "force", upper=1.0, action="hold")], manners).run(1.0)
    assert states(record) == ["running", "holding", "running", "ramping", "idle"]
    stands = 300 + round(brake * RATE)
    assert (record["command"][stands:409] == record["command"][stands - 1]).all()
    assert np.abs(np.diff(record["command"])).max() <= 1.0 / RATE * (1 + 1e-9)
    assert (record["command"][520:1000] == record["wanted"][520:1000]).all()


def test_a_hold_that_lasts_becomes_a_soft_stop() -> None:
    force = np.zeros(1000)
    force[300:] = 5.0
    record = build(sine(), force, [Rule("soft", "force", upper=1.0, action="hold")]).run(1.0)
    assert states(record) == ["running", "holding", "ramping", "idle"]
    assert record.ended == "Ramped down at tick 600 (0.6 s): force 5 N exceeds its limit 1 N (rule 'soft')."
    assert record["command"][-1] == 0.0


def test_a_soft_stop_that_lasts_beyond_the_planned_end_is_told() -> None:
    force = np.zeros(1000)
    force[950:] = 5.0
    record = build(sine(), force, [Rule("soft", "force", upper=1.0, action="ramp")]).run(1.0)
    assert record.ticks > 1000 and record["command"][-1] == 0.0
    assert record.ended == "Ramped down at tick 950 (0.95 s): force 5 N exceeds its limit 1 N (rule 'soft')."
    warned = build(sine(), force, [Rule("soft", "force", upper=1.0, action="warn")]).run(1.0)
    assert warned.ended == "finished"


def test_ramp_ends_softly_and_a_trip_on_the_way_is_worse() -> None:
    force = np.zeros(1000)
    force[300:] = 5.0
    force[350:] = 50.0
    rules = [Rule("soft", "force", upper=1.0, action="ramp"), Rule("hard", "force", upper=10.0)]
    with pytest.raises(Tripped, match=r"Tripped at tick 350 .* \(rule 'hard'\)") as caught:
        build(sine(), force, rules).run(1.0)
    assert states(caught.value.record) == ["running", "ramping", "tripped"]


def test_a_warning_is_kept_as_an_event_and_changes_nothing() -> None:
    force = np.zeros(1000)
    force[300:310] = force[500:510] = 5.0
    loop = build(sine(), force, [Rule("soft", "force", upper=1.0, action="warn")])
    record = loop.run(1.0)
    assert states(record) == ["running", "ramping", "idle"]
    monitor = loop.blocks["monitor"]
    assert isinstance(monitor, Monitor)
    events = monitor.events(RATE)
    assert [(e["tick"], e["rule"], e["action"]) for e in events[:2]] == [(300, "soft", "warn"), (500, "soft", "warn")]
    assert events[0]["value"] == 5.0 and events[0]["time"] == 0.3


def test_a_rule_can_ask_for_several_ticks_and_for_grace() -> None:
    force = np.zeros(1000)
    force[0:100] = 5.0
    force[300:304] = 5.0
    force[600:605] = 5.0
    rule = Rule("soft", "force", upper=1.0, ticks=5, grace=150)
    with pytest.raises(Tripped, match="at tick 604"):
        build(sine(), force, [rule]).run(1.0)


def test_rate_difference_and_lower_limit() -> None:
    wanted, force = np.zeros(1000), np.zeros(1000)
    force[400:] = -2.0
    rate = Rule("jerk", "force", -1000.0, 1000.0, quantity="rate")
    with pytest.raises(Tripped, match=r"rate of force -2000 N/s is below its limit -1000 N/s \(rule 'jerk'\)"):
        build(wanted, force, [rate]).run(1.0)
    with pytest.raises(Tripped, match=r"at tick 400 .*: force - wanted -2 N is below its limit -1 N"):
        build(wanted, force, [Rule.tracking("track", "force", "wanted", 1.0)]).run(1.0)


def test_a_stuck_sensor_trips_only_while_the_command_moves() -> None:
    force = np.sin(np.arange(1000.0))
    force[500:] = 0.3
    stuck = Rule.stuck("stuck", "force", "wanted", 20)
    with pytest.raises(Tripped, match=r"at tick 520 .*: time without a change of force 20 ticks exceeds its limit 19"):
        build(sine(), force, [stuck]).run(1.0)
    assert build(np.zeros(1000), force, [stuck]).run(1.0).ended == "finished"


def test_the_wanted_command_is_held_at_its_limits_and_its_action_done() -> None:
    record = build(sine(amplitude=0.2)).run(1.0)
    assert np.abs(record["command"]).max() == 0.05
    assert record.ended == "finished"
    strict = Command("wanted", "command", -0.05, 0.05, rate=0.1, action="trip", rate_action="ramp")
    with pytest.raises(Tripped, match=r"wanted 0\.05\d* m exceeds its limit 0\.05 m \(rule 'command_range'\)"):
        build(sine(amplitude=0.2), command=Command("wanted", "command", -0.05, 0.05, rate=9.0, action="trip")).run(1.0)
    assert "Ramped down at tick 1 " in build(sine(), command=strict).run(1.0).ended


def test_a_wanted_command_that_is_not_followed_breaks_no_rule() -> None:
    wanted = np.concatenate([sine(), np.linspace(0.0, 9.0, 400)])  # a controller that winds up during the soft stop
    strict = Command("wanted", "command", -0.05, 0.05, rate=1.0, action="trip", rate_action="trip")
    record = build(wanted, command=strict, manners=StartStop(soft_start=0.1, soft_stop=0.3)).run(1.0)
    assert record["wanted"][-1] > 0.05 and record.ended == "finished"


def test_a_value_that_is_not_finite_trips_and_the_command_still_comes_to_rest() -> None:
    def sensor(t: float, u: NDArray[np.float64]) -> list[float]:
        return [float("nan") if 0.2995 < t < 0.3005 else 0.0]

    loop = Loop(RATE)
    loop.signal("wanted", unit="m")
    loop.signal("measured", unit="m")
    loop.add("sensor", PythonBlock(sensor, n_in=0, n_out=1), outputs=["measured"])
    loop.add("table", Table(np.arange(1000) / RATE, sine()), outputs=["wanted"])
    protect(loop, [STROKE], manners=SOFT)
    with pytest.raises(Tripped, match=r"at tick 300 \(0\.3 s\): signal 'measured' of block 'sensor' is nan") as caught:
        loop.run(1.0)
    record = caught.value.record
    assert np.isnan(record["measured"][300]) and np.isfinite(record["command"]).all()
    assert len(record) == 400 and record["command"][-1] == 0.0


def test_a_nan_breaks_every_rule_on_it() -> None:
    monitor = Monitor([STROKE], ["force"], [Rule("low", "force", lower=0.0)], SOFT, dt=1e-3)
    out = monitor.step(0.0, np.array([0.0, 0.0, 1e-3, *[0.0] * 4, np.nan]))
    assert STATES[int(out[1])] == "tripped" and out[2] == 0.0 and np.isfinite(out[0])
    assert "force is nan (rule 'low')" in monitor.sentence(RATE, {})


def test_a_block_that_faults_trips_through_the_monitor() -> None:
    def broken(t: float, u: NDArray[np.float64]) -> list[float]:
        if t > 0.2:
            raise ValueError("no more")
        return [0.01]

    loop = Loop(RATE)
    loop.signal("wanted", unit="m")
    loop.add("controller", PythonBlock(broken, n_in=0, n_out=1), outputs=["wanted"])
    protect(loop, [STROKE], manners=SOFT)
    with pytest.raises(Tripped, match="block 'controller' could not step: ValueError: no more") as caught:
        loop.run(1.0)
    assert caught.value.record["command"][-1] == 0.0


def test_two_runs_of_one_loop_are_alike() -> None:
    force = np.zeros(1000)
    force[300:400] = 5.0
    loop = build(sine(), force, [Rule("soft", "force", upper=1.0, action="hold")])
    assert loop.run(1.0).values.tobytes() == loop.run(1.0).values.tobytes()


def test_a_rule_on_a_later_signal_sees_last_ticks_value() -> None:
    loop = Loop(RATE)
    for name in ("wanted", "late"):
        loop.signal(name)
    loop.add("table", Table([0.0, 1.0], [0.0, 0.04]), outputs=["wanted"])
    protect(loop, [STROKE], [Rule("late", "late", upper=0.02)], manners=SOFT)
    loop.add("behind", Delay(0.0), inputs=["command"], outputs=["late"])
    with pytest.raises(Tripped, match=r"late 0\.02\d* exceeds"):
        loop.run(1.0)


def test_all_problems_are_named_at_once() -> None:
    loop = Loop(RATE)
    loop.signal("wanted")
    loop.add("zero", Gain(1.0, offset=[0.0]), inputs=["wanted"], outputs=["wanted"])
    rules = [Rule.within("a", "nothing", 1.0), Rule.within("a", "wanted", 1.0)]
    with pytest.raises(ConfigError) as caught:
        protect(loop, [STROKE], rules)
    assert "Rule 'a' must have a name of its own" in str(caught.value)
    assert "Signal 'nothing' of rule 'a' is unknown; declare it with loop.signal first." in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rule("r", "x", 2.0, 1.0), "lower of rule 'r' must not exceed upper, got 2 and 1"),
        (lambda: Rule("r", "x"), "lower or upper of rule 'r' must be finite, got neither"),
        (lambda: Rule("r", "x", upper=1.0, action="scream"), "action of rule 'r' must be one of 'warn', 'hold'"),
        (lambda: Rule("r", "x", upper=1.0, quantity="difference"), "other of rule 'r' must name a signal"),
        (lambda: Rule("r", "x", upper=1.0, quantity="mood"), "quantity of rule 'r' must be one of 'value'"),
        (lambda: Command("w", "c", -1.0, 1.0, 1.0, rest=2.0), "rest of command 'c' must lie between lower and upper"),
        (lambda: Command("w", "c", -1.0, 1.0, 0.0), "rate of command 'c' must be a positive number, got 0.0"),
        (lambda: StartStop(soft_stop=-1.0), "soft_stop of StartStop must lie between 0 and 3600 s, got -1.0"),
        (lambda: StartStop(brake=np.nan), "brake of StartStop must lie between 0 and 3600 s, got nan"),
        (lambda: StartStop(on_trip="run"), "on_trip of StartStop must be one of 'ramp', 'hold', got 'run'"),
        (lambda: Monitor([], [], [], SOFT, dt=1e-3), "commands of Monitor must name at least one command, got none"),
    ],
)
def test_arguments_are_checked(make: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()  # type: ignore[operator]
