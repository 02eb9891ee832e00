"""Slow twins of the platform kinematics: rotation matrices and scipy's root finder."""

from __future__ import annotations

import numpy as np
from scipy.optimize import root
from scipy.spatial.transform import Rotation


def strokes(fixed, moving, pose):
    """|v + A b - a| - |b - a| with A = A_x A_y A_z (intrinsic XYZ)."""
    turned = Rotation.from_euler("XYZ", pose[3:]).apply(moving)
    return np.linalg.norm(pose[:3] + turned - fixed, axis=1) - np.linalg.norm(moving - fixed, axis=1)


def pose_of(fixed, moving, wanted):
    """The pose near rest with these strokes."""
    found = root(lambda w: strokes(fixed, moving, w) - wanted, np.zeros(6), tol=1e-14)
    assert found.success
    return found.x
