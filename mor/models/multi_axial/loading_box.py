"""Two load and boundary condition boxes of the University of Illinois (scale 1/5): six actuators move one platform.

A. Najafi and B. F. Spencer, NSEL Report 051 (2021): Jacobians at rest (6.1), (6.2), strokes of table 5.1, actuators of
tables 6.3 and 6.4. Axes: X and Z horizontal, Y along the specimen.
"""

from __future__ import annotations

from mor.dynamics.transfer import TransferFunction
from rt_runtime import Platform
from rt_runtime.checks import one_of
from rt_runtime.errors import ConfigError

LIMBS = ("X1", "X2", "Z", "Y1", "Y2", "Y3")
STROKE = {name: (-0.0530, 0.0530) if name[0] == "X" else (-0.0254, 0.0254) for name in LIMBS}
"""Strokes in m."""

LOAD_CELL = 13.3e3
"""Largest force of a limb in N."""

FLOW, PISTON = 6.3e-4, 7.5e-4
"""Oil supply in m3/s and area of a piston in m2."""

# Rows X1 X2 Z Y1 Y2 Y3, lever arms in inch per rad. The printed labels of actuators and potentiometers seem exchanged
# for one box each: actuators hang above the specimen and push down, n_y = -1.
_ROWS = {
    ("actuators", 1): (
        (-0.94, -0.32, 0.11, -0.82, 2.18, -0.60), (-0.92, -0.32, 0.19, 0.44, -1.64, -0.59),
        (-0.01, -0.24, 0.97, -1.99, -0.66, -0.18), (-0.11, -0.99, 0.05, -0.06, 0.09, 1.64),
        (-0.02, -0.98, 0.20, -2.53, -0.61, -3.31), (-0.02, -0.99, 0.11, 2.19, -0.43, -3.35),
    ),
    ("pots", 1): (
        (-1.00, 0.02, -0.01, 0.06, 3.85, 0.50), (-1.00, 0.02, 0.00, -0.06, -3.85, 0.50),
        (0.00, 0.07, 1.00, 1.85, 1.69, -0.13), (-0.02, 1.00, 0.01, 0.00, 0.04, -3.54),
        (-0.05, 1.00, 0.01, 3.38, 0.10, 5.01), (-0.04, 1.00, -0.04, -2.84, 0.07, 4.83),
    ),
    ("actuators", 2): (
        (0.94, -0.34, 0.03, -0.75, -2.05, 0.82), (0.94, -0.34, 0.04, 0.65, 1.93, 0.82),
        (0.00, -0.31, 0.95, -2.46, 0.67, 0.21), (-0.01, -1.00, 0.05, -0.08, -0.09, -1.86),
        (0.00, -1.00, 0.04, -2.18, 0.15, 3.33), (0.00, -1.00, 0.04, 2.05, 0.14, 3.33),
    ),
    ("pots", 2): (
        (1.00, 0.06, 0.04, 0.27, -3.73, -1.15), (0.99, 0.10, 0.06, -0.20, 2.57, -0.99),
        (-0.01, 0.10, 1.00, 1.32, 2.45, -0.23), (-0.01, 1.00, -0.02, 0.15, 0.06, 3.90),
        (-0.03, 1.00, -0.02, 2.85, -0.01, -5.04), (-0.02, 1.00, -0.02, -2.90, -0.18, -5.20),
    ),
}  # fmt: skip

# alpha_0, then b_0 .. b_5 of alpha_0 / (s^6 + b_5 s^5 + ... + b_0)
_ACTUATORS = {
    1: (
        (5.403e12, 6.264e12, 1.536e11, 2.175e9, 1.631e7, 9.685e4, 279.2),
        (4.340e12, 5.220e12, 1.344e11, 2.057e9, 1.562e7, 9.612e4, 272.5),
        (4.291e12, 6.244e12, 1.340e11, 1.851e9, 1.346e7, 8.694e4, 242.7),
        (2.004e12, 4.522e12, 1.599e11, 2.498e9, 2.020e7, 1.120e5, 332.2),
        (1.191e13, 1.222e13, 2.597e11, 3.330e9, 2.405e7, 1.261e5, 352.0),
        (1.036e13, 1.123e13, 2.343e11, 2.972e9, 2.090e7, 1.151e5, 310.1),
    ),
    2: (
        (4.375e12, 4.992e12, 1.328e11, 2.041e9, 1.579e7, 9.690e4, 278.2),
        (2.710e12, 3.543e12, 9.736e10, 1.659e9, 1.330e7, 8.847e4, 253.4),
        (8.595e12, 1.060e13, 2.125e11, 2.688e9, 1.815e7, 1.050e5, 273.1),
        (2.194e12, 5.201e12, 1.623e11, 2.461e9, 1.898e7, 1.098e5, 303.1),
        (1.149e13, 1.374e13, 2.779e11, 3.468e9, 2.341e7, 1.233e5, 321.5),
        (1.153e13, 1.406e13, 2.755e11, 3.359e9, 2.269e7, 1.207e5, 316.5),
    ),
}


def platform(box: int, what: str = "actuators", *, limb: float = 0.254) -> Platform:
    """Return the platform of box 1 or 2 with its "actuators" or its external potentiometers ("pots") as limbs.

    `limb` in m, the length between the joints, is not published; at rest it does not matter.
    """
    _check(box)
    rows = _ROWS[one_of(what, "what", "platform", ("actuators", "pots")), box]
    # the wires of the potentiometers are as long as the platform can go
    stroke = STROKE if what == "actuators" else dict.fromkeys(LIMBS, (-0.15, 0.15))
    return Platform.from_jacobian(dict(zip(LIMBS, rows, strict=True)), stroke, lever_unit="inch", limb=limb)


def actuators(box: int) -> dict[str, TransferFunction]:
    """Return the six actuators of a box with a specimen attached, stroke over command, 20 to 35 ms late."""
    _check(box)
    return {
        name: TransferFunction([alpha], [1.0, *reversed(b)])
        for name, (alpha, *b) in zip(LIMBS, _ACTUATORS[box], strict=True)
    }


def _check(box: int) -> None:
    if box not in _ACTUATORS:
        raise ConfigError(f"box of a loading box must be 1 or 2, got {box!r}.")
