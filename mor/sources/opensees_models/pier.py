"""A reinforced-concrete bridge pier with fibre sections in OpenSees: top displacement in, restoring force out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mor.sources.opensees import OpenSeesSubstructure
from mor.sources.opensees_engine import OpenSeesSolver
from mor.sources.opensees_ports import ImposedDisplacement, Reaction

CONFINEMENT = 1.3  # strength of the core over that of the cover
COVER = 0.05  # m
BARS = 20
RINGS = (16, 8, 2)  # fibres around, along the radius of the core, along that of the cover
ELEMENTS = 4
_SECTION, _COVER, _CORE, _STEEL = 1, 1, 2, 3
_BASE = 10


def rc_pier(height: float = 7.0, *, name: str = "pier") -> OpenSeesSubstructure:
    """Return a cantilever pier of circular section as a rate-independent part x [m] -> F [N].

    Parameters
    ----------
    height : default of the parameter of that name, in m.
    name : name of the substructure.

    Notes
    -----
    Parameters: height and diameter in m, concrete strength fc and steel yield stress fy in Pa, ratio of longitudinal
    steel, axial load over fc times area. Concrete02 for cover and confined core, Steel02 for 20 bars, four
    displacement-based elements of five Lobatto points with 180 fibres each (3600 fibres), P-Delta, constant axial load.
    """
    return OpenSeesSubstructure(
        name,
        build_pier,
        inputs={"x": ImposedDisplacement(_BASE + ELEMENTS, 2, largest=0.002 * height / 7.0)},
        outputs={"F": Reaction(_BASE + ELEMENTS, 2)},
        parameters={
            "height": (height, "m", 3.0, 30.0),
            "diameter": (1.5, "m", 0.6, 4.0),
            "fc": (30e6, "Pa", 15e6, 80e6),
            "fy": (450e6, "Pa", 200e6, 800e6),
            "steel_ratio": (0.015, "", 0.003, 0.05),
            "axial_ratio": (0.1, "", 0.0, 0.4),
        },
        solver=OpenSeesSolver(system="BandGeneral"),
    )


def build_pier(ops: Any, p: Mapping[str, float]) -> None:
    """Build one pier along the global X axis; it bends in direction 2."""
    ops.model("basic", "-ndm", 2, "-ndf", 3)
    pier_section(ops, p)
    ops.geomTransf("PDelta", 1)
    top = add_pier(ops, _BASE, p["height"], transformation=1)
    hold_axial_loads(ops, [top], axial_load(p))


def pier_section(ops: Any, p: Mapping[str, float]) -> None:
    """Make materials, the fibre section and its integration rule, all with tag 1."""
    fc, core, radius = p["fc"], CONFINEMENT * p["fc"], 0.5 * p["diameter"]
    tension = (0.1, 0.1 * fc, 0.1 * fc / 0.002)  # unloading slope ratio, strength, softening modulus
    ops.uniaxialMaterial("Concrete02", _COVER, -fc, -0.002, -0.2 * fc, -0.006, *tension)
    ops.uniaxialMaterial("Concrete02", _CORE, -core, -0.005, -0.4 * core, -0.025, *tension)
    ops.uniaxialMaterial("Steel02", _STEEL, p["fy"], 200e9, 0.01, 18.0, 0.925, 0.15)
    around, inside, outside = RINGS
    inner = radius - COVER
    bar = p["steel_ratio"] * math.pi * radius**2 / BARS
    ops.section("Fiber", _SECTION)
    ops.patch("circ", _CORE, around, inside, 0.0, 0.0, 0.0, inner, 0.0, 360.0)
    ops.patch("circ", _COVER, around, outside, 0.0, 0.0, inner, radius, 0.0, 360.0)
    ops.layer("circ", _STEEL, BARS, bar, 0.0, 0.0, inner, 0.0, 360.0 * (1 - 1 / BARS))
    ops.beamIntegration("Lobatto", 1, _SECTION, 5)


def add_pier(ops: Any, base: int, height: float, *, y: float = 0.0, transformation: int) -> int:
    """Add nodes and elements numbered from `base`, clamped at the foot; return the node at the top."""
    for i in range(ELEMENTS + 1):
        ops.node(base + i, height * i / ELEMENTS, y)
    ops.fix(base, 1, 1, 1)
    for i in range(ELEMENTS):
        ops.element("dispBeamColumn", base + i, base + i, base + i + 1, transformation, 1)
    return base + ELEMENTS


def axial_load(p: Mapping[str, float]) -> float:
    """Return the axial load in N."""
    return p["axial_ratio"] * p["fc"] * math.pi * (0.5 * p["diameter"]) ** 2


def hold_axial_loads(ops: Any, tops: list[int], load: float, system: str = "BandGeneral") -> None:
    """Apply the axial load to the tops in ten steps and hold it."""
    ops.timeSeries("Linear", 1)
    ops.pattern("Plain", 1, 1)
    for top in tops:
        ops.load(top, -load, 0.0, 0.0)
    static_steps(ops, 10, system)


def static_steps(ops: Any, n: int, system: str = "BandGeneral") -> None:
    """Apply what the load patterns hold in `n` equal steps, then keep it constant and set the time to zero."""
    ops.constraints("Transformation")
    ops.numberer("RCM")
    ops.system(system)
    ops.test("NormDispIncr", 1e-9, 30)
    ops.algorithm("Newton")
    ops.integrator("LoadControl", 1.0 / n)
    ops.analysis("Static", "-noWarnings")
    if ops.analyze(n) != 0:
        raise RuntimeError("no equilibrium under the constant loads")
    ops.loadConst("-time", 0.0)
    ops.wipeAnalysis()
