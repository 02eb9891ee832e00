"""A base-isolated shear building in OpenSees: ground acceleration and a force on the base in, motions out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mor.sources.opensees import OpenSeesSubstructure
from mor.sources.opensees_engine import OpenSeesSolver
from mor.sources.opensees_ports import GroundAcceleration, NodalForce, NodeMotion

STOREYS = 4
_GROUND, _BASE = 1, 2


def base_isolated_building(*, name: str = "isolated_building") -> OpenSeesSubstructure:
    """Return a building of four storeys on lead-rubber bearings: ag [m/s2], F [N] -> x_base, x_top [m], a_top [m/s2].

    Parameters
    ----------
    name : name of the substructure.

    Notes
    -----
    F acts on the base slab: the force of a bearing or damper that stands in the laboratory. Parameters: mass of a floor
    in kg, first period of the fixed building and period of the bearings' second branch in s, yield force over weight
    and yield displacement in m of the bearings. Storeys are elastic, bearings Steel02, Rayleigh damping 2 % in the
    first two modes of the building on its bearings' initial stiffness.
    """
    return OpenSeesSubstructure(
        name,
        build_isolated,
        inputs={"ag": GroundAcceleration(1), "F": NodalForce(_BASE, 1)},
        outputs={
            "x_base": NodeMotion(_BASE, 1),
            "x_top": NodeMotion(_BASE + STOREYS, 1),
            "a_top": NodeMotion(_BASE + STOREYS, 1, "acceleration", "m/s2"),
        },
        parameters={
            "floor_mass": (200e3, "kg", 1e3, 5e6),
            "period": (0.45, "s", 0.1, 2.0),
            "isolated_period": (2.5, "s", 1.0, 6.0),
            "yield_ratio": (0.05, "", 0.005, 0.3),
            "yield_displacement": (0.01, "m", 0.001, 0.05),
        },
        solver=OpenSeesSolver(analysis="transient", system="BandGeneral"),
    )


def build_isolated(ops: Any, p: Mapping[str, float]) -> None:
    """Build masses in a line, joined by zero-length springs."""
    ops.model("basic", "-ndm", 1, "-ndf", 1)
    mass = p["floor_mass"]
    total = mass * (STOREYS + 1)
    for i in range(STOREYS + 2):
        ops.node(_GROUND + i, 0.0)
        if i:
            ops.mass(_GROUND + i, mass)
    ops.fix(_GROUND, 1)
    after_yield = total * (2 * math.pi / p["isolated_period"]) ** 2
    yield_force = p["yield_ratio"] * total * 9.81
    first = yield_force / p["yield_displacement"] + after_yield
    ops.uniaxialMaterial("Steel02", 1, first * p["yield_displacement"], first, after_yield / first, 15.0, 0.925, 0.15)
    # first frequency of a uniform shear building of n storeys: 2 sqrt(k / m) sin(pi / (4 n + 2))
    storey = mass * (math.pi / p["period"] / math.sin(math.pi / (4 * STOREYS + 2))) ** 2
    ops.uniaxialMaterial("Elastic", 2, storey)
    for i in range(STOREYS + 1):
        material = 1 if i == 0 else 2
        ops.element("zeroLength", i + 1, _GROUND + i, _GROUND + i + 1, "-mat", material, "-dir", 1, "-doRayleigh", 1)
    w1, w2 = (math.sqrt(value) for value in ops.eigen("-fullGenLapack", 2))
    ops.rayleigh(2 * 0.02 * w1 * w2 / (w1 + w2), 0.0, 0.0, 2 * 0.02 / (w1 + w2))
    ops.loadConst("-time", 0.0)
