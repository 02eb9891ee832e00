"""A one-axis electric shake table with a two-storey frame on it, and the published models of such a table.

Najafi and Spencer, NSEL Report 051 (2021), identified the table with the braced frame as one transfer function from the
drive to the acceleration (their 3.24). `LoadedTable` is a table of its own mass m, held by its controller with k and c,
that carries the frame; with the braced frame its response lies within a few percent of the published one, so that it
tells what the table does under another frame:

    m a + c v + k (x - gain drive) = -sum_i m_i (a + a_i),      a_i: acceleration of floor i relative to the table

followed by the slow pair (s + 0.603) / (s + 0.922) of the published model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mor.dynamics.structure import LinearStructure, modal_damping
from mor.dynamics.transfer import StateSpaceMatrices, TransferFunction
from rt_runtime.checks import one_of, positive

GRAVITY = 9.81
SLOW = TransferFunction([1.0, 0.603], [1.0, 0.922])

BRACED_TABLE = (
    TransferFunction([1.667 * GRAVITY, 0.0, 0.0], [1.0, 19.13, 2007.0])
    * TransferFunction([1.0, 0.577, 130.0], [1.0, 0.511, 121.4])
    * TransferFunction([1.0, 1.609, 1041.0], [1.0, 2.106, 1000.0])
    * SLOW
)
"""Identified table with the braced frame: drive in V to acceleration in m/s2 (published in g per V: 5.9 mm a volt)."""

POSITION_TABLE = TransferFunction([4.67e6], [1.0, 167.0, 1.14e4, 2.81e5, 4.67e6])
"""Identified table with the energy sink: commanded to measured displacement (their 4.17), 62 ms late at 1 Hz."""

STROKE = 0.0762
"""Stroke in m to each side."""

FLOORS = (25.11, 23.40)
"""Masses of the floors in kg."""

FRAMES = {
    "braced": ((7539.3, 10546.9), (0.0253, 0.0249)),
    "unbraced": ((7100.0, 8300.0), (0.004, 0.002)),
}
"""Storey stiffnesses in N/m, modal damping ratios; braced: from the zeros (1.81, 5.14 Hz) of the identified model."""

IDENTIFIED = ((24.98, 24.31), (7238.0, 8236.0), (0.00196, 0.00359))
"""Masses, storey stiffnesses and damping ratios of the unbraced frame after the published particle swarm."""


def two_storey_frame(kind: str = "identified") -> LinearStructure:
    """Return the steel frame: "braced", "unbraced" (published masses and stiffnesses) or "identified".

    Parameters
    ----------
    kind
        Which of the three.
    """
    one_of(kind, "kind", "two_storey_frame", ("identified", *FRAMES))
    masses, (k1, k2), ratios = IDENTIFIED if kind == "identified" else (FLOORS, *FRAMES[kind])
    M, K = np.diag(masses), np.array([[k1 + k2, -k2], [-k2, k2]])
    return LinearStructure(M, modal_damping(M, K, ratios), K)


@dataclass(frozen=True)
class LoadedTable:
    """A table with a frame on it.

    Parameters
    ----------
    mass, damping, stiffness
        Of the table under its controller, in kg, Ns/m and N/m.
    gain
        Displacement in m a volt of the drive.
    """

    mass: float = 45.42
    damping: float = 881.5
    stiffness: float = 82072.0
    gain: float = 9.116e-3

    def __post_init__(self) -> None:
        for name in ("mass", "damping", "stiffness", "gain"):
            positive(getattr(self, name), name, "LoadedTable")

    def with_frame(self, frame: LinearStructure) -> StateSpaceMatrices:
        """Return drive -> acceleration, displacement of the table, displacements of the floors relative to it."""
        n = frame.n
        M = np.zeros((n + 1, n + 1))
        M[0, 0] = self.mass + frame.M.sum()
        M[0, 1:] = M[1:, 0] = frame.M.sum(axis=0)
        M[1:, 1:] = frame.M
        C, K = np.zeros_like(M), np.zeros_like(M)
        C[0, 0], K[0, 0] = self.damping, self.stiffness
        C[1:, 1:], K[1:, 1:] = frame.C, frame.K
        slow = SLOW.state_space()
        load = np.zeros((n + 1, 1))
        load[0] = self.stiffness * self.gain
        inverse = np.linalg.inv(M)
        size = 2 * (n + 1)
        A = np.zeros((size + 1, size + 1))
        A[: n + 1, n + 1 : size] = np.eye(n + 1)
        A[n + 1 : size, : n + 1] = -inverse @ K
        A[n + 1 : size, n + 1 : size] = -inverse @ C
        A[n + 1 : size, size:] = inverse @ load @ slow.C
        A[size:, size:] = slow.A
        B = np.vstack([np.zeros((n + 1, 1)), inverse @ load @ slow.D, slow.B])
        out = np.zeros((n + 1, size + 1))
        out[:, : n + 1] = np.eye(n + 1)
        return StateSpaceMatrices(A, B, np.vstack([A[n + 1], out]), np.vstack([B[n + 1], np.zeros((n + 1, 1))]))
