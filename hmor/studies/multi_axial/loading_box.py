"""A virtual loading box: six actuators, platform, load cells, potentiometers with noise, and what runs beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hmor.studies.base import Options, Run
from hmor.studies.settings import whole_of
from mor import ParameterSpace, TransferFunction, lhs, prediction_model
from mor.dynamics.preflight import preflight
from mor.dynamics.tracking_design import parallel
from mor.models.multi_axial.loading_box import FLOW, LOAD_CELL, PISTON, actuators, platform
from rt_runtime import (
    Fade,
    ForceTransform,
    ForwardKinematics,
    Gain,
    GuardedPose,
    Horizon,
    InverseKinematics,
    Loop,
    Noise,
    Record,
    Rule,
    StartStop,
    StateSpace,
    TrackingMpc,
    Tripped,
    guard_pose,
    previous,
)
from rt_runtime._core import Block
from rt_runtime.checks import Array, one_of
from rt_runtime.engine.pacing import STATES

RATE = 1000.0
DT = 1 / RATE
NOISE = 1e-5
"""Standard deviation of each potentiometer per sample, in m."""

POSE = ("m", "m", "m", "rad", "rad", "rad")
FORCE = ("N", "N", "N", "Nm", "Nm", "Nm")
BOUNDS = tuple(0.9 * s for s in (0.053, 0.053, 0.0254, 0.0254, 0.0254, 0.0254))
"""Largest command of each actuator in m."""

RUNNING = STATES.index("running")
FADE = 0.2
"""Seconds in which forces and previews fade once the monitor ends the test."""

PERTURBED = 10
FORECAST_EVERY = 5
"""Of the ticks of a forecast, each fifth is compared with the limits of a box."""


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


def stroke_controller(
    plant: Any, bounds: Sequence[float], preview: Any, settings: Mapping[str, Any], disturbance_gain: float
) -> TrackingMpc:
    """Return the controller of one plant (or of all six in parallel), with what the settings of a study replace.

    Parameters
    ----------
    plant
        Identified actuator, or the state space of several.
    bounds
        Largest command of each actuator in m.
    preview
        How the target goes on.
    settings
        prediction, moves, move_weight, input_variance, disturbance_gain.
    disturbance_gain
        Of the prediction model, where the settings say nothing.
    """
    model = prediction_model(
        plant,
        DT,
        input_variance=float(settings.get("input_variance", 1e-10)),
        noise_variance=1e-10,
        disturbance_gain=float(settings.get("disturbance_gain", disturbance_gain)),
    )
    horizon = Horizon(
        whole_of(settings, "prediction", 30),
        control=whole_of(settings, "moves", 10),
        output_weight=1.0,
        move_weight=float(settings.get("move_weight", 0.003)),
        bounds=([-bound for bound in bounds], bounds),
    )
    return TrackingMpc(model, horizon, preview=preview)


def add_fade(loop: Loop, forces: Sequence[str], units: Sequence[str]) -> list[str]:
    """Fade the forces that are fed back out within `FADE` s once the monitor no longer runs; return their new names."""
    n = len(forces)
    loop.signal(f"faded[{n}]", unit=tuple(units))
    loop.signal("state")
    fade = Fade(n, duration=FADE, dt=DT)
    loop.add("fade", fade, inputs=[*forces, previous("state")], outputs=[f"faded[{n}]"])
    return [f"faded[{n}]"]


def add_guard(loop: Loop, poses: Sequence[GuardedPose], rules: Sequence[Rule]) -> None:
    """Put one monitor behind the target poses and pass its state on to the fade."""
    guard_pose(loop, list(poses), list(rules), manners=StartStop(soft_start=0.0, trip=0.5))
    loop.add("state", Gain(1.0), inputs=["monitor.state"], outputs=["state"])


def likely_actuators(space: ParameterSpace) -> dict[str, dict[str, float]]:
    """Return the parameters a test must be stable with: the identified actuators, and ten perturbed ones."""
    design = lhs(space, PERTURBED, seed=1)
    drawn = {f"perturbed actuators {k + 1}": design.parameters(k) for k in range(PERTURBED)}
    return {"the identified actuators": {}} | drawn


def box_problems(box: int, pose: Array, reaction: Array) -> Sequence[str]:
    """Compare strokes, load cells and flow that poses and forces (n, 6) at every tick ask for with those of a box."""
    limits = {"force_limit": LOAD_CELL, "piston_area": PISTON, "flow_limit": FLOW}
    every = slice(None, None, FORECAST_EVERY)
    return preflight(platform(box), pose[every], RATE / FORECAST_EVERY, reaction=reaction[every], **limits).problems


def while_running(record: Record) -> Record:
    """Return the record without the way to rest after it, where a monitor was in the loop."""
    if all(signal.name != "monitor.state" for signal in record.signals):
        return record
    keep = record["monitor.state"] == RUNNING
    return replace(record, time=record.time[keep], values=record.values[keep])


def run_cases(
    study: str,
    cases: Sequence[str],
    options: Options,
    run: Callable[[str], Record],
    judge: Callable[[str, Record], dict[str, float]],
) -> Run:
    """Run all cases, or the one that the setting `case` names; one that diverges among several is a number.

    Parameters
    ----------
    study, cases
        Name of the study, names of its cases.
    options
        Of the virtual test.
    run, judge
        Run one case; return its numbers.
    """
    names = tuple(cases)
    if "case" in options.settings:
        names = (one_of(str(options.settings["case"]), "case", f"study '{study}'", names),)
    metrics: dict[str, float] = {}
    record = None
    for name in names:
        try:
            record = run(name)
        except Tripped as trip:
            if len(names) == 1:
                raise
            record = trip.record
            metrics[f"{name}_diverged_s"] = float(record.time[-1])
            continue
        metrics |= {f"{name}_{key}": value for key, value in judge(name, record).items()}
    return Run(metrics, record)


def error(values: Array, reference: Array) -> float:
    """Return 100 sqrt(sum e^2 / sum r^2)."""
    return float(100 * np.sqrt(np.sum((values - reference) ** 2) / np.sum(reference**2)))
