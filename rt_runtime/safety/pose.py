"""Guard a pose instead of single actuators: a stop takes all limbs to rest together, whichever rule was broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from rt_runtime.checks import finite_array, positive
from rt_runtime.engine.signal_names import expand
from rt_runtime.kinematics.maps import InverseKinematics
from rt_runtime.kinematics.platform import WORST_CONDITION, Platform
from rt_runtime.safety.monitor import Command, Monitor, Rule, StartStop, protect

if TYPE_CHECKING:
    from rt_runtime.engine.loop import Loop

LARGEST_RESIDUAL = 1e-5
LEAST_PIVOT = 1e-3
LEAST_MARGIN = 0.05
AXIAL_TICKS = 5


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


def axial_rule(displacement: str, *, stiffness: float, largest: float, prefix: str = "") -> Rule:
    """Return the rule on the axial force of a specimen that is too stiff for its device: |displacement| EA/L.

    The device moves across the axis; what it is off along the axis, times the axial stiffness, is a force that the load
    cells of the other directions do not show.

    Parameters
    ----------
    displacement
        Signal of the measured pose along the axis, in m.
    stiffness
        EA/L of the specimen in N/m.
    largest
        Axial force the device can carry, in N; broken when it is exceeded for 5 ticks in a row.
    prefix
        Of the name of the rule, for example "box2.".
    """
    of = "axial_rule"
    most = positive(largest, "largest", of) / positive(stiffness, "stiffness", of)
    return Rule(f"{prefix}axial_force", displacement, -most, most, ticks=AXIAL_TICKS)


def pose_problems(platform: Platform, limits: Sequence[float]) -> list[str]:
    """Say why a device must not be guarded by these limits: poses of the box that it cannot reach or hold.

    Looks at the corners of the box and at the middles between them: limbs are shortest without motion to their side.

    Parameters
    ----------
    platform
        The device, its strokes those of the actuators.
    limits
        Largest coordinate of the pose in each direction, in m and rad.
    """
    most = finite_array(limits, "limits", "guard_pose", (6,))
    inverse = InverseKinematics(platform)
    poses = [most * signs for signs in product((-1.0, 0.0, 1.0), repeat=6)]
    found = []
    reached = [inverse.step(0.0, pose) for pose in poses]
    for i, name in enumerate(platform.limbs):
        lower, upper = platform.stroke[i]
        least, largest = min(r[i] for r in reached), max(r[i] for r in reached)
        if least < lower or largest > upper:
            found.append(
                f"Limb '{name}' must reach every pose within the limits, but needs strokes of {1e3 * least:.1f} to "
                f"{1e3 * largest:.1f} mm and has {1e3 * lower:.1f} to {1e3 * upper:.1f} mm; lower the limits."
            )
    worst = max(platform.condition(pose) for pose in poses)
    if not worst <= WORST_CONDITION:
        found.append(
            f"Poses within the limits must not be singular, but the condition number of the Jacobian reaches "
            f"{worst:.3g} (at most {WORST_CONDITION:g}); lower the limits of the pose."
        )
    return found


@dataclass(frozen=True)
class GuardedPose:
    """The pose of one device and where it may go.

    Parameters
    ----------
    target, guarded
        Vector signals ("target[6]"); the monitor declares and writes the second.
    platform
        The device that is to take the pose.
    limits, speeds
        Largest coordinate and largest speed of each of them, in m and rad (per s).
    """

    target: str
    guarded: str
    platform: Platform
    limits: Sequence[float]
    speeds: Sequence[float]


def guard_pose(
    loop: Loop, poses: GuardedPose | Sequence[GuardedPose], rules: Sequence[Rule], *, manners: StartStop | None = None
) -> Monitor:
    """Put one monitor between target poses and the poses that are sent on: stops and trips ramp the poses.

    The coordinates of all devices share one way to rest, so that no specimen is twisted between limbs, and a rule of
    one device stops all. The loop refuses to run when the limits allow a pose that its platform cannot reach or that is
    singular.

    Parameters
    ----------
    loop
        The loop, with the blocks up to the targets in it.
    poses
        One device or several.
    rules
        Of all devices.
    manners
        How the test begins and ends.
    """
    commands = []
    for pose in [poses] if isinstance(poses, GuardedPose) else poses:
        limits, speeds = (
            finite_array(values, name, "guard_pose", (6,)).tolist()
            for name, values in (("limits", pose.limits), ("speeds", pose.speeds))
        )
        loop.require(f"Limits of {pose.guarded}", partial(pose_problems, pose.platform, limits))
        pairs = zip(expand(pose.target), expand(pose.guarded), limits, speeds, strict=True)
        commands += [Command(wanted, name, -limit, limit, speed) for wanted, name, limit, speed in pairs]
    return protect(loop, commands, rules, manners=manners)
