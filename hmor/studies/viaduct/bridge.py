"""A viaduct of seven reinforced-concrete piers: the elastic deck as a linear part, and the whole bridge in OpenSees.

Eight spans of 40 m, transverse motion; the deck is pinned at the abutments and hinged on piers of 7, 9, 12, 14, 12, 9
and 7 m. The pier in the middle stands in the laboratory. Damping is of Rayleigh's kind, 2 % in modes 1 and 4, in
proportion to mass and to the tangent stiffness of the last step: a force in proportion to the initial stiffness would
act in hinges that have yielded long ago.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from mor import LinearSubstructure
from mor.dynamics.structure import condense
from mor.sources import (
    ElementForce,
    GroundAcceleration,
    NodalForce,
    NodeMotion,
    OpenSeesSolver,
    OpenSeesSubstructure,
    rc_pier,
)
from mor.sources.opensees_models.pier import ELEMENTS, add_pier, axial_load, hold_axial_loads, pier_section
from rt_runtime.checks import Array

HEIGHTS = (7.0, 9.0, 12.0, 14.0, 12.0, 9.0, 7.0)
"""Heights of the piers in m, from one abutment to the other."""

SPECIMEN = 3
"""Place of the pier in the laboratory."""

SPAN, MASS, YOUNG, AREA, INERTIA = 40.0, 12e3, 30e9, 6.0, 40.0
RATE = 1024.0
DAMPING = 0.02
# Rayleigh coefficients in 1/s and s: 2 % in modes 1 and 4 of the uncracked bridge, without and with the middle pier
RAYLEIGH = {False: (0.14837744021945737, 0.001818451799101657), True: (0.15918445041031773, 0.001782229190213456)}


def deck_matrices() -> tuple[Array, Array]:
    """Return mass and stiffness (7, 7) of the deck over its piers, rotations condensed: they have no mass."""
    n, EI, L = len(HEIGHTS) + 1, YOUNG * INERTIA, SPAN
    K = np.zeros((2 * n + 2, 2 * n + 2))  # displacement and rotation of each node
    beam = (
        EI
        / L**3
        * np.array(
            [
                [12.0, 6 * L, -12.0, 6 * L],
                [6 * L, 4 * L**2, -6 * L, 2 * L**2],
                [-12.0, -6 * L, 12.0, -6 * L],
                [6 * L, 2 * L**2, -6 * L, 4 * L**2],
            ]
        )
    )
    for i in range(n):
        K[2 * i : 2 * i + 4, 2 * i : 2 * i + 4] += beam
    free = [i for i in range(2 * n + 2) if i not in (0, 2 * n)]  # the abutments hold the displacement
    inner = [free.index(2 * i) for i in range(1, n)]
    return MASS * L * np.eye(n - 1), condense(K[np.ix_(free, free)], inner)


def deck(*, specimen: bool = True, hold: float = 0.5 / RATE) -> LinearSubstructure:
    """Return the deck: ground acceleration ag and forces F1 to F7 of the piers in, displacements x1 to x7 out.

    Parameters
    ----------
    specimen : whether the damping is that of the bridge with its middle pier.
    hold : seconds by which forces, held over a tick, are late: half a tick; the deck takes them earlier by that.

    Notes
    -----
    With damping in proportion to the tangent stiffness a pier whose static force is F gives F + b F'. In

        M x'' + (a M + b K) x' + K x + F + b F' = -M 1 ag

    w = M x' + b F is the state beside x, so that no input is differentiated. That the forces are held for half a tick
    too long is made good by b + hold in the place of b.
    """
    M, K = deck_matrices()
    a, b = RAYLEIGH[specimen]
    return _masses("deck", M, a * M + b * K, K, b + hold)


def deck_over_one_pier(*, hold: float = 0.5 / RATE) -> LinearSubstructure:
    """Return the mass of one span on a single pier: ground acceleration ag and force F1 in, displacement x1 out.

    Damping of 2e5 Ns/m is about 2 % of critical with an uncracked pier of 7 m. `hold` as in `deck`.
    """
    return _masses("deck", np.array([[MASS * SPAN]]), np.array([[2e5]]), np.zeros((1, 1)), hold)


def _masses(name: str, M: Array, C: Array, K: Array, lead: float) -> LinearSubstructure:
    """Return M x'' + C x' + K x + F + lead F' = -M 1 ag with the states x and M x' + lead F."""
    n, inverse = len(M), np.linalg.inv(M)
    early = lead * inverse
    A = np.block([[np.zeros((n, n)), inverse], [-K, -C @ inverse]])
    B = np.block([[np.zeros((n, 1)), -early], [-M.sum(axis=1)[:, None], C @ early - np.eye(n)]])
    outputs = np.hstack([np.eye(n), np.zeros((n, n))])
    return LinearSubstructure(
        name,
        (A, B, outputs, np.zeros((n, n + 1))),
        inputs={"ag": "m/s2"} | {f"F{i}": "N" for i in range(1, n + 1)},
        outputs={f"x{i}": "m" for i in range(1, n + 1)},
    )


