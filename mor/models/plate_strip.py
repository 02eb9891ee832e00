"""Plate strip between two rotational springs under a near-fault pulse (Abbiati et al. 2019, global sensitivity study).

Degrees of freedom: rotations theta_1, theta_2 of the ends and the axial displacement u of the moving end. Bernoulli
beam with consistent mass; end inertias J, end springs K_1, K_2, a large mass and a dashpot at u. With the shallow-beam
axial force N the strip is nonlinear:

    N   = EA [u / L + (2 theta_1^2 - theta_1 theta_2 + 2 theta_2^2) / 30]
    r_1 = EI/L (4 theta_1 + 2 theta_2) + N L/30 (4 theta_1 - theta_2),   r_2 the same with 1 and 2 exchanged,   r_3 = N

The ground moves across the strip: load -(c_g, -c_g, 0) a_g with c_g = rho A L^2 / 12.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from mor.compile.ode import OdeSystem, ode
from mor.data.ports import Parameter, Port
from mor.dynamics.structure import LinearStructure
from mor.substructures import OdeSubstructure
from rt_runtime.checks import Array

PARAMETERS = (
    Parameter("k_1", 70.0, "Nm/rad", 0.0),
    Parameter("k_2", 70.0, "Nm/rad", 0.0),
    Parameter("length", 0.47, "m", 1e-6),
    Parameter("modulus", 100e9, "Pa", 1e-6),
    Parameter("density", 7850.0, "kg/m3", 1e-6),
    Parameter("area", 400e-6, "m2", 1e-12),
    Parameter("inertia", 0.2 * 0.002**3 / 12, "m4", 1e-18),
    Parameter("end_inertia", 0.9, "kg m2", 0.0),
    Parameter("end_mass", 20000.0, "kg", 0.0),
    Parameter("dashpot", 300000.0, "Ns/m", 0.0),
)
STATES = (
    *(Port(f"theta_{i}", "rad") for i in (1, 2)),
    Port("u", "m"),
    *(Port(f"omega_{i}", "rad/s") for i in (1, 2)),
    Port("v", "m/s"),
)
INPUTS = (Port("ground_acceleration", "m/s2"),)
OUTPUTS = (
    *(Port(f"rotation_{i}", "rad") for i in (1, 2)),
    Port("displacement", "m"),
    *(Port(f"moment_{i}", "Nm") for i in (1, 2)),
    Port("axial_force", "N"),
)


def plate_strip_rhs(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    """Right-hand side: ground acceleration in; rotations, axial displacement, end moments and axial force out."""
    L, EA, EI = p[2], p[3] * p[5], p[3] * p[6]
    line_mass = p[4] * p[5]
    a, b, w = x[0], x[1], x[2]
    axial = EA * (w / L + (2.0 * a * a - a * b + 2.0 * b * b) / 30.0)
    r1 = EI / L * (4.0 * a + 2.0 * b) + axial * L / 30.0 * (4.0 * a - b)
    r2 = EI / L * (4.0 * b + 2.0 * a) + axial * L / 30.0 * (4.0 * b - a)
    load = line_mass * L * L / 12.0 * u[0]
    q1 = -load - r1 - p[0] * a
    q2 = load - r2 - p[1] * b
    unit = line_mass * L**3 / 420.0
    m11, m12 = p[7] + 4.0 * unit, -3.0 * unit
    determinant = m11 * m11 - m12 * m12
    dx[0] = x[3]
    dx[1] = x[4]
    dx[2] = x[5]
    dx[3] = (m11 * q1 - m12 * q2) / determinant
    dx[4] = (m11 * q2 - m12 * q1) / determinant
    dx[5] = -(axial + p[9] * x[5]) / (p[8] + line_mass * L / 3.0)
    y[0] = a
    y[1] = b
    y[2] = w
    y[3] = r1
    y[4] = r2
    y[5] = axial


@cache
def nonlinear_plate_strip() -> OdeSystem:
    """Compile the nonlinear strip; `plate_strip` gives the matrices of the linear one."""
    return ode(states=STATES, inputs=INPUTS, outputs=OUTPUTS, parameters=PARAMETERS, name="plate_strip")(
        plate_strip_rhs
    )


def plate_partitions(p: ArrayLike | None = None) -> tuple[LinearStructure, LinearStructure]:
    """Return the numerical side (end inertias, springs, mass, dashpot) and the strip itself, both linear, on (theta_1,
    theta_2, u); the ground pulls at the strip only."""
    k1, k2, L, E, rho, area, inertia, J, mass, dashpot = _values(p)
    M, C, K = np.diag([J, J, mass]), np.diag([0.0, 0.0, dashpot]), np.diag([k1, k2, 0.0])
    numerical = LinearStructure(M, C, K, np.zeros(3))
    line_mass, unit = rho * area, rho * area * L**3 / 420
    M = np.array([[4 * unit, -3 * unit, 0.0], [-3 * unit, 4 * unit, 0.0], [0.0, 0.0, line_mass * L / 3]])
    bend = E * inertia / L
    K = np.array([[4 * bend, 2 * bend, 0.0], [2 * bend, 4 * bend, 0.0], [0.0, 0.0, E * area / L]])
    pull = line_mass * L**2 / 12
    return numerical, LinearStructure(M, np.zeros((3, 3)), K, [pull, -pull, 0.0])


def plate_strip(p: ArrayLike | None = None) -> LinearStructure:
    """Return the whole strip with its surroundings, linearised at rest, on (theta_1, theta_2, u)."""
    numerical, strip = plate_partitions(p)
    return LinearStructure(
        numerical.M + strip.M, numerical.C + strip.C, numerical.K + strip.K, numerical.ground_mass + strip.ground_mass
    )


def plate_strip_energy(x: ArrayLike, p: ArrayLike | None = None) -> Array:
    """Return kinetic plus strain energy in J of the nonlinear strip for states x (..., 6)."""
    k1, k2, L, E, _, area, inertia, *_ = values = _values(p)
    x = np.asarray(x, float)
    a, b, w = x[..., 0], x[..., 1], x[..., 2]
    stretch = w / L + (2 * a**2 - a * b + 2 * b**2) / 30
    strain = 0.5 * E * area * L * stretch**2 + 2 * E * inertia / L * (a**2 + a * b + b**2)
    springs = 0.5 * (k1 * a**2 + k2 * b**2)
    kinetic = 0.5 * np.einsum("...i,ij,...j->...", x[..., 3:], plate_strip(values).M, x[..., 3:])
    return np.asarray(kinetic + strain + springs)


def _values(p: ArrayLike | None) -> Array:
    return np.array([q.value for q in PARAMETERS]) if p is None else np.asarray(p, float)


def plate_strip_part(*, substeps: int = 1) -> OdeSubstructure:
    """Make the nonlinear plate strip: `ground_acceleration` in; rotations, moments and axial force out."""
    return OdeSubstructure(nonlinear_plate_strip(), substeps=substeps, direct=[])
