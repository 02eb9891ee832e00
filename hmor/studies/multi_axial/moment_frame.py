"""Multi-axial test of a moment frame: one column under six actuators of a loading box, the rest of the frame computed.

A tick of 1 ms: actuators, potentiometers and load cells; pose by Newton's method; force at that pose; numerical part;
target; strokes of the target; controllers with preview; commands. Najafi and Spencer, NSEL Report 051 (2021), chapter
5; the box is number 1, its column elastic or with a plastic hinge. Settings were chosen on El Centro.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from hmor.studies.base import Options, Run, VirtualTest, ground_motion
from hmor.studies.multi_axial.loading_box import (
    BOUNDS,
    DT,
    NOISE,
    RATE,
    add_actuators,
    add_controllers,
    add_fade,
    add_guard,
    add_measured,
    add_sensors,
    box_problems,
    coupling_matrix,
    declare,
    error,
    likely_actuators,
    perturbed,
    run_cases,
    stroke_controller,
    while_running,
)
from hmor.studies.multi_axial.set_up import draw_moment_frame
from hmor.studies.settings import truth_of, whole_of
from mor import Normal, ParameterSpace
from mor.dynamics.control_design import inverse_with_low_pass, low_pass, lqg_feedback
from mor.dynamics.tracking_design import design_report, hybrid_problems, parallel
from mor.dynamics.transfer import StateSpaceMatrices
from mor.models.multi_axial.loading_box import LIMBS, actuators, platform
from mor.models.multi_axial.moment_frame import (
    Column,
    complete_yielding_frame,
    moment_frame,
    numerical_part,
    yielding_column,
)
from rt_runtime import (
    Gain,
    GuardedPose,
    Loop,
    ModelBasedCompensator,
    Polynomial,
    Record,
    StateSpace,
    Table,
    axial_rule,
    pose_rules,
)
from rt_runtime._core import Block
from rt_runtime.checks import Array

POSE_LIMITS = (0.035, 0.003, 0.005, 0.02, 0.02, 0.1)
POSE_SPEEDS = (0.5, 0.05, 0.05, 0.5, 0.5, 1.5)
AXIAL_LIMIT = 28e3
"""What the three vertical actuators can pull, in N."""

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


def controllers(kind: str, coupling: Array, settings: Mapping[str, Any]) -> list[Any]:
    """Return one controller per actuator, or one for all (mpc6); they know the identified plants and the coupling."""
    plants = list(actuators(1).values())
    if kind in ("feedforward", "mmbc"):
        corner = float(settings.get("corner", 50.0))
        feedback = lqg_feedback(low_pass(6, corner), error_weight=1.0, process_noise=1.0, dt=DT)
        sections = [inverse_with_low_pass(plant, order=6, corner=corner, dt=DT) for plant in plants]
        return [ModelBasedCompensator(s, dt=DT, feedback=feedback if kind == "mmbc" else None) for s in sections]
    known: list[Any] = [parallel(plants, coupling)] if kind == "mpc6" else list(plants)
    preview = Polynomial(
        whole_of(settings, "order", 3), whole_of(settings, "spacing", 12), float(settings.get("lead", 0.45))
    )
    found = []
    for i, plant in enumerate(known):
        bounds = BOUNDS if kind == "mpc6" else BOUNDS[i : i + 1]
        found.append(stroke_controller(plant, bounds, preview, settings, 1e-6))
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

    With the setting `guarded` everything is as beside a real box: the loop refuses a target that is beyond its strokes,
    load cells or flow, and a monitor stands behind the target pose. `potentiometers` (wires and noise to readings) may
    lie.
    """
    guarded = truth_of(options.settings, "guarded", False)
    loop, coupling = Loop(RATE), coupling_matrix(case.coupling_db)
    loop.signal("ground", unit="m/s2")
    declare(loop)
    loop.signal("x[3]", unit=("m", "rad", "rad"))
    loop.add("ground", ground, outputs=["ground"])
    add_actuators(loop, perturbed(parameters), coupling)
    _add_column(loop, case, ["pose_1", "pose_6"])
    loop.add("reaction", Gain(np.eye(6)[:, [0, 5]]), inputs=["top[2]"], outputs=["reaction[6]"])
    noise = float(options.settings.get("noise", NOISE))
    add_sensors(loop, noise=noise, seed=options.seed, potentiometers=potentiometers)
    add_measured(loop)
    part = numerical_part(case.damping)
    sign = np.array([1.0, 1.0, 1.0]) if case.closed else np.array([1.0, 0.0, 0.0])
    block = StateSpace(part.A, part.B * sign, part.C, dt=DT)
    fed_back = ["feedback_1", "feedback_6"]
    if guarded:
        fed_back = add_fade(loop, fed_back, ("N", "Nm"))
    loop.add("numerical", block, inputs=["ground", *fed_back], outputs=["x[3]"])
    loop.add("target", Gain(np.eye(6)[:, [0, 5]]), inputs=["x_1", "x_2"], outputs=["target[6]"])
    if guarded:
        axial = axial_rule("measured_2", stiffness=Column().axial, largest=AXIAL_LIMIT)
        pose = GuardedPose("target[6]", "guarded[6]", platform(1), POSE_LIMITS, POSE_SPEEDS)
        add_guard(loop, [pose], [*pose_rules("reading[6]", "command[6]"), axial])
    found = controllers(case.control, coupling, options.settings) if case.control != "none" else []
    add_controllers(loop, found, wanted="guarded[6]" if guarded else "target[6]")
    if guarded:
        loop.require("Target", lambda: target_problems(case, ground))
    if found:
        loop.require(
            "Controllers", lambda: design_report(found, parallel(list(actuators(1).values()), coupling)).problems
        )
    if case.closed and case.control.startswith("mpc"):
        key = (case.control, case.coupling_db, case.damping, tuple(sorted(options.settings.items())))
        loop.require("Stability", lambda: stability_problems(*key))
    return loop


