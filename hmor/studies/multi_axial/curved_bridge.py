"""Multi-axial test of a curved bridge: two piers under two loading boxes, deck and third pier computed.

Twelve actuators at 1 kHz. The deck (94 freedoms) is reduced to 26 coordinates with residual attachment; the previews of
all strokes come from its state, closed with the initial stiffness of the piers. Najafi and Spencer, NSEL Report 051
(2021), chapter 6. Settings are those of the moment frame but the preview.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from hmor.studies.base import Options, Run, VirtualTest, ground_motion
from hmor.studies.multi_axial.loading_box import (
    BOUNDS,
    DT,
    FADE,
    FORCE,
    NOISE,
    RATE,
    add_actuators,
    add_controllers,
    add_fade,
    add_guard,
    add_measured,
    add_sensors,
    box_problems,
    declare,
    error,
    likely_actuators,
    perturbed,
    run_cases,
    stroke_controller,
    while_running,
)
from hmor.studies.multi_axial.set_up import draw_bridge
from hmor.studies.settings import truth_of, whole_of
from mor import Normal, ParameterSpace
from mor.dynamics.projection import FreeInterface, SparseStructure
from mor.dynamics.reduced_structure import Reduced
from mor.dynamics.tracking_design import design_report, hybrid_problems, model_preview, parallel
from mor.dynamics.transfer import StateSpaceMatrices
from mor.excitation import Excitation
from mor.models.multi_axial.curved_bridge import INTERFACE, bridge_deck, interface_freedoms, pier_axial, pier_stiffness
from mor.models.multi_axial.loading_box import LIMBS, actuators, platform
from rt_runtime import (
    Fade,
    Gain,
    GuardedPose,
    Loop,
    Polynomial,
    Record,
    Rule,
    StateSpace,
    Table,
    TrackingMpc,
    axial_rule,
    pose_rules,
)
from rt_runtime._core import Block
from rt_runtime.checks import Array

BOXES = {1: "box1.", 2: "box2."}
MODES = 16
SCALES = (0.05, 0.025)
"""Share of the record along X and Z."""

DIRECTIONS = [0, 2, 3, 4, 5]
"""ux, uz, rx, ry, rz of a pose; the piers are too stiff along their axis, uy stays 0."""

INTO = np.eye(6)[:, DIRECTIONS]
POSE_LIMITS = (0.02, 0.003, 0.012, 0.02, 0.02, 0.06)
POSE_SPEEDS = (0.5, 0.05, 0.3, 0.5, 0.5, 1.5)
AXIAL_LIMIT = 28e3
SPACE = ParameterSpace(
    {f"box{i}_{w}_{limb}": Normal(1.0, 0.01) for i in BOXES for limb in LIMBS for w in ("gain", "speed")}
)


@dataclass(frozen=True)
class Case:
    """One run: controller ("none", "polynomial", "state") and Rayleigh damping of the first and fifth mode.

    quiet: the controllers trust the identified actuators and hardly listen to the potentiometers.
    """

    control: str = "state"
    damping: float = 0.02
    quiet: bool = False

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of the controllers: those given before those of the case."""
        return (QUIET if self.quiet else {}) | dict(given)


QUIET = {"disturbance_gain": 2e-8, "input_variance": 1e-12, "lead": 0.35}
"""For actuators that are known to 0.1 %: little noise gets through, and little is learnt of unknown actuators."""

CASES = {
    "none": Case("none", 0.05),
    "polynomial": Case("polynomial", 0.05),
    "state_5": Case("state", 0.05),
    "state": Case(),
    "quiet": Case(quiet=True),
}
CONTROLLER = ("order", "spacing", "lead", "prediction", "moves", "move_weight", "disturbance_gain", "input_variance")
"""Settings that change the controllers."""

PUBLISHED = {
    "laboratory, open loop": {
        "mmbc_box1_ux": 15.3, "mmbc_box1_uz": 10.7, "mmbc_box1_rz": 33.6, "mmbc_box2_ux": 11.2, "mmbc_box2_uz": 12.7,
        "mmbc_box2_rz": 26.2,
    }
}  # fmt: skip


