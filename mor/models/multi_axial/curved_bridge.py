"""The curved bridge of Najafi and Spencer (2021): a deck on three piers, two of which may stand in the laboratory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mor.frames import Frame3d, Section, frame3d
from mor.sources.finite_elements import FiniteElementSubstructure, RayleighDamping
from rt_runtime.checks import Array

INCH = 0.0254
DENSITY = 8.024e6  # kg/m3: a thousand times steel, mass that the model carries besides its own
MODULUS = 200e9
RADIUS, ARC = 396 * INCH, 240 * INCH
PIERS = {1: (3, 1.25 * INCH, 18.0 * INCH), 2: (9, 1.25 * INCH, 21.5 * INCH), 3: (13, 2.0 * INCH, 13.5 * INCH)}
INTERFACE = ("ux", "uz", "rx", "ry", "rz")  # the piers are too stiff along their axis for a loading device


def round_steel(diameter: float) -> Section:
    """Return the section of a round bar of the model's steel, with the mass it carries."""
    return Section.round(diameter, E=MODULUS, density=DENSITY)


def curved_bridge(without: Sequence[int] = (), *, mass: str = "consistent") -> Frame3d:
    """Return the bridge as a frame: 16 deck elements, one element a pier, y upwards.

    Parameters
    ----------
    without
        Numbers of the piers (1, 2, 3) that stand elsewhere; the deck then hangs on the others.
    mass
        "consistent" or "lumped".
    """
    angles = (np.arange(17) - 8) * ARC / 16 / RADIUS
    nodes = {str(i): np.array([RADIUS * np.sin(a), 0.0, RADIUS * np.cos(a)]) for i, a in enumerate(angles)}
    elements = [(str(i), str(i + 1), round_steel(2.8 * INCH)) for i in range(16)]
    supports = {"0": "uy rx ry rz", "16": "uy rx ry rz"}
    for number, (node, diameter, height) in PIERS.items():
        if number not in without:
            base = f"base{number}"
            nodes[base] = nodes[str(node)] - [0.0, height, 0.0]
            elements.append((base, str(node), round_steel(diameter)))
            supports[base] = "fixed"
    return frame3d(nodes, elements, supports, mass=mass)


def pier_stiffness(number: int) -> Array:
    """Return the stiffness (5, 5) of a pier's head in the directions `INTERFACE`, its base fixed.

    12EI/h^3 and 6EI/h^2 of bending in two planes, GJ/h of torsion; the axial direction is left out.
    """
    _, diameter, h = PIERS[number]
    s = round_steel(diameter)
    EI, GJ = s.E * s.Iz, s.G * s.J
    k = np.diag([12 * EI / h**3, 12 * EI / h**3, 4 * EI / h, GJ / h, 4 * EI / h])
    # the head above the base: rz > 0 moves the beam below it to +x, rx > 0 to -z
    k[0, 4] = k[4, 0] = 6 * EI / h**2
    k[1, 2] = k[2, 1] = -6 * EI / h**2
    return k


def pier_axial(number: int) -> float:
    """Return the axial stiffness EA/h of a pier in N/m."""
    _, diameter, h = PIERS[number]
    s = round_steel(diameter)
    return float(s.E * s.A / h)


def bridge_deck(*, ratio: float, modes: tuple[int, int] = (1, 5)) -> FiniteElementSubstructure:
    """Return deck and pier 3 as the numerical part of a test with piers 1 and 2 in the laboratory.

    The axial stiffness of piers 1 and 2 and the mass of their upper halves stay numerical. Inputs: ground accelerations
    `ax`, `az` and, for each of the two interfaces, the force on the deck `f1_ux` ... `f2_rz`; outputs: the motion
    `d1_ux` ... `d2_rz`.

    Parameters
    ----------
    ratio
        Rayleigh damping ratio at two modes of the whole bridge.
    modes
        Which two, counted from 1.
    """
    whole, deck = curved_bridge(), curved_bridge((1, 2))
    K, M = deck.K.tolil(), deck.M.tolil()
    for number in (1, 2):
        node, diameter, height = PIERS[number]
        s = round_steel(diameter)
        at = deck.index(f"{node}.uy")
        K[at, at] += s.E * s.A / height
        for direction in ("ux", "uy", "uz"):
            M[deck.index(f"{node}.{direction}"), deck.index(f"{node}.{direction}")] += 0.5 * s.density * s.A * height
    M, K = M.tocsr(), K.tocsr()
    low, high = (whole.modes(max(modes)).frequencies[m - 1] for m in modes)
    ground = {f"a{d[1]}": ("m/s2", -(M @ deck.influence(d))) for d in ("ux", "uz")}
    places = {f"{i}_{d}": f"{PIERS[i][0]}.{d}" for i in (1, 2) for d in INTERFACE}
    force = {f"f{p}": ("N" if "u" in p else "N m", deck.unit_vector(freedom)) for p, freedom in places.items()}
    motion = {f"d{p}": ("m" if "u" in p else "rad", "x", deck.unit_vector(freedom)) for p, freedom in places.items()}
    damping = RayleighDamping.of_ratios(ratio, float(low), float(high))
    return FiniteElementSubstructure("deck", M, K, inputs=ground | force, outputs=motion, damping=damping)


def interface_freedoms(deck: FiniteElementSubstructure) -> tuple[int, ...]:
    """Return the rows of the interface freedoms in the matrices of `bridge_deck`."""
    return tuple(int(np.argmax(row)) for row in deck.structure.X.toarray())
