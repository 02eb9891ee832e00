"""Small OpenSees models for tests: a bilinear spring, an oscillator, and models that misbehave."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from mor.sources import (
    GroundAcceleration,
    ImposedDisplacement,
    NodalForce,
    NodeMotion,
    OpenSeesSolver,
    OpenSeesSubstructure,
    Reaction,
)

PARAMETERS = {"k": (2e6, "N/m", 1e3, 1e9), "yield_force": (3e4, "N", 1.0, 1e9)}


def build_spring(ops: Any, p: Mapping[str, float]) -> None:
    ops.model("basic", "-ndm", 1, "-ndf", 1)
    ops.node(1, 0.0)
    ops.node(2, 0.0)
    ops.fix(1, 1)
    ops.uniaxialMaterial("Steel01", 1, p["yield_force"], p["k"], 0.1)
    ops.element("zeroLength", 1, 1, 2, "-mat", 1, "-dir", 1)


def spring(build: Any = build_spring, **options: Any) -> OpenSeesSubstructure:
    return OpenSeesSubstructure(
        "spring",
        build,
        inputs={"x": ImposedDisplacement(2, 1)},
        outputs={"F": Reaction(2, 1)},
        parameters=PARAMETERS,
        **options,
    )


def build_oscillator(ops: Any, p: Mapping[str, float]) -> None:
    build_spring(ops, p)
    ops.mass(2, 1000.0)


def oscillator() -> OpenSeesSubstructure:
    return OpenSeesSubstructure(
        "oscillator",
        build_oscillator,
        inputs={"ag": GroundAcceleration(1), "F": NodalForce(2, 1)},
        outputs={"x": NodeMotion(2, 1), "v": NodeMotion(2, 1, "velocity", "m/s")},
        parameters=PARAMETERS,
        solver=OpenSeesSolver("transient", tolerance=1e-10, system="BandGeneral"),
    )


def build_crash(ops: Any, p: Mapping[str, float]) -> None:
    build_spring(ops, p)
    os.write(2, b"about to crash")
    if p["k"] > 1e6:
        os.abort()


def build_hang(ops: Any, p: Mapping[str, float]) -> None:
    time.sleep(600)


def build_wrong(ops: Any, p: Mapping[str, float]) -> None:
    ops.model("basic", "-ndm", 1, "-ndf", 1)
    ops.node(1, 0.0)


def build_mechanism(ops: Any, p: Mapping[str, float]) -> None:
    """A node that nothing holds: no equilibrium under any load."""
    build_spring(ops, p)
    ops.node(3, 1.0)
    ops.timeSeries("Constant", 5)
    ops.pattern("Plain", 5, 5)
    ops.load(3, 1.0)
