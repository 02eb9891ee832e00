"""The steel moment frame of Najafi and Spencer (NSEL Report 051, 2021): one column in a loading box, the rest computed.

Degrees of freedom: sway of the beam U_x, rotation R_z at the top of the right column (the specimen) and of the left
one. Masses are those that give the published frequencies; the complete frame is the numerical part and the column.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from mor.compile.ode import OdeSystem, ode
from mor.dynamics.structure import LinearStructure, rayleigh_damping
from mor.dynamics.transfer import StateSpaceMatrices
from rt_runtime.checks import Array, positive

MODULUS = 200e9
HEIGHT = 0.457
_BEAM_INERTIA = 102354e-12  # m4, a bar of 38 mm
_LINE_MASS = 9.1e3  # kg/m
YIELD_STRESS = 350e6
HARDENING, SHARPNESS = 0.03, 5.0


@dataclass(frozen=True)
class Column:
    """The specimen: a round steel bar of `diameter` m, fixed at its base, moved at its top."""

    diameter: float = 0.03175

    @property
    def flexural(self) -> float:
        """E I in Nm2."""
        return float(MODULUS * np.pi * self.diameter**4 / 64)

    @property
    def axial(self) -> float:
        """E A / L in N/m."""
        return float(MODULUS * np.pi * self.diameter**2 / 4 / HEIGHT)

    @property
    def stiffness(self) -> Array:
        """E I / h^3 [[12, 6 h], [6 h, 4 h^2]] for (U_x, R_z)."""
        h = HEIGHT
        return self.flexural / h**3 * np.array([[12.0, 6 * h], [6 * h, 4 * h**2]])

    @property
    def plastic_moment(self) -> float:
        """d^3 / 6 times the yield stress, in Nm."""
        return self.diameter**3 / 6 * YIELD_STRESS


def moment_frame(damping_ratio: float = 0.05, column: Column | None = None) -> tuple[LinearStructure, LinearStructure]:
    """Return the numerical part and the complete frame; Rayleigh damping on modes 1 and 2 of the complete one.

    Parameters
    ----------
    damping_ratio
        0.02 to 0.10 in the report.
    column
        The specimen; default: the bar of 31.75 mm.
    """
    zeta = positive(damping_ratio, "damping_ratio", "moment_frame")
    h = HEIGHT
    K = MODULUS * _BEAM_INERTIA / h**3 * np.array([[12, 0, 6 * h], [0, h**2, h**2 / 2], [6 * h, h**2 / 2, 5 * h**2]])
    M = (
        _LINE_MASS
        * h
        / 420
        * np.array([[1836, 0, 22 * h], [0, 64 * h**2, -48 * h**2], [22 * h, -48 * h**2, 68 * h**2]])
    )
    whole = K.copy()
    whole[:2, :2] += (column or Column()).stiffness
    frequencies = np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(M, whole)).real)) / (2 * np.pi)
    C = rayleigh_damping(M, whole, ratios=(zeta, zeta), frequencies=(frequencies[0], frequencies[1]))
    pulled = M @ [1.0, 0.0, 0.0]
    return LinearStructure(M, C, K, pulled), LinearStructure(M, C, whole, pulled)


def numerical_part(damping_ratio: float) -> StateSpaceMatrices:
    """Return the numerical part with inputs [ground, F_x, M_z of the column] and outputs [U_x, R_z, R_z left]."""
    part = moment_frame(damping_ratio)[0].state_space([0, 1])
    return StateSpaceMatrices(part.A, part.B * [1.0, -1.0, -1.0], part.C[:3], np.zeros((3, 3)))


def _hinge(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    """State: moment of the base. dM = dM_e (1 - (1 - hardening) |M / M_p|^n (1 + sign(dM_e M)) / 2)."""
    EI, h, Mp, beta, n = p[0], p[1], p[2], p[3], p[4]
    speed = EI * (6.0 / h**2 * u[2] + 2.0 / h * u[3])
    grows = 1.0 if speed * x[0] > 0.0 else 0.0
    dx[0] = speed * (1.0 - (1.0 - beta) * abs(x[0] / Mp) ** n * grows)
    elastic = EI * (6.0 / h**2 * u[0] + 2.0 / h * u[1])
    turn = (elastic - x[0]) * h / (4.0 * EI)
    y[0] = EI * (12.0 / h**3 * u[0] + 6.0 / h**2 * u[1] - 6.0 / h**2 * turn)
    y[1] = EI * (6.0 / h**2 * u[0] + 4.0 / h * u[1] - 2.0 / h * turn)


def _hinge_parameters() -> dict[str, float]:
    column = Column()
    numbers = {"EI": column.flexural, "h": HEIGHT, "Mp": column.plastic_moment}
    return numbers | {"hardening": HARDENING, "n": SHARPNESS}


@cache
def yielding_column() -> OdeSystem:
    """Compile the column with a plastic hinge at its base: inputs U_x, R_z and their rates, outputs F_x, M_z."""
    return ode(
        states=["moment"],
        inputs={"u": "m", "r": "rad", "u_rate": "m/s", "r_rate": "rad/s"},
        outputs={"force": "N", "couple": "Nm"},
        parameters=_hinge_parameters(),
        name="yielding_column",
    )(_hinge)


def _frame(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    """States: x (3), v (3), moment of the base. Parameters: M^-1 [K C] by rows, M^-1 m_g, M^-1 [e_1 e_2], column."""
    EI, h, Mp, beta, n = p[27], p[28], p[29], p[30], p[31]
    speed = EI * (6.0 / h**2 * x[3] + 2.0 / h * x[4])
    grows = 1.0 if speed * x[6] > 0.0 else 0.0
    dx[6] = speed * (1.0 - (1.0 - beta) * abs(x[6] / Mp) ** n * grows)
    turn = (EI * (6.0 / h**2 * x[0] + 2.0 / h * x[1]) - x[6]) * h / (4.0 * EI)
    force = EI * (12.0 / h**3 * x[0] + 6.0 / h**2 * x[1] - 6.0 / h**2 * turn)
    couple = EI * (6.0 / h**2 * x[0] + 4.0 / h * x[1] - 2.0 / h * turn)
    for i in range(3):
        dx[i] = x[3 + i]
        pull = -p[18 + i] * u[0] - p[21 + i] * force - p[24 + i] * couple
        for j in range(3):
            pull -= p[3 * i + j] * x[j] + p[9 + 3 * i + j] * x[3 + j]
        dx[3 + i] = pull
        y[i] = x[i]


def complete_yielding_frame(damping_ratio: float) -> OdeSystem:
    """Compile the undivided frame with the yielding column: input ground, outputs U_x, R_z, R_z left."""
    part, _ = moment_frame(damping_ratio)
    inverse = np.linalg.inv(part.M)
    numbers = [*(inverse @ part.K).ravel(), *(inverse @ part.C).ravel(), *(inverse @ part.ground_mass)]
    numbers += [*inverse[:, 0], *inverse[:, 1]]
    names = [f"n{i}" for i in range(len(numbers))]
    return ode(
        states=["x1", "x2", "x3", "v1", "v2", "v3", "moment"],
        inputs={"ground": "m/s2"},
        outputs={"x1": "m", "x2": "rad", "x3": "rad"},
        parameters=dict(zip(names, map(float, numbers), strict=True)) | _hinge_parameters(),
        name="complete_frame",
    )(_frame)
