"""Multi-axial test of a moment frame: one column under six actuators of a loading box, the rest of the frame computed.

A tick of 1 ms: actuators, potentiometers and load cells; pose by Newton's method; force at that pose; numerical part;
target; strokes of the target; controllers with preview; commands. Najafi and Spencer, NSEL Report 051 (2021), chapter
5; the box is number 1, its column elastic or with a plastic hinge. Settings were chosen on El Centro.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hmor.studies.base import Options, Run, VirtualTest, ground_motion
from mor import Normal, ParameterSpace, TransferFunction, prediction_model
from mor.dynamics.control_design import inverse_with_low_pass, low_pass, lqg_feedback
from mor.dynamics.tracking_design import parallel
from mor.models.loading_box import LIMBS, actuators, platform
from mor.models.moment_frame import Column, complete_yielding_frame, moment_frame, numerical_part, yielding_column
from rt_runtime import (
    Fade,
    ForceTransform,
    ForwardKinematics,
    Gain,
    Horizon,
    InverseKinematics,
    Loop,
    ModelBasedCompensator,
    Noise,
    Polynomial,
    Record,
    StartStop,
    StateSpace,
    Table,
    TrackingMpc,
    Tripped,
    guard_pose,
    pose_rules,
    previous,
)
from rt_runtime._core import Block
from rt_runtime.checks import Floats, one_of

RATE = 1000.0
DT = 1 / RATE
NOISE = 1e-5
"""Standard deviation of each potentiometer per sample, in m."""

POSE = ("m", "m", "m", "rad", "rad", "rad")
BOUNDS = tuple(0.9 * s for s in (0.053, 0.053, 0.0254, 0.0254, 0.0254, 0.0254))
POSE_LIMITS = (0.04, 0.01, 0.02, 0.05, 0.05, 0.15)
POSE_SPEEDS = (0.5, 0.05, 0.05, 0.5, 0.5, 1.5)
MANNERS = StartStop(soft_start=0.0, trip=0.5)
CONTROLS = ("none", "feedforward", "mmbc", "mpc", "mpc6")
SPACE = ParameterSpace({f"{what}_{limb}": Normal(1.0, 0.01) for limb in LIMBS for what in ("gain", "speed")})
"""What may differ from the identified actuators: static gain and pole frequencies, 1 % each."""

PUBLISHED = {
    "laboratory": {
        "open_none_ux": 19.5, "open_none_rz": 21.4, "open_feedforward_ux": 15.5, "open_feedforward_rz": 10.9,
        "open_mmbc_ux": 11.5, "open_mmbc_rz": 9.8,
    }
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One run: controller, whether the force is fed back, how the specimen behaves, how strong the ground shakes."""

    control: str = "mpc"
    closed: bool = True
    specimen: str = "elastic"
    scale: float = 0.1
    coupling_db: float | None = None
    damping: float = 0.02


CASES = {
    "open_none": Case("none", closed=False, damping=0.05),
    "open_feedforward": Case("feedforward", closed=False, damping=0.05),
    "open_mmbc": Case("mmbc", closed=False, damping=0.05),
    "open_mpc": Case("mpc", closed=False, damping=0.05),
    "mpc": Case(),
    "mpc6": Case("mpc6"),
    "mpc6_coupled": Case("mpc6", coupling_db=-20.0),
    "yielding": Case("mpc", specimen="yielding", scale=0.3),
}
"""The runs of the study, by name."""


def coupling_matrix(level_db: float | None) -> Floats:
    """Return 1 on the diagonal and `level_db` of either sign beside it, the same matrix in every run."""
    if level_db is None:
        return np.eye(6)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (6, 6))
    return np.asarray(np.where(np.eye(6, dtype=bool), 1.0, 10 ** (level_db / 20) * signs))


