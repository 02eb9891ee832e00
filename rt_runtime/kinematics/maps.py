"""Kinematics of a platform as blocks; what they compute stands in core/kinematics/*.hpp."""

from __future__ import annotations

from rt_runtime import _core
from rt_runtime.checks import positive, whole
from rt_runtime.errors import ConfigError
from rt_runtime.kinematics.platform import Platform


def _checked(platform: Platform, of: str) -> Platform:
    if not isinstance(platform, Platform):
        raise ConfigError(f"platform of {of} must be a Platform, got {platform!r}.")
    return platform


class InverseKinematics(_core.InverseKinematics):
    """Pose to strokes. Inputs pose[6]; outputs stroke[6] and margin.

    The margin is the smallest distance of a stroke from its limits over half the way between them: 1 in the middle, 0
    at a limit, negative beyond.

    Parameters
    ----------
    platform
        The platform the limbs belong to.
    """

    def __init__(self, platform: Platform) -> None:
        super().__init__(_checked(platform, "InverseKinematics"))


class ForwardKinematics(_core.ForwardKinematics):
    """Strokes to pose by Newton steps from the pose of the last tick.

    Inputs stroke[6]; outputs pose[6], residual, pivot. residual is the largest stroke error of the pose given, in m;
    pivot the smallest over the largest pivot of the Jacobian (0: singular). A pose that cannot be found is held, and
    residual or pivot tell it: rules on both belong to every test.

    Parameters
    ----------
    platform
        The platform the limbs belong to.
    steps
        Newton steps a tick; 2 give 1e-12 m at 1 kHz.
    reach, turn
        Largest translation in m and rotation in rad a pose may have.
    """

    def __init__(self, platform: Platform, *, steps: int = 2, reach: float = 0.15, turn: float = 1.5) -> None:
        of = "ForwardKinematics"
        if whole(steps, "steps", of, 1) > 20:
            raise ConfigError(f"steps of {of} must be at most 20, got {steps}; Newton's method needs 5 at most.")
        super().__init__(_checked(platform, of), steps, positive(reach, "reach", of), positive(turn, "turn", of), 1e-3)


class ForceTransform(_core.ForceTransform):
    """Forces of the limbs to force and moment on the platform, [F; M] = J(pose)' f. Inputs force[6], pose[6].

    M belongs to the angles of the pose (virtual work F.dv + M.dth = f.dstroke). With `inverse` the first six inputs are
    [F; M] and the outputs are the forces of the limbs, as load cells see them.

    Parameters
    ----------
    platform
        The platform the limbs belong to.
    inverse
        From [F; M] to forces of the limbs.
    """

    def __init__(self, platform: Platform, *, inverse: bool = False) -> None:
        super().__init__(_checked(platform, "ForceTransform"), bool(inverse))
