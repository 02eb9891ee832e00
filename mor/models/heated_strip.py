"""A heated aluminium strip between rotational springs: virtual twin of the thermo-mechanical test of a buckling plate.

The strip (specimen) has end rotations t1, t2, axial shortening u, and the amplitude a of its interior mode
(1 - cos 2 pi x / L) / 2, which starts at the imperfection a0. With N = EA e the axial force,

    e  = (u + s) / L + (2 t1^2 - t1 t2 + 2 t2^2) / 30 + pi^2 (a^2 - a0^2) / (4 L^2) + a (t1 - t2) / (2 L) - alpha dT
    r1 = EI/L (4 t1 + 2 t2) + N L ((4 t1 - t2) / 30 + a / (2 L))
    r2 = EI/L (4 t2 + 2 t1) + N L ((4 t2 - t1) / 30 - a / (2 L))
    c_a a' = -2 EI pi^4 / L^3 (a - a0) - N L (pi^2 a / (2 L^2) + (t1 - t2) / (2 L))      (quasi-static path following)
    dT = eta max(0, min(rate t, theta_max) - T_0),      deflection at mid-span (t1 - t2) L / 8 + a - a0

The frame around it is numerical:

    J t1'' = -r1 - K_1 t1 - c t1',   J t2'' = F + m_0 - r2 - K_2 t2 - c t2',   M_3 u'' = -N - K_3 u - C_3 u'

Load: half-sine pulse F of duration T / 2 from 0.1 s (the printed one rises to its peak and drops).
Imperfection, damping and noise are our choice, such that no run snaps to the other side; agreement with a laboratory
is plausible, not shown.
"""

from __future__ import annotations

from functools import cache
from math import pi, sin

from mor.compile.ode import OdeSystem, ode
from mor.data.ports import Parameter
from mor.hybrid.model import HybridModel
from mor.marginals import Normal, Uniform
from mor.sampling.space import ParameterSpace
from mor.substructures import OdeSubstructure
from rt_runtime.checks import Array

LENGTH, WIDTH, THICKNESS, YOUNG, EXPANSION = 0.47, 0.2, 0.002, 69.5e9, 23e-6
EI, EA = YOUNG * WIDTH * THICKNESS**3 / 12.0, YOUNG * WIDTH * THICKNESS
PULSE_START, HEATING_RATE, MODE_DAMPING = 0.1, 21.5, 500.0
DT, DURATION = 1e-3, 8.0

NOISE = {
    "T_0": Normal(30.0, 1.0, unit="C"),
    "eta": Normal(1.0, 0.01),
    "a0": Normal(3e-3, 5e-5, unit="m"),
    "slip": Normal(0.0, 2e-5, unit="m"),
    "m_0": Normal(0.0, 0.2, unit="Nm"),
    "deflection": Normal(0.0, 2e-5, unit="m"),
    "zero": Normal(0.0, 2e-5, unit="m"),
}
"""Latent noise of one run: room temperature, hot spot, imperfection, slip, zero moment, and the two readings."""

DRIFT = {"deflection": (0.0, 3e-3), "zero": (0.0, 3e-3)}
"""The fixtures slip with every heating: 3 mm of deflection from the first to the last run of a campaign."""


def sensitivity_space() -> ParameterSpace:
    """Return the laws of the five inputs of the published campaign."""
    return ParameterSpace(
        {
            "K_1": Uniform(110.58, 1105.80, unit="Nm/rad"),
            "K_2": Uniform(110.58, 1105.80, unit="Nm/rad"),
            "F_max": Uniform(40.0, 50.0, unit="Nm"),
            "T": Uniform(0.5, 2.0, unit="s"),
            "theta_max": Uniform(100.0, 130.0, unit="C"),
        }
    )


