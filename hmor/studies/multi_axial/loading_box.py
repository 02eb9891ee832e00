"""A virtual loading box: six actuators, platform, load cells, potentiometers with noise, and what runs beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mor import TransferFunction
from mor.dynamics.tracking_design import parallel
from mor.models.multi_axial.loading_box import actuators, platform
from rt_runtime import ForceTransform, ForwardKinematics, Gain, InverseKinematics, Loop, Noise, StateSpace, previous
from rt_runtime._core import Block
from rt_runtime.checks import Array

RATE = 1000.0
DT = 1 / RATE
NOISE = 1e-5
"""Standard deviation of each potentiometer per sample, in m."""

POSE = ("m", "m", "m", "rad", "rad", "rad")
FORCE = ("N", "N", "N", "Nm", "Nm", "Nm")
BOUNDS = tuple(0.9 * s for s in (0.053, 0.053, 0.0254, 0.0254, 0.0254, 0.0254))
"""Largest command of each actuator in m."""


def perturbed(parameters: Mapping[str, float], box: int = 1, prefix: str = "") -> list[TransferFunction]:
    """Return the simulated actuators: P(s / speed) gain; without parameters the identified ones.

    Parameters
    ----------
    parameters
        {prefix}gain_X1, {prefix}speed_X1 and so on; 1 where there is none.
    box, prefix
        Which box, and what stands before the names of its parameters.
    """
    found = []
    for limb, plant in actuators(box).items():
        gain, speed = parameters.get(f"{prefix}gain_{limb}", 1.0), parameters.get(f"{prefix}speed_{limb}", 1.0)
        found.append(plant.varied(gain=gain, speed=speed))
    return found


def coupling_matrix(level_db: float | None) -> Array:
    """Return 1 on the diagonal and `level_db` of either sign beside it, the same matrix in every run."""
    if level_db is None:
        return np.eye(6)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (6, 6))
    return np.asarray(np.where(np.eye(6, dtype=bool), 1.0, 10 ** (level_db / 20) * signs))


def declare(loop: Loop, prefix: str = "", *, box: bool = True, beside: bool = True, command: bool = True) -> None:
    """Declare the signals of one box, of what runs beside it, or of both; `prefix` stands before each of them.

    Between the two are command, reading and cell, which belong to the box; `command` may be left to another.
    """
    vectors: dict[str, str | tuple[str, ...]] = {}
    numbers: list[str] = []
    if box:
        vectors |= {"command": "m"} if command else {}
        vectors |= dict.fromkeys(("stroke", "wire", "wire_noise", "reading"), "m")
        vectors |= {"pose": POSE, "reaction": FORCE, "cell": "N"}
        numbers += ["wire_margin", "true_residual", "true_pivot"]
    if beside:
        vectors |= dict.fromkeys(("measured_stroke", "target_stroke"), "m")
        vectors |= {"measured": POSE, "target": POSE, "feedback": FORCE}
        numbers += ["residual", "pivot", "margin", "measured_margin"]
    for name, unit in vectors.items():
        loop.signal(f"{prefix}{name}[6]", unit=unit)
    for name in numbers:
        loop.signal(f"{prefix}{name}")


def add_actuators(
    loop: Loop, plants: Sequence[TransferFunction], coupling: Array, *, box: int = 1, prefix: str = ""
) -> None:
    """Add actuators and platform: command[6] of the last tick, or a constant that a test sets, to pose[6]."""
    plant = parallel(plants, coupling)
    block = StateSpace(plant.A, plant.B, plant.C, dt=DT, update="start")
    command: Any = f"{prefix}command[6]"
    if not loop.is_constant(f"{prefix}command_1"):
        command = previous(command)
    loop.add(f"{prefix}actuators", block, inputs=[command], outputs=[f"{prefix}stroke[6]"])
    outputs = [f"{prefix}{name}" for name in ("pose[6]", "true_residual", "true_pivot")]
    forward = ForwardKinematics(platform(box), steps=3)
    loop.add(f"{prefix}platform", forward, inputs=[f"{prefix}stroke[6]"], outputs=outputs)


def add_sensors(
    loop: Loop,
    *,
    noise: float,
    seed: int,
    potentiometers: Block | None = None,
    box: int = 1,
    prefix: str = "",
) -> None:
    """Add load cells (from reaction[6]) and potentiometers; `potentiometers` (wires and noise to readings) may lie."""
    cells, wires = ForceTransform(platform(box), inverse=True), InverseKinematics(platform(box, "pots"))
    inputs = [f"{prefix}reaction[6]", f"{prefix}pose[6]"]
    loop.add(f"{prefix}load_cells", cells, inputs=inputs, outputs=[f"{prefix}cell[6]"])
    outputs = [f"{prefix}wire[6]", f"{prefix}wire_margin"]
    loop.add(f"{prefix}wires", wires, inputs=[f"{prefix}pose[6]"], outputs=outputs)
    loop.add(f"{prefix}noise", Noise([noise] * 6, seed=seed), outputs=[f"{prefix}wire_noise[6]"])
    both = potentiometers or Gain(np.hstack([np.eye(6), np.eye(6)]))
    inputs = [f"{prefix}wire[6]", f"{prefix}wire_noise[6]"]
    loop.add(f"{prefix}potentiometers", both, inputs=inputs, outputs=[f"{prefix}reading[6]"])


def add_measured(loop: Loop, *, box: int = 1, prefix: str = "", timed: bool = True) -> None:
    """Add what runs beside a real box: pose and strokes from the readings, force at that pose.

    With `timed` false pose and strokes are known before the test begins.
    """
    actuator_side, wires = platform(box), platform(box, "pots")
    outputs = [f"{prefix}{name}" for name in ("measured[6]", "residual", "pivot")]
    loop.add(f"{prefix}pose", ForwardKinematics(wires), inputs=[f"{prefix}reading[6]"], outputs=outputs, timed=timed)
    outputs = [f"{prefix}measured_stroke[6]", f"{prefix}measured_margin"]
    strokes = InverseKinematics(actuator_side)
    loop.add(f"{prefix}strokes", strokes, inputs=[f"{prefix}measured[6]"], outputs=outputs, timed=timed)
    inputs = [f"{prefix}cell[6]", f"{prefix}measured[6]"]
    loop.add(f"{prefix}force", ForceTransform(actuator_side), inputs=inputs, outputs=[f"{prefix}feedback[6]"])


def add_controllers(
    loop: Loop, found: Sequence[Any], *, wanted: str, box: int = 1, prefix: str = "", state: Sequence[str] = ()
) -> None:
    """Add the strokes of the pose `wanted` and the controllers: one for all, one per actuator, or none.

    Parameters
    ----------
    loop, found, wanted
        The loop, the controllers, the vector signal of the pose to follow.
    box, prefix
        Which box, and what stands before its signals.
    state
        Signals of the numerical state, for controllers with a preview from it.
    """
    outputs = [f"{prefix}target_stroke[6]", f"{prefix}margin"]
    loop.add(f"{prefix}target_strokes", InverseKinematics(platform(box)), inputs=[wanted], outputs=outputs)
    targets, measured, command = (f"{prefix}{name}[6]" for name in ("target_stroke", "measured_stroke", "command"))
    if not found:
        loop.add(f"{prefix}control", Gain(np.eye(6)), inputs=[targets], outputs=[command])
        return
    if len(found) == 1:
        further = [f"{prefix}iterations", f"{prefix}status"]
        for name in further:
            loop.signal(name)
        loop.add(f"{prefix}control", found[0], inputs=[targets, measured, *state], outputs=[command, *further])
        return
    for i, block in enumerate(found, 1):
        further = [f"{prefix}control_{i}.{name}" for name in ("a", "b")[: block.n_out - 1]]
        for name in further:
            loop.signal(name)
        inputs = [f"{prefix}target_stroke_{i}", f"{prefix}measured_stroke_{i}", *state]
        loop.add(f"{prefix}control_{i}", block, inputs=inputs, outputs=[f"{prefix}command_{i}", *further])


def error(values: Array, reference: Array) -> float:
    """Return 100 sqrt(sum e^2 / sum r^2)."""
    return float(100 * np.sqrt(np.sum((values - reference) ** 2) / np.sum(reference**2)))
