"""The multi-axial benchmark of Condori Uribe et al. (2023): two coupled actuators, sway and rotation of one joint.

A tick of 1/1024 s: strokes with noise, their estimate (Kalman filter of the nominal plant), pose of the joint, force of
the specimen, Newmark step, target strokes, controllers. Judged by J1 to J10 as the benchmark's files compute them.
Beside the predictive controller run no control, a perfect actuator one tick late without noise, and the published
adaptive compensator, rebuilt from its equations. Settings were chosen on El Centro.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import asin, cos, sin
from typing import Any

import numpy as np

from hmor.studies.base import Options, Run, VirtualTest, ground_motion
from hmor.studies.settings import whole_of
from hmor.studies.structural.recursive_inverse import RecursiveInverse, calibrate
from mor import Normal, ParameterSpace, StaticSubstructure, prediction_model
from mor.excitation import Excitation
from mor.models.multi_axial.multi_axial_benchmark import (
    ANGLES,
    LENGTH,
    NOISE,
    RATE,
    UNCERTAIN,
    numerical,
    plant,
    plant_matrices,
    reference,
    specimen,
    stepped,
)
from rt_runtime import (
    Delay,
    Gain,
    Horizon,
    KalmanFilter,
    Loop,
    Noise,
    Polynomial,
    PythonBlock,
    Record,
    StateSpace,
    TrackingMpc,
    previous,
)
from rt_runtime.checks import Array, one_of

DT = 1 / RATE
CONTROLS = ("none", "perfect", "adaptive", "mpc", "mpc_diagonal")
SPACE = ParameterSpace({name: Normal(1.0, spread) for name, spread in UNCERTAIN.items()})
FLOORS = ("x", "turn", "x2", "turn2", "x3", "turn3")
LIMIT_VOLT = 3.8
MM_PER_VOLT = (7.4921, 7.3907)


def _pose(u: Array, p: Array, y: Array) -> None:
    """Strokes of the two actuators to sway and rotation: th = asin((a1 - a2) / (2 d sin al2)), p = d, al1, al2."""
    turn = asin(min(1.0, max(-1.0, (u[0] - u[1]) / (2.0 * p[0] * sin(p[2])))))
    y[0] = u[0] - p[0] * (cos(turn + p[1]) - cos(p[1]))
    y[1] = turn


def _strokes(u: Array, p: Array, y: Array) -> None:
    """Sway and rotation (clockwise in the frame, counter-clockwise at the coupler) to strokes."""
    y[0] = u[0] + p[0] * (cos(-u[1] + p[1]) - cos(p[1]))
    y[1] = u[0] + p[0] * (cos(-u[1] + p[2]) - cos(p[2]))


@cache
def _couplers() -> tuple[StaticSubstructure, StaticSubstructure]:
    numbers = {"d": LENGTH, "al1": ANGLES[0], "al2": ANGLES[1]}
    strokes, pose = {"a[2]": "m"}, {"x": "m", "turn": "rad"}
    there = StaticSubstructure("coupler_pose", _pose, inputs=strokes, outputs=pose, parameters=numbers)
    back = StaticSubstructure("coupler_strokes", _strokes, inputs=pose, outputs=strokes, parameters=numbers)
    return there, back


def controller(kind: str, settings: Mapping[str, Any]) -> TrackingMpc:
    """Return the predictive controller; `mpc_diagonal` does not know how the actuators are coupled."""
    known = plant_matrices(plant())
    if kind == "mpc_diagonal":
        n = len(known.A) // 2
        mask = np.zeros_like(known.C)
        mask[0, :n] = mask[1, n:] = 1.0
        known = type(known)(known.A, known.B, known.C * mask, known.D)
    model = prediction_model(
        known,
        DT,
        input_variance=float(settings.get("input_variance", 1e-9)),
        noise_variance=NOISE**2,
        disturbance_gain=float(settings.get("disturbance_gain", 1e-6)),
    )
    bound = [LIMIT_VOLT * 1e-3 * scale for scale in MM_PER_VOLT]
    horizon = Horizon(
        whole_of(settings, "prediction", 10),
        control=whole_of(settings, "moves", 4),
        output_weight=1.0,
        move_weight=float(settings.get("move_weight", 0.02)),
        bounds=([-b for b in bound], bound),
    )
    order, spacing = whole_of(settings, "order", 3), whole_of(settings, "spacing", 8)
    return TrackingMpc(model, horizon, preview=Polynomial(order, spacing, float(settings.get("lead", 0.0))))


def build(kind: str, motion: Excitation, factors: Mapping[str, float], options: Options) -> Loop:
    """Build the loop of one run, with the undivided frame beside it."""
    loop = Loop(RATE)
    for name, unit in (("ground", "m/s2"), ("joint_x", "m"), ("joint_turn", "rad")):
        loop.signal(name, unit=unit)
    for name in ("command", "stroke", "noise", "measured", "estimate", "target"):
        loop.signal(f"{name}[2]", unit="m")
    loop.signal("force[3]", unit=("N", "Nm", "Nm"))
    for prefix in ("", "reference."):
        for name in FLOORS:
            loop.signal(prefix + name, unit="m" if name[0] == "x" else "rad")
    loop.add("ground", motion.block(), outputs=["ground"])
    if kind == "perfect":
        loop.add("plant", Delay(0, channels=2), inputs=[previous("command[2]")], outputs=["stroke[2]"])
    else:
        moved = plant_matrices(plant(factors))
        block = StateSpace(moved.A, moved.B, moved.C, dt=DT, update="start")
        loop.add("plant", block, inputs=[previous("command[2]")], outputs=["stroke[2]"])
    noise = 0.0 if kind == "perfect" else float(options.settings.get("noise", NOISE))
    loop.add("noise", Noise([noise, noise], seed=options.seed), outputs=["noise[2]"])
    both = Gain(np.hstack([np.eye(2), np.eye(2)]))
    loop.add("sensors", both, inputs=["stroke[2]", "noise[2]"], outputs=["measured[2]"])
    _add_estimate(loop, kind)
    pose, strokes = (part.block(dt=DT) for part in _couplers())
    loop.add("pose", pose, inputs=["estimate[2]"], outputs=["joint_x", "joint_turn"])
    loop.add("specimen", specimen(), inputs=["joint_x", "joint_turn"], outputs=["force[3]"])
    signs = np.array([1.0, 1.0, -1.0, -1.0])  # moments of the specimen count the other way round
    part, whole = stepped(*numerical()), stepped(*reference())
    block = StateSpace(part.A, part.B * signs, part.C, part.D * signs, dt=DT, method="discrete")
    loop.add("numerical", block, inputs=["ground", "force[3]"], outputs=FLOORS)
    block = StateSpace(whole.A, whole.B[:, :1], whole.C, whole.D[:, :1], dt=DT, method="discrete")
    loop.add("reference", block, inputs=["ground"], outputs=[f"reference.{name}" for name in FLOORS])
    loop.add("target", strokes, inputs=["x", "turn"], outputs=["target[2]"])
    if kind in ("none", "perfect"):
        loop.add("control", Gain(np.eye(2)), inputs=["target[2]"], outputs=["command[2]"])
    elif kind == "adaptive":
        law = RecursiveInverse(*calibration(), rate=RATE)
        block_ = PythonBlock(law.step, n_in=4, n_out=2)
        loop.add("control", block_, inputs=["target[2]", "measured[2]"], outputs=["command[2]"])
    else:
        loop.signal("iterations")
        loop.signal("status")
        outputs = ["command[2]", "iterations", "status"]
        loop.add("control", controller(kind, options.settings), inputs=["target[2]", "measured[2]"], outputs=outputs)
    return loop


def _add_estimate(loop: Loop, kind: str) -> None:
    """Add the estimate of the strokes, the same for every controller; a perfect actuator is known as it is."""
    if kind == "perfect":
        loop.add("estimate", Gain(np.eye(2)), inputs=["measured[2]"], outputs=["estimate[2]"])
        return
    model = prediction_model(
        plant_matrices(plant()), DT, input_variance=1e-9, noise_variance=NOISE**2, disturbance_gain=3e-7
    )
    n = len(model.A)
    loop.signal(f"state[{n}]")
    block = KalmanFilter(model)
    loop.add("filter", block, inputs=[previous("command[2]"), "measured[2]"], outputs=[f"state[{n}]"])
    loop.add("estimate", Gain(model.C), inputs=[f"state[{n}]"], outputs=["estimate[2]"])


@cache
def calibration() -> tuple[Array, Array]:
    """Start values of the adaptive compensator from a run without control and quiet sensors, synthetic ground."""
    options = Options(seed=99, settings={"noise": 1e-6})
    motion = ground_motion(options, scale=0.4)
    record = build("none", motion, {}, options).run(motion.duration)
    theta, inverse = calibrate(record["command[2]"], record["measured[2]"])
    return theta, 100 * inverse  # learns faster than with the weight of a whole record: best of 1, 10, 100


def _percent(values: Array, reference_values: Array) -> tuple[float, float]:
    """Return standard deviation and largest value of the error, in percent of those of the reference."""
    e = values - reference_values
    return (
        float(100 * np.std(e) / np.std(reference_values)),
        float(100 * np.abs(e).max() / np.abs(reference_values).max()),
    )


def delay_ms(measured: Array, target: Array, most: int = 100) -> float:
    """Return the lag at which the correlation of two strokes is largest, in ms."""
    n = len(target)
    size = int(2 ** np.ceil(np.log2(2 * n)))
    both = np.fft.irfft(np.fft.rfft(measured, size) * np.conj(np.fft.rfft(target, size)), size)
    lags = np.r_[0 : most + 1, -most:0]
    return float(1000 * DT * lags[np.argmax(np.abs(both[lags]))])


def judge(record: Record) -> dict[str, float]:
    """Return "1_J1" and so on: 1 is actuator 1 and the sway, 2 actuator 2 and the rotation, 3rd_ the third floor."""
    joint = (record["joint_x"], -record["joint_turn"])
    found: dict[str, float] = {}
    for i in range(2):
        measured, target = record["measured[2]"][:, i], record["target[2]"][:, i]
        j2, j3 = _percent(measured, target)
        j5, j6 = _percent(joint[i], record[FLOORS[i]])
        j7, j9 = _percent(joint[i], record[f"reference.{FLOORS[i]}"])
        j8, j10 = _percent(record[FLOORS[2 + i]], record[f"reference.{FLOORS[2 + i]}"])
        late = delay_ms(measured, target)
        values = (late, j2, j3, late, j5, j6, j7, j8, j9, j10)
        found |= {f"{i + 1}_J{k}": value for k, value in enumerate(values, 1)}
        j8, j10 = _percent(record[FLOORS[4 + i]], record[f"reference.{FLOORS[4 + i]}"])
        found |= {f"floor3_{i + 1}_J8": j8, f"floor3_{i + 1}_J10": j10}
    return found


def run(parameters: Mapping[str, float], options: Options) -> Run:
    """Run all controllers, or the one that the setting `control` names."""
    kinds: tuple[str, ...] = CONTROLS
    if "control" in options.settings:
        kinds = (one_of(str(options.settings["control"]), "control", "study 'multi_axial_benchmark'", CONTROLS),)
    motion = ground_motion(options, scale=0.4)
    metrics: dict[str, float] = {}
    record = None
    for kind in kinds:
        record = build(kind, motion, parameters, options).run(motion.duration)
        metrics |= {f"{kind}_{name}": value for name, value in judge(record).items()}
    return Run(metrics, record)


TEST = VirtualTest(
    name="multi_axial_benchmark",
    run=run,
    space=SPACE,
    settings=(
        "control", "noise", "input_variance", "disturbance_gain", "prediction", "moves", "move_weight", "order",
        "spacing", "lead",
    ),
)  # fmt: skip
