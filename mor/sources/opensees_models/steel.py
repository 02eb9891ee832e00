"""A steel frame of three storeys and two bays in OpenSees: three floor displacements in, three floor forces out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mor.sources.opensees import OpenSeesSubstructure
from mor.sources.opensees_models.pier import static_steps
from mor.sources.opensees_ports import ImposedDisplacement, Reaction

STOREYS, BAYS = 3, 2
# depth, flange width, flange and web thickness in m: HEB 300 columns, IPE 400 beams
COLUMN, BEAM = (0.300, 0.300, 0.019, 0.011), (0.400, 0.180, 0.0135, 0.0086)
_STEEL, _COLUMN, _BEAM = 1, 1, 2


def steel_frame(*, name: str = "steel_frame") -> OpenSeesSubstructure:
    """Return the frame as a rate-independent part x1, x2, x3 [m] -> F1, F2, F3 [N].

    Parameters
    ----------
    name : name of the substructure.

    Notes
    -----
    Parameters: storey height and bay width in m, yield stress fy in Pa, hardening ratio, weight on a beam-column joint
    in N. Force-based elements of five Lobatto points, Steel02 fibres (15 members, 30 fibres a section), P-Delta in the
    columns, floors rigid in their plane.
    """
    return OpenSeesSubstructure(
        name,
        build_frame,
        inputs={f"x{i}": ImposedDisplacement(_node(i, 0), 1, largest=0.004) for i in range(1, STOREYS + 1)},
        outputs={
            f"F{i}": Reaction(_node(i, 0), 1, tied=tuple(_node(i, j) for j in range(1, BAYS + 1)))
            for i in range(1, STOREYS + 1)
        },
        parameters={
            "storey": (3.5, "m", 2.5, 6.0),
            "bay": (6.0, "m", 3.0, 12.0),
            "fy": (355e6, "Pa", 200e6, 700e6),
            "hardening": (0.01, "", 0.0, 0.1),
            "weight": (150e3, "N", 0.0, 600e3),
        },
    )


def build_frame(ops: Any, p: Mapping[str, float]) -> None:
    """Build the frame in the X-Y plane, columns along Y."""
    ops.model("basic", "-ndm", 2, "-ndf", 3)
    ops.uniaxialMaterial("Steel02", _STEEL, p["fy"], 210e9, p["hardening"], 18.0, 0.925, 0.15)
    for tag, profile in ((_COLUMN, COLUMN), (_BEAM, BEAM)):
        _wide_flange(ops, tag, *profile)
        ops.beamIntegration("Lobatto", tag, tag, 5)
    ops.geomTransf("PDelta", _COLUMN)
    ops.geomTransf("Linear", _BEAM)
    for i in range(STOREYS + 1):
        for j in range(BAYS + 1):
            ops.node(_node(i, j), j * p["bay"], i * p["storey"])
            if i == 0:
                ops.fix(_node(i, j), 1, 1, 1)
            elif j > 0:
                ops.equalDOF(_node(i, 0), _node(i, j), 1)
    for i in range(1, STOREYS + 1):
        for j in range(BAYS + 1):
            ops.element("forceBeamColumn", 100 * i + j, _node(i - 1, j), _node(i, j), _COLUMN, _COLUMN)
        for j in range(BAYS):
            ops.element("forceBeamColumn", 100 * i + 50 + j, _node(i, j), _node(i, j + 1), _BEAM, _BEAM)
    ops.timeSeries("Linear", 1)
    ops.pattern("Plain", 1, 1)
    for i in range(1, STOREYS + 1):
        for j in range(BAYS + 1):
            ops.load(_node(i, j), 0.0, -p["weight"], 0.0)
    static_steps(ops, 5, "UmfPack")


def _node(storey: int, line: int) -> int:
    return 10 * storey + line + 1


def _wide_flange(ops: Any, tag: int, depth: float, width: float, flange: float, web: float) -> None:
    half, inner = 0.5 * depth, 0.5 * depth - flange
    ops.section("Fiber", tag)
    ops.patch("rect", _STEEL, 5, 1, -half, -0.5 * width, -inner, 0.5 * width)
    ops.patch("rect", _STEEL, 20, 1, -inner, -0.5 * web, inner, 0.5 * web)
    ops.patch("rect", _STEEL, 5, 1, inner, -0.5 * width, half, 0.5 * width)