@cache
def deck(damping: float) -> Reduced:
    """Return deck and pier 3 reduced to 26 coordinates; inputs ax, az and forces, outputs the two interfaces."""
    full = bridge_deck(ratio=damping)
    return full.judged(FreeInterface(interface_freedoms(full), MODES), band=(0.0, 20.0))


def piers() -> Array:
    """Return the stiffness (10, 10) of both physical piers at their heads."""
    return np.asarray(block_diag(*(pier_stiffness(i) for i in BOXES)))


def numerical(damping: float) -> StateSpaceMatrices:
    """Return the sampled numerical part: inputs ax, az and the ten forces of the piers, outputs the two interfaces."""
    system = deck(damping).system
    signed = system.B * np.r_[1.0, 1.0, -np.ones(10)]
    return StateSpaceMatrices(system.A, signed, system.C, system.D).discretise(DT)


def jacobians() -> Array:
    """Return d strokes / d interface (12, 10) of both boxes at rest."""
    return np.asarray(block_diag(*(platform(i).jacobian()[:, DIRECTIONS] for i in BOXES)))


def controllers(kind: str, damping: float, settings: Mapping[str, Any]) -> dict[int, list[TrackingMpc]]:
    """Return six controllers for each box; with "state" their previews come from the numerical state."""
    steps, lead = whole_of(settings, "prediction", 30), float(settings.get("lead", 0.45))
    found: dict[int, list[TrackingMpc]] = {i: [] for i in BOXES}
    if kind == "none":
        return found
    from_state = model_preview(
        numerical(damping), stiffness=piers(), force_inputs=range(2, 12), steps=steps, dt=DT, lead=lead,
        to_strokes=jacobians(),
    )  # fmt: skip
    for i in BOXES:
        for j, plant in enumerate(actuators(i).values()):
            row = 6 * (i - 1) + j
            preview: Any = Polynomial(whole_of(settings, "order", 2), whole_of(settings, "spacing", 12), lead)
            if kind == "state":
                preview = type(from_state)(from_state.change[:, row : row + 1])
            found[i].append(stroke_controller(plant, BOUNDS[j : j + 1], preview, settings, 5e-7))
    return found


def build(
    case: Case,
    ground: Excitation,
    parameters: Mapping[str, float],
    options: Options,
    *,
    potentiometers: Mapping[int, Block] | None = None,
) -> Loop:
    """Build the loop of one run: both boxes with their piers, then what would run beside real ones.

    With the setting `guarded` everything is as beside real boxes: targets beyond one of them are refused, one monitor
    stands behind both poses, and a rule of one box stops both. `potentiometers` of a box may lie.
    """
    guarded = truth_of(options.settings, "guarded", False)
    loop = Loop(RATE)
    loop.signal("ground[2]", unit="m/s2")
    loop.add("ground", shaking(ground), outputs=["ground[2]"])
    noise = float(options.settings.get("noise", NOISE))
    for i, prefix in BOXES.items():
        declare(loop, prefix)
        lying = (potentiometers or {}).get(i)
        seed = options.seed + 1000 * i
        add_box(loop, i, parameters, noise=noise, seed=seed, potentiometers=lying, prefix=prefix)
        add_measured(loop, box=i, prefix=prefix)
    add_deck(loop, case.damping, faded=guarded)
    if guarded:
        _guard(loop)
    settings = case.settings(options.settings)
    found = controllers(case.control, case.damping, settings)
    add_control(loop, case, found, wanted="guarded" if guarded else "target")
    require(loop, case, ground, found, settings, guarded=guarded)
    return loop


def add_box(
    loop: Loop,
    i: int,
    parameters: Mapping[str, float],
    *,
    noise: float,
    seed: int,
    potentiometers: Block | None = None,
    prefix: str = "",
) -> None:
    """Add box `i` with its pier: command[6] to reading[6] and cell[6]."""
    add_actuators(loop, perturbed(parameters, i, f"box{i}_"), np.eye(6), box=i, prefix=prefix)
    pier = Gain(INTO @ pier_stiffness(i) @ INTO.T)
    loop.add(f"{prefix}pier", pier, inputs=[f"{prefix}pose[6]"], outputs=[f"{prefix}reaction[6]"])
    add_sensors(loop, noise=noise, seed=seed, potentiometers=potentiometers, box=i, prefix=prefix)


