"""The loop that the fault tests run beside a rig: a sine as wanted displacement, a monitor, every rule with its limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rt_runtime import Command, Drive, Loop, Pacing, Record, Rule, Sensor, StartStop, Table, _core, protect
from rt_runtime.rig.actuators import names_of
from tests.loop.rig_process import RATE

STROKE = Command("wanted", "command", -0.02, 0.02, rate=0.5)
MANNERS = StartStop(soft_start=0.1, soft_stop=0.2, trip=0.1, hold_limit=2.0, release=0.02)
PACING = Pacing(lock_memory=False)
BUSY = "the tests run on a busy machine"
STALE = 400  # ticks; far beyond what a busy host does to a healthy rig


def rig_loop(actuator: _core.Actuator, rules: list[Rule] | None = None, manners: StartStop = MANNERS) -> Loop:
    loop = Loop(RATE)
    for name, unit in (("x", "m"), ("force", "N"), ("rig.age", ""), ("rig.status", ""), ("rig.sent", "")):
        loop.signal(name, unit=unit)
    loop.signal("wanted", unit="m")
    loop.add("rig.read", Sensor(actuator), outputs=names_of("rig", ["x", "force"]))
    t = np.linspace(0.0, 5.0, 2001)
    loop.add("target", Table(t, 0.01 * np.sin(2.0 * np.pi * 2.0 * t)), outputs=["wanted"])
    always = [
        Rule.within("force", "force", 5e3),
        Rule("rig_error", "rig.status", lower=0.0),
        Rule("send_error", "rig.sent", lower=0.0, ticks=3),
        Rule("stall", "host.elapsed", upper=STALE / RATE, reason=BUSY),
    ]
    if not any(rule.name == "stale" for rule in rules or []):
        always.append(Rule("stale", "rig.age", upper=STALE, reason=BUSY))
    protect(loop, [replace(STROKE, measured="x")], [*always, *(rules or [])], manners=manners)
    loop.add("rig.write", Drive(actuator), inputs=["command"], outputs=["rig.sent"])
    return loop


def assert_within_limits(record: Record) -> None:
    """The command inside its limits at every tick, and every tick recorded."""
    command = record["command"]
    assert len(record) == record.ticks
    assert (command >= STROKE.lower).all() and (command <= STROKE.upper).all()
    assert np.abs(np.diff(command, prepend=STROKE.rest)).max() <= STROKE.rate / RATE * (1 + 1e-9)