def target_problems(case: Case, ground: Table) -> Sequence[str]:
    """Compare the strokes, forces and flow that the complete frame would ask for with those of the box."""
    record = _complete(case, ground, ground.duration)
    pose, reaction = (np.zeros((len(record.time), 6)) for _ in range(2))
    pose[:, [0, 5]], reaction[:, [0, 5]] = record["x[3]"][:, :2], record["top[2]"]
    return box_problems(1, pose, reaction)


@cache
def stability_problems(
    control: str, coupling_db: float | None, damping: float, settings: tuple[tuple[str, Any], ...]
) -> Sequence[str]:
    """Judge the whole test on the identified actuators and on ten perturbed ones."""
    coupling = coupling_matrix(coupling_db)
    plants = {name: parallel(perturbed(draw), coupling) for name, draw in likely_actuators(SPACE).items()}
    part = numerical_part(damping).discretise(DT)
    target = StateSpaceMatrices(part.A, part.B, part.C[:2], np.zeros((2, 3)), DT)
    return hybrid_problems(
        controllers(control, coupling, dict(settings)),
        plants,
        target,
        stiffness=Column().stiffness,
        force_inputs=[1, 2],
        to_strokes=platform(1).jacobian()[:, [0, 5]],
    )


def _add_column(loop: Loop, case: Case, pose: list[str]) -> None:
    """Add the column: its force and moment top[2] for U_x and R_z of its top."""
    loop.signal("top[2]", unit=("N", "Nm"))
    if case.specimen == "elastic":
        loop.add("column", Gain(Column().stiffness), inputs=pose, outputs=["top[2]"])
        return
    loop.signal("speed[2]", unit=("m/s", "rad/s"))
    rate = StateSpace(np.zeros((2, 2)), np.eye(2), -RATE * np.eye(2), RATE * np.eye(2), dt=DT, method="discrete")
    loop.add("speed", rate, inputs=pose, outputs=["speed[2]"])
    column = yielding_column().block(dt=DT, substeps=2, update="start")
    loop.add("column", column, inputs=[*pose, "speed[2]"], outputs=["top[2]"])


def judge(case: Case, record: Record) -> dict[str, float]:
    """Return tracking of U_x and R_z in percent and, with feedback, the response against the complete frame."""
    record = while_running(record)
    pose, target = record["pose[6]"], record["target[6]"]
    found = {"ux": error(pose[:, 0], target[:, 0]), "rz": error(pose[:, 5], target[:, 5])}
    if case.closed:
        x, ground = record["x[3]"], record["ground"]
        whole = _complete(case, Table(np.arange(len(ground)) * DT, ground), len(ground) * DT)["x[3]"]
        found |= {f"response_{i + 1}": error(x[:, i], whole[:, i]) for i in range(3)}
        found["axial_kN"] = float(np.abs(pose[:, 1]).max() * Column().axial / 1e3)
    found["command_mm"] = float(1e3 * np.abs(record["command[6]"]).max())
    found["residual_max"] = float(record["residual"].max())
    return found


def _complete(case: Case, ground: Table, duration: float) -> Record:
    """Response x[3] of the undivided frame to the same ground motion; force and moment top[2] of its column."""
    whole = moment_frame(case.damping)[1].state_space()
    block: Any = StateSpace(whole.A, whole.B, whole.C[:3], whole.D[:3], dt=DT)
    if case.specimen == "yielding":
        block = complete_yielding_frame(case.damping).block(dt=DT, substeps=4)
    loop = Loop(RATE)
    loop.signal("ground", unit="m/s2")
    loop.signal("x[3]", unit=("m", "rad", "rad"))
    loop.add("ground", ground, outputs=["ground"])
    loop.add("frame", block, inputs=["ground"], outputs=["x[3]"])
    _add_column(loop, case, ["x_1", "x_2"])
    return loop.run(duration)


def run(parameters: Mapping[str, float], options: Options) -> Run:
    """Run all cases, or the one that the setting `case` names."""

    def one(name: str) -> Record:
        motion = ground_motion(options, scale=CASES[name].scale)
        table = Table(motion.time, motion.values)
        return build(CASES[name], table, parameters, options).run(motion.duration)

    return run_cases("moment_frame", tuple(CASES), options, one, lambda name, record: judge(CASES[name], record))


TEST = VirtualTest(
    name="moment_frame",
    run=run,
    space=SPACE,
    published=PUBLISHED,
    settings=(
        "case", "guarded", "noise", "corner", "order", "spacing", "lead", "prediction", "moves", "move_weight",
        "disturbance_gain",
    ),
    drawing=draw_moment_frame,
)  # fmt: skip