def perturbed(parameters: Mapping[str, float]) -> list[TransferFunction]:
    """Return the simulated actuators: P(s / speed) gain; without parameters the identified ones."""
    found = []
    for limb, plant in actuators(1).items():
        gain, speed = parameters.get(f"gain_{limb}", 1.0), parameters.get(f"speed_{limb}", 1.0)
        n = plant.denominator.size - 1
        top = plant.numerator * speed**n * gain
        found.append(TransferFunction(top, plant.denominator * speed ** np.arange(n + 1.0)))
    return found


def controllers(kind: str, coupling: Floats, settings: Mapping[str, Any]) -> list[Any]:
    """Return one controller per actuator, or one for all (mpc6); they know the identified plants and the coupling."""
    plants = list(actuators(1).values())
    if kind in ("feedforward", "mmbc"):
        corner = float(settings.get("corner", 50.0))
        feedback = lqg_feedback(low_pass(6, corner), error_weight=1.0, process_noise=1.0, dt=DT)
        sections = [inverse_with_low_pass(plant, order=6, corner=corner, dt=DT) for plant in plants]
        return [ModelBasedCompensator(s, dt=DT, feedback=feedback if kind == "mmbc" else None) for s in sections]
    known: list[Any] = [parallel(plants, coupling)] if kind == "mpc6" else list(plants)
    preview = Polynomial(
        int(settings.get("order", 3)), int(settings.get("spacing", 12)), float(settings.get("lead", 0.45))
    )
    found = []
    for i, plant in enumerate(known):
        model = prediction_model(
            plant,
            DT,
            input_variance=1e-10,
            noise_variance=1e-10,
            disturbance_gain=float(settings.get("disturbance_gain", 1e-6)),
        )
        bounds = BOUNDS if kind == "mpc6" else BOUNDS[i : i + 1]
        horizon = Horizon(
            int(settings.get("prediction", 30)),
            control=int(settings.get("moves", 10)),
            output_weight=1.0,
            move_weight=float(settings.get("move_weight", 0.003)),
            bounds=([-bound for bound in bounds], bounds),
        )
        found.append(TrackingMpc(model, horizon, preview=preview))
    return found


def build(
    case: Case,
    ground: Table,
    parameters: Mapping[str, float],
    options: Options,
    *,
    potentiometers: Block | None = None,
) -> Loop:
    """Build the loop of one run: the virtual box first, then what would run beside a real one.

    With the setting `guarded` a monitor stands behind the target pose. `potentiometers` (wires and noise to readings)
    may lie.
    """
    guarded = bool(options.settings.get("guarded", False))
    loop, coupling = Loop(RATE), coupling_matrix(case.coupling_db)
    loop.signal("ground", unit="m/s2")
    for name in ("command", "stroke", "wire", "wire_noise", "reading", "measured_stroke", "target_stroke"):
        loop.signal(f"{name}[6]", unit="m")
    for name in ("pose", "measured", "target"):
        loop.signal(f"{name}[6]", unit=POSE)
    for name in ("reaction", "feedback"):
        loop.signal(f"{name}[6]", unit=("N", "N", "N", "Nm", "Nm", "Nm"))
    loop.signal("cell[6]", unit="N")
    loop.signal("x[3]", unit=("m", "rad", "rad"))
    for name in ("residual", "pivot", "margin", "wire_margin", "measured_margin", "true_residual", "true_pivot"):
        loop.signal(name)
    loop.add("ground", ground, outputs=["ground"])
    _add_box(
        loop,
        case,
        perturbed(parameters),
        coupling,
        float(options.settings.get("noise", NOISE)),
        options.seed,
        potentiometers,
    )

    actuator_side, wires = platform(1), platform(1, "pots")
    loop.add("pose", ForwardKinematics(wires), inputs=["reading[6]"], outputs=["measured[6]", "residual", "pivot"])
    outputs = ["measured_stroke[6]", "measured_margin"]
    loop.add("strokes", InverseKinematics(actuator_side), inputs=["measured[6]"], outputs=outputs)
    loop.add("force", ForceTransform(actuator_side), inputs=["cell[6]", "measured[6]"], outputs=["feedback[6]"])
    part = numerical_part(case.damping)
    sign = np.array([1.0, 1.0, 1.0]) if case.closed else np.array([1.0, 0.0, 0.0])
    block = StateSpace(part.A, part.B * sign, part.C, dt=DT)
    fed_back = ["feedback_1", "feedback_6"]
    if guarded:
        loop.signal("faded[2]", unit=("N", "Nm"))
        loop.signal("state")
        fade = Fade(2, duration=0.2, dt=DT)
        loop.add("fade", fade, inputs=[*fed_back, previous("state")], outputs=["faded[2]"])
        fed_back = ["faded[2]"]
    loop.add("numerical", block, inputs=["ground", *fed_back], outputs=["x[3]"])
    loop.add("target", Gain(np.eye(6)[:, [0, 5]]), inputs=["x_1", "x_2"], outputs=["target[6]"])
    if guarded:
        rules = pose_rules("reading[6]", "command[6]")
        guard_pose(loop, "target[6]", "guarded[6]", rules, limits=POSE_LIMITS, speeds=POSE_SPEEDS, manners=MANNERS)
        loop.add("state", Gain(1.0), inputs=["monitor.state"], outputs=["state"])
    outputs = ["target_stroke[6]", "margin"]
    wanted = "guarded[6]" if guarded else "target[6]"
    loop.add("target_strokes", InverseKinematics(actuator_side), inputs=[wanted], outputs=outputs)
    _add_controllers(
        loop, case.control, controllers(case.control, coupling, options.settings) if case.control != "none" else []
    )
    return loop


