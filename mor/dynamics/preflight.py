"""Check a target history against a device before the test: strokes, singular poses, forces of the limbs, oil flow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rt_runtime import ForceTransform, InverseKinematics, Platform
from rt_runtime.checks import Array, finite_array, positive
from rt_runtime.errors import ConfigError
from rt_runtime.kinematics.platform import WORST_CONDITION

STROKE_SHARE = 0.9
POSES = 200
"""How many poses of a target, those farthest from rest, are looked at for singularity."""


@dataclass(frozen=True, eq=False)
class Preflight:
    """What a target asks of a device, and the problems in words.

    strokes (n, 6) in m; stroke_share: largest stroke over its limit; condition: largest of the Jacobian; force: largest
    of a limb in N; flow: largest in m3/s (both 0 when not asked for). `loop.require` takes the problems.
    """

    strokes: Array
    stroke_share: float
    condition: float
    force: float
    flow: float
    problems: tuple[str, ...]

    def check(self) -> Preflight:
        """Return the result, or refuse a target that the device cannot follow."""
        if self.problems:
            raise ConfigError.from_problems("Target of the test", list(self.problems))
        return self


def preflight(
    platform: Platform,
    target: ArrayLike,
    rate: float,
    *,
    stiffness: ArrayLike | None = None,
    reaction: ArrayLike | None = None,
    force_limit: float = float("inf"),
    piston_area: float = 0.0,
    flow_limit: float = float("inf"),
) -> Preflight:
    """Compute strokes, forces and flow of a target and compare them with the limits of the device.

    Parameters
    ----------
    platform
        With its strokes; 90 % of them may be used.
    target
        Poses (n, 6) in m and rad.
    rate
        Poses per second.
    stiffness
        (6, 6) of the specimen, for the forces of the limbs f = J^-T K w.
    reaction
        Or force and moment of the specimen (n, 6) along the target, in N and N m.
    force_limit
        Of one limb, in N.
    piston_area, flow_limit
        In m2, and the supply in m3/s; the flow is sum A |v|.
    """
    of = "preflight"
    poses = finite_array(target, "target", of, (None, 6))
    inverse = InverseKinematics(platform)
    strokes = np.array([inverse.step(0.0, pose)[:6] for pose in poses])
    share = np.maximum(strokes / platform.stroke[:, 1], strokes / platform.stroke[:, 0])
    problems = [
        f"Stroke of limb '{name}' must stay within {100 * STROKE_SHARE:g} % of its limit, got {100 * most:.0f} %; "
        "scale the motion down."
        for name, most in zip(platform.limbs, share.max(axis=0), strict=True)
        if most > STROKE_SHARE
    ]
    far = np.argsort(np.abs(strokes).max(axis=1))[-POSES:]
    condition = max((platform.condition(poses[i]) for i in far), default=0.0)
    if not condition <= WORST_CONDITION:
        problems.append(
            f"Poses of the target must not be singular: the condition number of the Jacobian must be at most "
            f"{WORST_CONDITION:g}, got {condition:.3g}; scale the motion down."
        )
    force = 0.0
    if stiffness is not None:
        reaction = poses @ finite_array(stiffness, "stiffness", of, (6, 6)).T
    if reaction is not None:
        cells = ForceTransform(platform, inverse=True)
        pulls = finite_array(reaction, "reaction", of, poses.shape)
        forces = np.array([cells.step(0.0, np.r_[pull, pose]) for pull, pose in zip(pulls, poses, strict=True)])
        force = float(np.abs(forces).max())
        if force > force_limit:
            limb = platform.limbs[int(np.abs(forces).max(axis=0).argmax())]
            problems.append(f"Force of limb '{limb}' must be at most {force_limit:g} N, got {force:.4g} N.")
    speed = np.abs(np.diff(strokes, axis=0)) * positive(rate, "rate", of)
    flow = float(piston_area * speed.sum(axis=1).max()) if len(speed) else 0.0
    if flow > flow_limit:
        problems.append(f"Flow of the target must be at most {flow_limit:g} m3/s, got {flow:.3g} m3/s; scale it down.")
    return Preflight(strokes, float(share.max()), condition, force, flow, tuple(problems))