def viaduct(*, specimen: bool = True) -> OpenSeesSubstructure:
    """Return the whole bridge in OpenSees: ground acceleration ag and a force F on the deck over the middle pier in.

    Parameters
    ----------
    specimen : whether the middle pier is part of the model; without it, F is the (negative) force of the specimen.

    Returns
    -------
    The part with the deck displacements x1 to x7 and the static forces F1 to F7 of the piers that are there as outputs.
    """

    def build(ops: Any, p: Mapping[str, float]) -> None:
        build_viaduct(ops, p, specimen)

    there = [i for i in range(len(HEIGHTS)) if specimen or i != SPECIMEN]
    pier = rc_pier().parameters
    return OpenSeesSubstructure(
        "viaduct",
        build,
        inputs={"ag": GroundAcceleration(2), "F": NodalForce(_deck_node(SPECIMEN), 2)},
        outputs={f"x{i + 1}": NodeMotion(_deck_node(i), 2) for i in range(len(HEIGHTS))}
        | {f"F{i + 1}": ElementForce(_pier(i) + ELEMENTS - 1, 4) for i in there},
        parameters=[parameter for parameter in pier if parameter.name != "height"],
        solver=OpenSeesSolver(analysis="transient", iterations=10),
    )


def build_viaduct(ops: Any, p: Mapping[str, float], specimen: bool) -> None:
    """Build deck and piers in one plane: deck along X, piers along X far beside it, all move in direction 2."""
    ops.model("basic", "-ndm", 2, "-ndf", 3)
    pier_section(ops, p)
    ops.geomTransf("PDelta", 1)
    ops.geomTransf("Linear", 2)
    last = len(HEIGHTS) + 1
    for i in range(last + 1):
        ops.node(_deck_node(i - 1), SPAN * i, 1000.0)
    ops.fix(_deck_node(-1), 1, 1, 0)
    ops.fix(_deck_node(last - 1), 0, 1, 0)
    for i in range(last):
        ends = (_deck_node(i - 1), _deck_node(i))
        ops.element("elasticBeamColumn", _deck_node(i - 1), *ends, AREA, YOUNG, INERTIA, 2)
    tops = []
    for i, height in enumerate(HEIGHTS):
        ops.mass(_deck_node(i), MASS * SPAN, MASS * SPAN, 0.0)
        if specimen or i != SPECIMEN:
            tops.append(add_pier(ops, _pier(i), height, y=2000.0 + 10.0 * i, transformation=1))
            ops.equalDOF(_deck_node(i), tops[-1], 2)
    hold_axial_loads(ops, tops, axial_load(p), "UmfPack")
    w = [math.sqrt(value) for value in ops.eigen("-genBandArpack", 4)]
    ops.rayleigh(2 * DAMPING * w[0] * w[3] / (w[0] + w[3]), 0.0, 0.0, 2 * DAMPING / (w[0] + w[3]))


def _deck_node(place: int) -> int:
    return 101 + place


def _pier(place: int) -> int:
    return 1000 * (place + 1)