def add_deck(loop: Loop, damping: float, *, faded: bool) -> None:
    """Add the numerical part: feedback of both boxes, faded out after a trip, to their targets and the state x."""
    forces = [f"{prefix}feedback_{d + 1}" for prefix in BOXES.values() for d in DIRECTIONS]
    if faded:
        forces = add_fade(loop, forces, [FORCE[d] for _ in BOXES for d in DIRECTIONS])
    part = numerical(damping)
    n = len(part.A)
    loop.signal("d[10]")
    loop.signal(f"x[{n}]")
    outputs = np.vstack([part.C, np.eye(n)])
    block = StateSpace(part.A, part.B, outputs, np.zeros((n + 10, 12)), dt=DT, method="discrete")
    loop.add("deck", block, inputs=["ground[2]", *forces], outputs=["d[10]", f"x[{n}]"])
    for i, prefix in BOXES.items():
        at = [f"d_{5 * (i - 1) + k}" for k in range(1, 6)]
        loop.add(f"{prefix}target", Gain(INTO), inputs=at, outputs=[f"{prefix}target[6]"])


def add_control(loop: Loop, case: Case, found: Mapping[int, Sequence[TrackingMpc]], *, wanted: str) -> None:
    """Add the controllers of both boxes, from the poses `wanted` to command[6]; behind a monitor the preview fades."""
    n = len(numerical(case.damping).A)
    state = [f"x[{n}]"] if case.control == "state" else []
    if state and wanted == "guarded":  # what is seen ahead ends with the test
        loop.signal(f"ahead[{n}]")
        loop.add("ahead", Fade(n, duration=FADE, dt=DT), inputs=[*state, "state"], outputs=[f"ahead[{n}]"])
        state = [f"ahead[{n}]"]
    for i, prefix in BOXES.items():
        add_controllers(loop, found[i], wanted=f"{prefix}{wanted}[6]", box=i, prefix=prefix, state=state)


def shaking(ground: Excitation) -> Table:
    """Return the ground accelerations along X and Z: the same record in different shares."""
    return Table(ground.time, np.outer(ground.values, np.array(SCALES)))


def _guard(loop: Loop) -> None:
    """Put one monitor behind the poses of both boxes."""
    poses = [
        GuardedPose(f"{prefix}target[6]", f"{prefix}guarded[6]", platform(i), POSE_LIMITS, POSE_SPEEDS)
        for i, prefix in BOXES.items()
    ]
    add_guard(loop, poses, box_rules())


def box_rules(fastest: float = 1.0) -> list[Rule]:
    """Return the rules on both boxes; a reading that moves faster than `fastest` m/s jumps."""
    rules = []
    for i, prefix in BOXES.items():
        rules += pose_rules(f"{prefix}reading[6]", f"{prefix}command[6]", prefix=prefix, fastest=fastest)
        rules.append(axial_rule(f"{prefix}measured_2", stiffness=pier_axial(i), largest=AXIAL_LIMIT, prefix=prefix))
    return rules


def require(
    loop: Loop,
    case: Case,
    ground: Excitation,
    found: Mapping[int, Sequence[TrackingMpc]],
    settings: Mapping[str, Any],
    *,
    guarded: bool,
) -> None:
    """Refuse targets beyond a box, loud or unstable controllers, and a test that is unstable on likely plants."""
    if guarded:
        loop.require("Target", lambda: target_problems(case, ground))
    if case.control == "none":
        return
    for i in BOXES:
        plant = parallel(list(actuators(i).values()))
        loop.require(f"Controllers of box {i}", lambda i=i, plant=plant: design_report(found[i], plant).problems)  # type: ignore[misc]
    own = {name: value for name, value in settings.items() if name in CONTROLLER}
    key = (case.control, case.damping, tuple(sorted(own.items())))
    loop.require("Stability", lambda: stability_problems(*key))


