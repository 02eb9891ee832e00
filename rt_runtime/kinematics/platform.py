"""The geometry of a platform with six limbs, checked before a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from rt_runtime import _core
from rt_runtime.checks import Array, finite_array, one_of, positive
from rt_runtime.errors import ConfigError

LEVER_UNITS = {"m": 1.0, "mm": 1e-3, "inch": 0.0254}
LONGEST_LEVER = 1.0
WORST_CONDITION = 100.0
LEVER = 0.1
"""Length in m by which rotations are scaled where poses are compared: condition number and pivots."""


class Platform(_core.Platform):
    """Six limbs between a fixed frame and a moving platform.

    stroke_i = |v + A b_i - a_i| - |b_i - a_i| for the pose [v, th] in m and rad, A = A_x(th_x) A_y(th_y) A_z(th_z).

    Parameters
    ----------
    fixed
        Joints a_i (6, 3) on the fixed side, in m.
    moving
        Joints b_i (6, 3) in the frame of the platform, in m; both frames coincide at rest.
    stroke
        {name: (lower, upper)} of the six limbs in m, in the order of the joints.
    """

    def __init__(self, fixed: ArrayLike, moving: ArrayLike, stroke: Mapping[str, tuple[float, float]]) -> None:
        of = "Platform"
        self.fixed = finite_array(fixed, "fixed", of, (6, 3))
        self.moving = finite_array(moving, "moving", of, (6, 3))
        if not isinstance(stroke, Mapping) or len(stroke) != 6:
            raise ConfigError(f"stroke of {of} must name six limbs, {{name: (lower, upper)}}, got {stroke!r}.")
        self.limbs = tuple(stroke)
        self.stroke = finite_array(list(stroke.values()), "stroke", of, (6, 2))
        length = np.linalg.norm(self.moving - self.fixed, axis=1)
        problems = []
        for name, (lower, upper), rest in zip(self.limbs, self.stroke, length, strict=True):
            if not lower < 0.0 < upper:
                problems.append(f"stroke of limb '{name}' must go to both sides of 0, got [{lower:g}, {upper:g}] m.")
            elif rest <= -lower:
                problems.append(
                    f"Limb '{name}' must be longer than its stroke, got {rest:g} m for a stroke of {lower:g} m; check "
                    "the units of the joints."
                )
        if problems:
            raise ConfigError.from_problems(of, problems)
        super().__init__(self.fixed.ravel(), self.moving.ravel(), self.stroke.ravel())
        condition = self.condition()
        if not condition <= WORST_CONDITION:
            raise ConfigError(
                f"Limbs of {of} must hold all six directions at rest: the condition number of its Jacobian (rotations "
                f"times {LEVER:g} m) must be at most {WORST_CONDITION:g}, got {condition:.3g}; limbs are parallel, "
                "meet in a line, or stand in another unit."
            )

    @classmethod
    def from_jacobian(
        cls,
        rows: Mapping[str, Sequence[float]],
        stroke: Mapping[str, tuple[float, float]],
        *,
        lever_unit: str,
        limb: float = 0.254,
    ) -> Platform:
        """Build a platform from its Jacobian at rest: directions are known, positions along the limbs are chosen.

        Row i = [n_i, m_i]: b_i = n_i x m_i is the point of the limb nearest to the origin, a_i = b_i - limb n_i.

        Parameters
        ----------
        rows
            {name of limb: [n_x, n_y, n_z, m_x, m_y, m_z]}, d stroke / d pose.
        stroke
            {name of limb: (lower, upper)} in m, the same names in the same order.
        lever_unit
            Unit of m_i per rad: "m", "mm" or "inch".
        limb
            Length between the joints of a limb in m.
        """
        of = "Platform.from_jacobian"
        if not isinstance(rows, Mapping) or not isinstance(stroke, Mapping) or list(rows) != list(stroke):
            raise ConfigError(
                f"rows and stroke of {of} must name the same limbs in the same order, got {_names(rows)} and "
                f"{_names(stroke)}."
            )
        unit = LEVER_UNITS[one_of(lever_unit, "lever_unit", of, tuple(LEVER_UNITS))]
        table = finite_array(list(rows.values()), "rows", of, (6, 6))
        size = np.linalg.norm(table[:, :3], axis=1)
        n = table[:, :3] / np.where(size > 0, size, 1.0)[:, None]
        lever = np.cross(n, table[:, 3:]) * unit
        problems = []
        for name, length, arm in zip(rows, size, np.linalg.norm(lever, axis=1), strict=True):
            if abs(length - 1.0) > 0.05:
                problems.append(f"Direction of limb '{name}' must be a unit vector, got one of length {length:.3g}.")
            if arm > LONGEST_LEVER:
                problems.append(
                    f"Lever arm of limb '{name}' must be at most {LONGEST_LEVER:g} m, got {arm:.3g} m with lever_unit "
                    f"'{lever_unit}'; the rows stand in another unit."
                )
        if problems:
            raise ConfigError.from_problems(of, problems)
        return cls(lever - positive(limb, "limb", of) * n, lever, stroke)

    def jacobian(self, pose: ArrayLike | None = None) -> Array:
        """Return d stroke / d pose (6, 6) at a pose, by default at rest."""
        at = np.zeros(6) if pose is None else finite_array(pose, "pose", "Platform.jacobian", (6,))
        return np.asarray(super().jacobian(at))

    def condition(self, pose: ArrayLike | None = None) -> float:
        """Return the condition number of the Jacobian with rotations times 0.1 m."""
        return float(np.linalg.cond(self.jacobian(pose) / np.r_[np.ones(3), np.full(3, LEVER)]))


def _names(given: object) -> str:
    return ", ".join(map(str, given)) if isinstance(given, Mapping) else repr(given)
