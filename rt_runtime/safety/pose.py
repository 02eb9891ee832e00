"""Guard a pose instead of single actuators: a stop takes all limbs to rest together, whichever rule was broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rt_runtime.engine.signal_names import expand
from rt_runtime.safety.monitor import Command, Monitor, Rule, StartStop, protect

if TYPE_CHECKING:
    from rt_runtime.engine.loop import Loop

LARGEST_RESIDUAL = 1e-5
LEAST_PIVOT = 1e-3
LEAST_MARGIN = 0.05


def pose_rules(
    readings: str,
    targets: str,
    *,
    prefix: str = "",
    fastest: float = 1.0,
    stuck_ticks: int = 50,
    grace: int = 2,
) -> list[Rule]:
    """Return the rules on one device: residual, pivot and margin of its kinematics, sensors that jump or stick.

    Rules of several devices go to one monitor: one device trips all.

    Parameters
    ----------
    readings, targets
        Vector signals ("reading[6]") of the sensors and of the strokes they should follow.
    prefix
        Of the signals residual, pivot and margin, and of the names of the rules, for example "box2.".
    fastest
        Largest speed of a reading in m/s; more is a jump.
    stuck_ticks
        Ticks in which a reading may stay exactly the same although its target moves.
    grace
        Ticks at the start without these rules.
    """
    rules = [
        Rule(f"{prefix}residual", f"{prefix}residual", upper=LARGEST_RESIDUAL, grace=grace),
        Rule(f"{prefix}pivot", f"{prefix}pivot", lower=LEAST_PIVOT, grace=grace),
        Rule(f"{prefix}margin", f"{prefix}margin", lower=LEAST_MARGIN, grace=grace),
    ]
    for reading, target in zip(expand(readings), expand(targets), strict=True):
        rules.append(Rule(f"{reading}_jump", reading, -fastest, fastest, quantity="rate", grace=grace))
        rules.append(Rule.stuck(f"{reading}_stuck", reading, target, stuck_ticks))
    return rules


def guard_pose(
    loop: Loop,
    target: str,
    guarded: str,
    rules: Sequence[Rule],
    *,
    limits: Sequence[float],
    speeds: Sequence[float],
    manners: StartStop | None = None,
) -> Monitor:
    """Put the monitor between a target pose and the pose that is sent on: stops and trips ramp the pose.

    The six coordinates share one way to rest, so that the specimen is never twisted between limbs.

    Parameters
    ----------
    loop
        The loop, with the blocks up to the target in it.
    target, guarded
        Vector signals; the monitor declares and writes the second.
    rules
        Of all devices.
    limits, speeds
        Largest coordinate and largest speed of each of them, in m and rad (per s).
    manners
        How the test begins and ends.
    """
    pairs = zip(expand(target), expand(guarded), limits, speeds, strict=True)
    commands = [Command(wanted, name, -limit, limit, speed) for wanted, name, limit, speed in pairs]
    return protect(loop, commands, rules, manners=manners)
