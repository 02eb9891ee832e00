"""ROS2 in plain numpy, written from the formulas: (I - g h J) k1 = f(x), (I - g h J) k2 = f(x + h k1) - 2 k1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rt_runtime.checks import Array

GAMMA = 1.0 + 1.0 / np.sqrt(2.0)


def ros2(
    f: Callable[[float, Array, Array], Array],
    jacobian: Callable[[Array], Array],
    x: Array,
    u0: Array,
    u1: Array,
    t: float,
    dt: float,
    substeps: int,
) -> Array:
    """Advance x over dt; the input runs linearly from u0 to u1."""
    h = dt / substeps
    for s in range(substeps):
        start, end = (u0 + (s + w) / substeps * (u1 - u0) for w in (0.0, 1.0))
        matrix = np.eye(len(x)) - GAMMA * h * jacobian(x)
        k1 = np.linalg.solve(matrix, f(t + s * h, x, start))
        k2 = np.linalg.solve(matrix, f(t + s * h + h, x + h * k1, end) - 2 * k1)
        x = x + h / 2 * (3 * k1 + k2)
    return x
