"""The structural models as substructures with named ports, ready for a hybrid model or for sampling."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mor.data.ports import Parameter
from mor.dynamics.structure import LinearStructure
from mor.dynamics.transfer import TransferFunction
from mor.models.benchmark_frame import BenchmarkFrame, Specimen, benchmark_structure, sample_controller_block
from mor.models.bouc_wen import bouc_wen, bouc_wen_oscillator
from mor.models.cart_pendulum import cart_pendulum, pendulum
from mor.models.mr_damper import mr_damper, semi_active_damper
from mor.models.plate_strip import nonlinear_plate_strip
from mor.substructures import BlockSubstructure, LinearSubstructure, OdeSubstructure
from rt_runtime.checks import Array
from rt_runtime.errors import ConfigError

FASTEST_PISTON = 1.0
"""m/s; up to this velocity the damper's step is checked."""


def frame_part(
    structure: LinearStructure,
    *,
    name: str = "frame",
    reactions: Mapping[str, int] | None = None,
    accelerations: bool = False,
    method: str = "zoh",
) -> LinearSubstructure:
    """Make a frame with the input `ground` and outputs x_1, v_1, x_2, ... (a_1 ... on request), floors from the ground.

    reactions {input: floor, from 1}: forces with which something attached pulls that floor back, such as the measured
    force of a specimen or a damper.
    """
    floors = np.eye(structure.n)
    inputs: dict[str, tuple[str, Array]] = {"ground": ("m/s2", -structure.ground_mass)}
    for port, floor in (reactions or {}).items():
        if not 1 <= floor <= structure.n:
            raise ConfigError(f"Floor of reaction '{port}' must be 1 to {structure.n}, got {floor}.")
        inputs[port] = ("N", -floors[floor - 1])
    units = {"x": "m", "v": "m/s"} | ({"a": "m/s2"} if accelerations else {})
    outputs = {
        f"{quantity}_{i + 1}": (unit, quantity, floors[i])
        for i in range(structure.n)
        for quantity, unit in units.items()
    }
    return LinearSubstructure.from_structure(name, structure, inputs=inputs, outputs=outputs, method=method)


def three_storey_part(*, name: str = "frame", method: str = "rk4") -> LinearSubstructure:
    """Make the three-storey frame with parameters beam_length, column_length, floor_mass and damping_ratio.

    Inputs `ground` and the reaction `force` at floor 1; outputs x_1, v_1, x_2, v_2, x_3, v_3.
    """

    def matrices(p: Mapping[str, float]) -> tuple[Array, Array, Array, Array]:
        structure = benchmark_structure(
            beam_length=p["beam_length"],
            column_length=p["column_length"],
            floor_mass=p["floor_mass"],
            damping_ratio=p["damping_ratio"],
        )
        return frame_part(structure, reactions={"force": 1}).matrices()

    template = frame_part(benchmark_structure(), reactions={"force": 1})
    parameters = (
        Parameter("beam_length", 0.762, "m", 1e-3),
        Parameter("column_length", 0.635, "m", 1e-3),
        Parameter("floor_mass", 1000.0, "kg", 1e-3),
        Parameter("damping_ratio", 0.05, "", 0.0, 1.0),
    )
    return LinearSubstructure(
        name, matrices, inputs=template.inputs, outputs=template.outputs, parameters=parameters, method=method
    )


def actuator_part(
    plant: TransferFunction, *, name: str = "actuator", unit: str = "m", velocity: bool = False
) -> LinearSubstructure:
    """Make an actuator with input `command` and output `measured`, and its rate `velocity` on request.

    The velocity is C (A x + B u); it exists for plants whose denominator outranks the numerator.
    """
    m = plant.state_space()
    outputs, C, D = {"measured": unit}, m.C, m.D
    if velocity:
        if m.D.any():
            raise ConfigError(f"Actuator '{name}' must not pass its command through at once to have a velocity.")
        outputs["velocity"] = f"{unit}/s"
        C, D = np.vstack([m.C, m.C @ m.A]), np.vstack([m.D, m.C @ m.B])
        D[np.abs(D) < 1e-12 * np.abs(m.C).max() * np.abs(m.B).max()] = 0.0
    return LinearSubstructure(name, (m.A, m.B, C, D), inputs={"command": unit}, outputs=outputs)


def specimen_part(specimen: Specimen | None = None, *, name: str = "specimen") -> BlockSubstructure:
    """Make the benchmark's specimen: `displacement` in, `force` by backward differences out."""
    part = specimen or Specimen()

    parameters = (
        Parameter("mass", part.mass, "kg", 0.0),
        Parameter("damping", part.damping, "Ns/m", 0.0),
        Parameter("stiffness", part.stiffness, "N/m", 0.0),
    )
    return BlockSubstructure(
        name,
        lambda dt, p: Specimen(**p).block(dt),
        inputs={"displacement": "m"},
        outputs={"force": "N"},
        parameters=parameters,
    )


def sample_controller_part(*, name: str = "controller") -> BlockSubstructure:
    """Make the benchmark's public controller: `target` and `measured` in, `command` out."""
    return BlockSubstructure(
        name,
        lambda dt, p: sample_controller_block(dt),
        inputs={"target": "m", "measured": "m"},
        outputs={"command": "m"},
    )


def cart_pendulum_part(*, substeps: int = 1) -> OdeSubstructure:
    """Make the cart with its pendulum: `force` in; displacement, velocity, angle and reaction out."""
    return OdeSubstructure(cart_pendulum(), substeps=substeps)


def pendulum_part(*, substeps: int = 1) -> OdeSubstructure:
    """Make the pendulum alone: pivot `acceleration` in, angle and reaction out."""
    return OdeSubstructure(pendulum(), substeps=substeps)


def mr_damper_part(*, substeps: int = 1) -> OdeSubstructure:
    """Make the damper: `velocity` and `voltage` in, `force` out."""
    return OdeSubstructure(mr_damper(), substeps=substeps, points=[([0.0], [FASTEST_PISTON, 2.0])])


def semi_active_part(*, substeps: int = 1) -> OdeSubstructure:
    """Make the damper with its bang-bang law: `velocity`, `target`, `target_velocity` in, force and voltage out."""
    return OdeSubstructure(semi_active_damper(), substeps=substeps, points=[([0.0], [FASTEST_PISTON, 0.0, 0.0])])


def bouc_wen_part(*, substeps: int = 1) -> OdeSubstructure:
    """Make the hysteretic element: `displacement` and `velocity` in, `force` out."""
    return OdeSubstructure(bouc_wen(), substeps=substeps, direct=["displacement"])


def bouc_wen_oscillator_part(*, substeps: int = 1) -> OdeSubstructure:
    """Make the hysteretic oscillator: `ground_acceleration` in; displacement, velocity and force out."""
    return OdeSubstructure(bouc_wen_oscillator(), substeps=substeps, direct=[])


def plate_strip_part(*, substeps: int = 1) -> OdeSubstructure:
    """Make the nonlinear plate strip: `ground_acceleration` in; rotations, moments and axial force out."""
    return OdeSubstructure(nonlinear_plate_strip(), substeps=substeps, direct=[])


def benchmark_parts(frame: BenchmarkFrame) -> tuple[LinearSubstructure, LinearSubstructure, BlockSubstructure]:
    """Return numerical side (reaction `force` at floor 1), actuator and specimen of a partition, for a hybrid model."""
    numerical = frame_part(frame.numerical, name="numerical", reactions={"force": 1})
    return numerical, actuator_part(frame.plant), specimen_part(frame.specimen)