def _add_box(
    loop: Loop,
    case: Case,
    plants: list[TransferFunction],
    coupling: Floats,
    noise: float,
    seed: int,
    potentiometers: Block | None,
) -> None:
    """Add actuators, platform, column, load cells and potentiometers."""
    plant = parallel(plants, coupling)
    block = StateSpace(plant.A, plant.B, plant.C, dt=DT, update="start")
    loop.add("actuators", block, inputs=[previous("command[6]")], outputs=["stroke[6]"])
    outputs = ["pose[6]", "true_residual", "true_pivot"]
    loop.add("platform", ForwardKinematics(platform(1), steps=3), inputs=["stroke[6]"], outputs=outputs)
    if case.specimen == "elastic":
        full = np.zeros((6, 6))
        full[np.ix_([0, 5], [0, 5])] = Column().stiffness
        loop.add("column", Gain(full), inputs=["pose[6]"], outputs=["reaction[6]"])
    else:
        loop.signal("speed[2]", unit=("m/s", "rad/s"))
        loop.signal("top[2]", unit=("N", "Nm"))
        rate = StateSpace(np.zeros((2, 2)), np.eye(2), -RATE * np.eye(2), RATE * np.eye(2), dt=DT, method="discrete")
        loop.add("speed", rate, inputs=["pose_1", "pose_6"], outputs=["speed[2]"])
        column = yielding_column().block(dt=DT, substeps=2, update="start")
        loop.add("hinge", column, inputs=["pose_1", "pose_6", "speed[2]"], outputs=["top[2]"])
        loop.add("column", Gain(np.eye(6)[:, [0, 5]]), inputs=["top[2]"], outputs=["reaction[6]"])
    cells = ForceTransform(platform(1), inverse=True)
    loop.add("load_cells", cells, inputs=["reaction[6]", "pose[6]"], outputs=["cell[6]"])
    outputs = ["wire[6]", "wire_margin"]
    loop.add("wires", InverseKinematics(platform(1, "pots")), inputs=["pose[6]"], outputs=outputs)
    loop.add("noise", Noise([noise] * 6, seed=seed), outputs=["wire_noise[6]"])
    both = potentiometers or Gain(np.hstack([np.eye(6), np.eye(6)]))
    loop.add("potentiometers", both, inputs=["wire[6]", "wire_noise[6]"], outputs=["reading[6]"])