def strip_rhs(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    """Right-hand side of the strip: rotations and shortening in; moments, axial force and deflection out."""
    theta_max, T_0, eta, a0, slip = p[0], p[1], p[2], p[3], p[4]
    t1, t2, a, L = u[0], u[1], x[0] + p[3], LENGTH
    dT = eta * max(0.0, min(HEATING_RATE * t, theta_max) - T_0)
    strain = (u[2] + slip) / L + (2.0 * t1 * t1 - t1 * t2 + 2.0 * t2 * t2) / 30.0
    strain += pi * pi * (a * a - a0 * a0) / (4.0 * L * L) + a * (t1 - t2) / (2.0 * L) - EXPANSION * dT
    N = EA * strain
    restoring = 2.0 * EI * pi**4 / L**3 * (a - a0) + N * (pi * pi * a / (2.0 * L) + 0.5 * (t1 - t2))
    dx[0] = -restoring / MODE_DAMPING
    y[0] = EI / L * (4.0 * t1 + 2.0 * t2) + N * (L * (4.0 * t1 - t2) / 30.0 + 0.5 * a)
    y[1] = EI / L * (4.0 * t2 + 2.0 * t1) + N * (L * (4.0 * t2 - t1) / 30.0 - 0.5 * a)
    y[2] = N
    y[3] = (t1 - t2) * L / 8.0 + a - a0
    y[4] = y[3]


def frame_rhs(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    """Right-hand side of the frame: moments and axial force in; rotations and shortening out."""
    K_1, K_2, F_max, T, m_0, c, J, printed = p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[10]
    phase = (t - PULSE_START) / T
    F = 0.0
    if 0.0 <= phase <= 0.5:
        F = F_max * sin((1.0 if printed > 0.5 else 2.0) * pi * phase)
    dx[0], dx[1], dx[2] = x[3], x[4], x[5]
    dx[3] = (-u[0] - K_1 * x[0] - c * x[3]) / J
    dx[4] = (F + m_0 - u[1] - K_2 * x[1] - c * x[4]) / J
    dx[5] = (-u[2] - p[8] * x[2] - p[9] * x[5]) / p[7]
    y[0], y[1], y[2] = x[0], x[1], x[2]


@cache
def strip() -> OdeSystem:
    """Return the strip; its state is the amplitude beyond the imperfection."""
    return ode(
        states={"amplitude": "m"},
        inputs={"t1": "rad", "t2": "rad", "u": "m"},
        outputs={"r1": "Nm", "r2": "Nm", "N": "N", "deflection": "m", "zero": "m"},
        parameters=[
            Parameter("theta_max", 120.0, "C"), Parameter("T_0", 30.0, "C"), Parameter("eta", 1.0),
            Parameter("a0", 3e-3, "m"), Parameter("slip", 0.0, "m"),
        ],
    )(strip_rhs)  # fmt: skip


@cache
def frame() -> OdeSystem:
    """Return the frame."""
    return ode(
        states={"t1": "rad", "t2": "rad", "u": "m", "w1": "rad/s", "w2": "rad/s", "v": "m/s"},
        inputs={"r1": "Nm", "r2": "Nm", "N": "N"},
        outputs={"t1": "rad", "t2": "rad", "u": "m"},
        parameters=[
            Parameter("K_1", 608.19, "Nm/rad", 0.0), Parameter("K_2", 608.19, "Nm/rad", 0.0),
            Parameter("F_max", 45.0, "Nm"), Parameter("T", 1.0, "s", 1e-3), Parameter("m_0", 0.0, "Nm"),
            Parameter("c", 20.0, "Nms/rad", 0.0), Parameter("J", 10.0, "kgm2", 1e-6), Parameter("M_3", 5000.0, "kg",
            1e-6), Parameter("K_3", 8.1e6, "N/m", 0.0), Parameter("C_3", 1.129e6, "Ns/m", 0.0),
            Parameter("printed_pulse", 0.0, "", 0.0, 1.0),
        ],
    )(frame_rhs)  # fmt: skip


def heated_strip(*, noise: bool = True, drift: bool = True) -> HybridModel:
    """Return the hybrid model of the test, with its latent noise and the drift of a campaign.

    Parameters
    ----------
    noise, drift : bool
        Whether the model declares the latent noise and the drift.
    """
    return HybridModel(
        "heated_strip",
        [OdeSubstructure(strip(), name="strip"), OdeSubstructure(frame(), name="frame", direct=())],
        dt=DT,
        duration=DURATION,
        latent=NOISE if noise else None,
        drift=DRIFT if drift else None,
    )