@cache
def stability_problems(control: str, damping: float, settings: tuple[tuple[str, Any], ...]) -> Sequence[str]:
    """Judge the whole test on the identified actuators and on ten perturbed ones."""
    plants = {
        name: parallel([plant for i in BOXES for plant in perturbed(draw, i, f"box{i}_")])
        for name, draw in likely_actuators(SPACE).items()
    }
    made = controllers(control, damping, dict(settings))
    return hybrid_problems(
        [block for i in BOXES for block in made[i]],
        plants,
        numerical(damping),
        stiffness=piers(),
        force_inputs=range(2, 12),
        to_strokes=jacobians(),
    )


def target_problems(case: Case, ground: Excitation) -> Sequence[str]:
    """Compare what the complete bridge would ask for with strokes, load cells and flow of both boxes."""
    d = complete(case.damping, ground, ground.duration)
    found: list[str] = []
    for i in BOXES:
        pose, reaction = np.zeros((len(d), 6)), np.zeros((len(d), 6))
        pose[:, DIRECTIONS] = d[:, 5 * (i - 1) : 5 * i]
        reaction[:, DIRECTIONS] = pose[:, DIRECTIONS] @ pier_stiffness(i)
        found += [f"Box {i}: {words}" for words in box_problems(i, pose, reaction)]
    return found


def complete(damping: float, ground: Excitation, duration: float) -> Array:
    """Return the ten interface motions of the undivided bridge, all 94 freedoms, under the same held ground motion."""
    s: SparseStructure = bridge_deck(ratio=damping).structure
    loads, rows = s.F, s.X.toarray()
    K = s.K.toarray() + loads[:, 2:] @ piers() @ rows
    inverse = np.linalg.inv(s.M.toarray())
    n = s.n
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ K, -inverse @ s.C.toarray()]])
    B = np.vstack([np.zeros((n, 2)), inverse @ loads[:, :2]])
    loop = Loop(RATE)
    loop.signal("ground[2]")
    loop.signal("d[10]")
    loop.add("ground", shaking(ground), outputs=["ground[2]"])
    block = StateSpace(A, B, np.hstack([rows, np.zeros((10, n))]), dt=DT)
    loop.add("bridge", block, inputs=["ground[2]"], outputs=["d[10]"])
    return loop.run(duration)["d[10]"]


def judge(case: Case, record: Record, ground: Excitation) -> dict[str, float]:
    """Return tracking of the ten interface motions in percent, and the response against the complete bridge."""
    found: dict[str, float] = {}
    whole = complete(case.damping, ground, len(record.time) / RATE)
    kept = while_running(record)
    keep = np.isin(record.time, kept.time)
    responses, tracked = [], []
    for i, prefix in BOXES.items():
        pose, target = kept[f"{prefix}pose[6]"], kept[f"{prefix}target[6]"]
        for k, d in enumerate(DIRECTIONS):
            value = error(pose[:, d], target[:, d])
            found[f"{prefix[:-1]}_{INTERFACE[k]}"] = value
            tracked.append(value)
            responses.append(error(target[:, d], whole[: len(record.time)][keep][:, 5 * (i - 1) + k]))
        found[f"{prefix[:-1]}_command_mm"] = float(1e3 * np.abs(record[f"{prefix}command[6]"]).max())
    return {"tracking_worst": max(tracked), "response_worst": max(responses)} | found


def run(parameters: Mapping[str, float], options: Options) -> Run:
    """Run all cases, or the one that the setting `case` names."""
    motion = ground_motion(options, scale=float(options.settings.get("scale", 1.0)))
    return run_cases(
        "curved_bridge",
        tuple(CASES),
        options,
        lambda name: build(CASES[name], motion, parameters, options).run(motion.duration),
        lambda name, record: judge(CASES[name], record, motion),
    )


TEST = VirtualTest(
    name="curved_bridge",
    run=run,
    space=SPACE,
    published=PUBLISHED,
    settings=("case", "scale", "guarded", "noise", *CONTROLLER),
    drawing=draw_bridge,
)  # fmt: skip