def _add_controllers(loop: Loop, kind: str, found: list[Any]) -> None:
    """Add the controllers between target strokes, measured strokes and commands."""
    if kind == "none":
        loop.add("control", Gain(np.eye(6)), inputs=["target_stroke[6]"], outputs=["command[6]"])
        return
    if len(found) == 1:
        loop.signal("iterations")
        loop.signal("status")
        outputs = ["command[6]", "iterations", "status"]
        loop.add("control", found[0], inputs=["target_stroke[6]", "measured_stroke[6]"], outputs=outputs)
        return
    for i, block in enumerate(found, 1):
        further = [f"control_{i}.{name}" for name in ("a", "b")[: block.n_out - 1]]
        for name in further:
            loop.signal(name)
        inputs = [f"target_stroke_{i}", f"measured_stroke_{i}"]
        loop.add(f"control_{i}", block, inputs=inputs, outputs=[f"command_{i}", *further])


def error(values: Floats, reference: Floats) -> float:
    """Return 100 sqrt(sum e^2 / sum r^2)."""
    return float(100 * np.sqrt(np.sum((values - reference) ** 2) / np.sum(reference**2)))


def judge(case: Case, record: Record) -> dict[str, float]:
    """Return tracking of U_x and R_z in percent and, with feedback, the response against the complete frame."""
    pose, target = record["pose[6]"], record["target[6]"]
    found = {"ux": error(pose[:, 0], target[:, 0]), "rz": error(pose[:, 5], target[:, 5])}
    if case.closed:
        x, ground = record["x[3]"], record["ground"]
        whole = _complete(case, ground)
        found |= {f"response_{i + 1}": error(x[:, i], whole[:, i]) for i in range(3)}
        found["axial_kN"] = float(np.abs(pose[:, 1]).max() * Column().axial / 1e3)
    found["command_mm"] = float(1e3 * np.abs(record["command[6]"]).max())
    found["residual_max"] = float(record["residual"].max())
    return found


def _complete(case: Case, ground: Floats) -> Floats:
    """Response of the undivided frame to the same held ground motion."""
    whole = moment_frame(case.damping)[1].state_space()
    block: Any = StateSpace(whole.A, whole.B, whole.C[:3], whole.D[:3], dt=DT)
    if case.specimen == "yielding":
        block = complete_yielding_frame(case.damping).block(dt=DT, substeps=4)
    loop = Loop(RATE)
    loop.signal("ground", unit="m/s2")
    loop.signal("x[3]", unit=("m", "rad", "rad"))
    loop.add("ground", Table(np.arange(len(ground)) * DT, ground), outputs=["ground"])
    loop.add("frame", block, inputs=["ground"], outputs=["x[3]"])
    return loop.run(len(ground) * DT)["x[3]"]


def run(parameters: Mapping[str, float], options: Options) -> Run:
    """Run all cases, or the one that the setting `case` names."""
    names = tuple(CASES)
    if "case" in options.settings:
        names = (one_of(str(options.settings["case"]), "case", "study 'moment_frame'", names),)
    metrics: dict[str, float] = {}
    record = None
    for name in names:
        case = CASES[name]
        motion = ground_motion(options, scale=case.scale)
        table = Table(motion.time, motion.values)
        try:
            record = build(case, table, parameters, options).run(motion.duration)
        except Tripped as trip:
            if len(names) == 1:
                raise
            record = trip.record
            metrics[f"{name}_diverged_s"] = float(record.time[-1])
            continue
        metrics |= {f"{name}_{key}": value for key, value in judge(case, record).items()}
    return Run(metrics, record)


TEST = VirtualTest(
    name="moment_frame",
    run=run,
    space=SPACE,
    published=PUBLISHED,
    settings=(
        "case", "guarded", "noise", "corner", "order", "spacing", "lead", "prediction", "moves", "move_weight",
        "disturbance_gain",
    ),
)  # fmt: skip
