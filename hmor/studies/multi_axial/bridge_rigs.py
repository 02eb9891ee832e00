"""The curved bridge against the clock: each loading box is a rig of its own over UDP, one monitor stands before both.

`hmor run curved_bridge_test` starts both rigs; [run.actuators] of the study names them. The loop is that of the virtual
test (`curved_bridge`): readings and load cells come from the rigs, commands of the controllers go there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from hmor.rigs.catalogue import PhysicalSide
from hmor.studies.base import Options, ground_motion
from hmor.studies.multi_axial.curved_bridge import (
    BOXES,
    CASES,
    POSE_LIMITS,
    add_box,
    add_control,
    add_deck,
    box_rules,
    controllers,
    require,
    shaking,
)
from hmor.studies.multi_axial.loading_box import NOISE, add_measured, declare
from mor.models.multi_axial.loading_box import platform
from rt_runtime import Gain, Loop, Rule
from rt_runtime.safety.pose import pose_problems

CASE = CASES["state"]


def box1(rate: float) -> PhysicalSide:
    """The first loading box with its pier: six commands, six readings of potentiometers, six load cells."""
    return _box(1, rate)


def box2(rate: float) -> PhysicalSide:
    """The second loading box with its pier."""
    return _box(2, rate)


def quiet_box1(rate: float) -> PhysicalSide:
    """The first box with potentiometers without noise."""
    return _box(1, rate, noise=0.0)


def quiet_box2(rate: float) -> PhysicalSide:
    """The second box with potentiometers without noise."""
    return _box(2, rate, noise=0.0)


def _box(i: int, rate: float, *, noise: float = NOISE) -> PhysicalSide:
    loop = Loop(rate)
    names = {name: [f"{name}_{k}" for k in range(1, 7)] for name in ("command", "reading", "cell")}
    for name in names["command"]:
        loop.constant(name, 0.0, unit="m")
    declare(loop, beside=False, command=False)
    add_box(loop, i, {}, noise=noise, seed=1000 * i)
    return PhysicalSide(loop, tuple(names["command"]), (*names["reading"], *names["cell"]))


def bridge_side(loop: Loop, bundles: Mapping[str, Any], settings: Mapping[str, Any]) -> list[Rule]:
    """Numerical side up to the targets of both boxes; settings: `scale` of the record, `fastest` reading in m/s."""
    ground = ground_motion(Options(), scale=float(settings.get("scale", 1.0)))
    loop.signal("ground[2]", unit="m/s2")
    loop.add("ground", shaking(ground), outputs=["ground[2]"])
    for i, prefix in BOXES.items():
        declare(loop, prefix, box=False)
        loop.signal(f"{prefix}command[6]", unit="m")
        add_measured(loop, box=i, prefix=prefix, timed=False)
        loop.require(f"Limits of box {i}", partial(pose_problems, platform(i), POSE_LIMITS))
    add_deck(loop, CASE.damping, faded=True)
    require(loop, CASE, ground, controllers(CASE.control, CASE.damping, {}), {}, guarded=True)
    return box_rules(float(settings.get("fastest", 1.0)))


def bridge_controllers(loop: Loop, settings: Mapping[str, Any]) -> None:
    """Behind the monitor: twelve controllers from the guarded poses to the commands of both boxes."""
    loop.add("state", Gain(1.0), inputs=["monitor.state"], outputs=["state"])
    add_control(loop, CASE, controllers(CASE.control, CASE.damping, {}), wanted="guarded")
