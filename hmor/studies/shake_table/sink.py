"""Hybrid test on a shake table: a two-storey frame is computed, the energy sink of its roof rolls on the table.

The table follows the absolute motion of floor 2; an accelerometer on the mass of the sink gives the force on that
floor. Tick of 1 ms: table, sink, force, frame, target, preview, controller. Najafi and Spencer, NSEL Report 051 (2021),
section 4.3; track and damping of the sink are ours. Settings were chosen on El Centro and on tables of seed 11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.signal import butter, sosfilt

from hmor.rigs.catalogue import PhysicalSide
from hmor.studies.base import Options, Run, VirtualTest, ground_motion
from hmor.studies.settings import whole_of
from hmor.studies.shake_table.drawings import draw_sink, draw_table
from mor import Normal, ParameterSpace, lhs, prediction_model
from mor.dynamics.control_design import inverse_with_low_pass
from mor.dynamics.structure import LinearStructure
from mor.dynamics.tracking_design import design_report, model_preview
from mor.dynamics.transfer import StateSpaceMatrices, TransferFunction
from mor.excitation import Excitation
from mor.models.shake_table import POSITION_TABLE, STROKE, two_storey_frame
from mor.models.track_sink import frame_with_sink, track_sink
from rt_runtime import (
    Gain,
    Horizon,
    Loop,
    ModelBasedCompensator,
    Noise,
    Polynomial,
    Record,
    StateSpace,
    Sum,
    TrackingMpc,
    Tripped,
    previous,
)
from rt_runtime.bundle.rom import LoadedBundle
from rt_runtime.checks import Array, one_of
from rt_runtime.engine.signal_names import Previous
from rt_runtime.errors import ConfigError

RATE = 1000.0
DT = 1 / RATE
HIGH_PASS = 0.25
NOISE, FORCE_NOISE = 1e-5, 0.02
"""Standard deviations of the sensors: displacement of the table in m, force of the sink in N."""

SHARE = 0.9
"""Largest target over the stroke."""

PERTURBED = 10
SPACE = ParameterSpace({"gain": Normal(1.0, 0.01), "speed": Normal(1.0, 0.01)})
"""Static gain of the table, and the factor on all its poles."""

CASES = ("none", "feedforward", "polynomial", "state")
PUBLISHED = {"laboratory, mMBC": {"feedforward_tracking": 15.87, "feedforward_peak": 15.49}}


@dataclass(frozen=True)
class Sink:
    """Curvature in 1/m3 and damping in Ns/m of the sink."""

    curvature: float = 3200.0
    damping: float = 5.0

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Sink:
        """Read both from the settings; the model checks them."""
        return cls(float(settings.get("curvature", cls.curvature)), float(settings.get("damping", cls.damping)))

    @property
    def parameters(self) -> dict[str, float]:
        """As the models take them."""
        return {"curvature": self.curvature, "damping": self.damping}


def noise_of(settings: Mapping[str, Any]) -> tuple[float, float]:
    """Read the standard deviations of both sensors from the settings."""
    return float(settings.get("noise", NOISE)), float(settings.get("force_noise", FORCE_NOISE))


def ground(options: Options) -> Excitation:
    """Return the record, scaled, with quiet after it, and without what the stroke cannot follow (below 0.25 Hz)."""
    motion = ground_motion(options, scale=float(options.settings.get("scale", 0.3))).padded(0.0, 5.0).resampled(RATE)
    values = sosfilt(butter(2, HIGH_PASS, "high", fs=RATE, output="sos"), motion.values)
    return Excitation(values, motion.dt, motion.unit, motion.name)


def numerical(frame: LinearStructure) -> StateSpaceMatrices:
    """Return the frame on its ground: states x (2), v (2), ground displacement and velocity; output x_2 + x_g.

    Inputs: ground acceleration, force of the sink on floor 2 (signed as it acts on the mass of the sink).
    """
    inverse = np.linalg.inv(frame.M)
    A, B, C = np.zeros((6, 6)), np.zeros((6, 2)), np.zeros((1, 6))
    A[:2, 2:4] = np.eye(2)
    A[2:4, :2], A[2:4, 2:4] = -inverse @ frame.K, -inverse @ frame.C
    A[4, 5] = 1.0
    B[2:4, 0], B[5, 0] = -1.0, 1.0
    B[2:4, 1] = -inverse[:, 1]
    C[0, [1, 4]] = 1.0
    return StateSpaceMatrices(A, B, C, np.zeros((1, 2)))


def table(parameters: Mapping[str, float]) -> TransferFunction:
    """Return the table that is simulated: the identified one with another gain and faster or slower poles."""
    return POSITION_TABLE.varied(gain=parameters.get("gain", 1.0), speed=parameters.get("speed", 1.0))


def controller(case: str, settings: Mapping[str, Any]) -> TrackingMpc | ModelBasedCompensator:
    """Return the controller of a case; it knows the identified table."""
    if case == "feedforward":
        corner = float(settings.get("corner", 50.0))
        return ModelBasedCompensator(inverse_with_low_pass(POSITION_TABLE, order=4, corner=corner, dt=DT), dt=DT)
    steps, lead = whole_of(settings, "prediction", 60), float(settings.get("lead", 0.5))
    model = prediction_model(
        POSITION_TABLE,
        DT,
        input_variance=1e-10,
        noise_variance=1e-10,
        disturbance_gain=float(settings.get("disturbance_gain", 5e-7)),
    )
    horizon = Horizon(
        steps,
        control=whole_of(settings, "moves", 15),
        output_weight=1.0,
        move_weight=float(settings.get("move_weight", 0.003)),
        bounds=(-STROKE, STROKE),
    )
    preview: Any = Polynomial(whole_of(settings, "order", 3), whole_of(settings, "spacing", 20), lead)
    if case == "state":
        part = numerical(two_storey_frame())
        preview = model_preview(part, stiffness=[[0.0]], force_inputs=[1], steps=steps, dt=DT, lead=lead)
    return TrackingMpc(model, horizon, preview=preview)


def add_rig(
    loop: Loop, command: str | Previous, plant: TransferFunction, sink: Sink, noise: Sequence[float], seed: int
) -> None:
    """Add what stands in the laboratory: table, sink, sensors; writes `measured` (table) and `force` (of the sink)."""
    units = {"acceleration": "m/s2", "true_force": "N", "force_noise": "N", "force": "N"}
    units |= dict.fromkeys(("table", "position", "noise", "measured"), "m")
    for name, unit in units.items():
        loop.signal(name, unit=unit)
    matrices = plant.state_space()
    outputs = np.vstack([matrices.C, matrices.C @ matrices.A @ matrices.A])  # the table, and its acceleration
    block = StateSpace(matrices.A, matrices.B, outputs, dt=DT, update="start")
    loop.add("table", block, inputs=[command], outputs=["table", "acceleration"])
    mass = track_sink().block(dt=DT, parameters=sink.parameters)
    loop.add("sink", mass, inputs=["acceleration"], outputs=["position", "true_force"])
    loop.add("noise", Noise(list(noise), seed=seed), outputs=["noise", "force_noise"])
    loop.add("sensor", Sum("++"), inputs=["table", "noise"], outputs=["measured"])
    loop.add("accelerometer", Sum("++"), inputs=["true_force", "force_noise"], outputs=["force"])


def add_frame(loop: Loop, case: str, motion: Excitation, settings: Mapping[str, Any], command: str) -> None:
    """Add what runs beside the rig: ground, frame, target and controller; reads `measured` and `force`."""
    loop.signal("ground", unit="m/s2")
    loop.signal("target", unit="m")
    loop.signal("x[6]", unit=("m", "m", "m/s", "m/s", "m", "m/s"))
    loop.add("ground", motion.block(), outputs=["ground"])
    part = numerical(two_storey_frame()).discretise(DT)
    states = np.vstack([part.C, np.eye(6)])
    block = StateSpace(part.A, part.B, states, np.zeros((7, 2)), dt=DT, method="discrete")
    loop.add("frame", block, inputs=["ground", "force"], outputs=["target", "x[6]"])
    loop.require("Target", lambda: target_problems(motion, Sink.of(settings)))
    if case == "none":
        loop.add("control", Gain(1.0), inputs=["target"], outputs=[command])
        return
    further = ["theta"] if case == "feedforward" else ["iterations", "status"]
    for name in further:
        loop.signal(name)
    state = ["x[6]"] if case == "state" else []
    inputs = ["target", "measured", *state]
    loop.add("control", controller(case, settings), inputs=inputs, outputs=[command, *further])
    loop.require("Controller", lambda: controller_problems(case, tuple(sorted(settings.items()))))


def build(case: str, motion: Excitation, parameters: Mapping[str, float], options: Options) -> Loop:
    """Build the loop of one run: the virtual table with the sink on it, then what would run beside a real one."""
    settings = options.settings
    loop = Loop(RATE)
    loop.signal("command", unit="m")
    add_rig(loop, previous("command"), table(parameters), Sink.of(settings), noise_of(settings), options.seed)
    add_frame(loop, case, motion, settings, "command")
    return loop


def sink_rig(rate: float, settings: Mapping[str, Any]) -> PhysicalSide:
    """Table, sink and sensors as a rig of their own: `command` in, `measured` and `force` out.

    Settings: `curvature`, `damping`, `noise` and `force_noise` as of the virtual test.
    """
    if rate != RATE:
        raise ConfigError(f"rate of the rig of table_sink must be {RATE:g} Hz, got {rate:g} Hz.")
    loop = Loop(rate)
    loop.constant("command", 0.0, unit="m")
    add_rig(loop, "command", POSITION_TABLE, Sink.of(settings), noise_of(settings), seed=0)
    return PhysicalSide(loop, ("command",), ("measured", "force"))


def frame_side(loop: Loop, bundles: Mapping[str, LoadedBundle], settings: Mapping[str, Any]) -> None:
    """Numerical side for `sink_rig`: reads `measured` and `force`, gives `wanted`; settings as of the virtual test."""
    loop.signal("wanted", unit="m")
    add_frame(loop, "state", ground(Options(settings=settings)), settings, "wanted")


@cache
def controller_problems(case: str, settings: tuple[tuple[str, Any], ...]) -> tuple[str, ...]:
    """Judge the controller on the identified table and on ten others: poles and noise."""
    law, design = controller(case, dict(settings)), lhs(SPACE, PERTURBED, seed=11)
    for draw in ({}, *(design.parameters(k) for k in range(PERTURBED))):
        problems = design_report(law, table(draw).state_space()).problems
        if problems:
            return problems
    return ()


def target_problems(motion: Excitation, sink: Sink) -> list[str]:
    """Compare what the undivided frame would ask for with the stroke."""
    moved = complete(motion, sink)
    largest = float(np.abs(moved["x2"] + moved["ground_displacement"]).max())
    if largest <= SHARE * STROKE:
        return []
    return [
        f"Largest motion of floor 2 must be at most {1e3 * SHARE * STROKE:.1f} mm, {100 * SHARE:.0f} % of the stroke "
        f"of the table, got {1e3 * largest:.1f} mm; lower scale."
    ]


def complete(motion: Excitation, sink: Sink | None) -> Record:
    """Return the response of the undivided frame under the same held ground motion; None: its sink is locked."""
    frame = two_storey_frame()
    loop = Loop(RATE)
    for name, unit in {"ground": "m/s2", "ground_displacement": "m", "x1": "m", "x2": "m", "position": "m"}.items():
        loop.signal(name, unit=unit)
    loop.add("ground", motion.block(), outputs=["ground"])
    twice = StateSpace([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], [[1.0, 0.0]], dt=DT)
    loop.add("integrals", twice, inputs=["ground"], outputs=["ground_displacement"])
    if sink is None:
        M = frame.M + np.diag([0.0, track_sink().parameters[0].value])
        system = LinearStructure(M, frame.C, frame.K).state_space()
        block: Any = StateSpace(system.A, system.B, np.vstack([system.C[:2], np.zeros((1, 4))]), dt=DT)
        loop.add("frame", block, inputs=["ground"], outputs=["x1", "x2", "position"])
    else:
        loop.signal("a2", unit="m/s2")
        block = frame_with_sink(frame, sink.parameters).block(dt=DT)
        loop.add("frame", block, inputs=["ground"], outputs=["x1", "x2", "position", "a2"])
    return loop.run(motion.duration)


def judge(record: Record, whole: Record) -> dict[str, float]:
    """Return tracking of the table, and floor 2 and the sink against the undivided frame, in percent."""
    target, moved = record["target"], record["table"]
    return {
        "tracking": error(moved, target),
        "peak": float(100 * np.abs(moved - target).max() / np.abs(target).max()),
        "floor_2": error(record["x_2"], whole["x2"]),
        "sink": error(record["position"], whole["position"]),
        "command_mm": float(1e3 * np.abs(record["command"]).max()),
    }


def error(values: Array, reference: Array) -> float:
    """Return 100 sqrt(sum e^2 / sum r^2)."""
    return float(100 * np.sqrt(np.sum((values - reference) ** 2) / np.sum(reference**2)))


def run(parameters: Mapping[str, float], options: Options) -> Run:
    """Run all cases, or the one that the setting `case` names; also say what the sink does for the frame."""
    names: tuple[str, ...] = CASES
    if "case" in options.settings:
        names = (one_of(str(options.settings["case"]), "case", "study 'table_sink'", CASES),)
    motion = ground(options)
    whole, locked = complete(motion, Sink.of(options.settings)), complete(motion, None)
    metrics: dict[str, float] = {}
    record = None
    for name in names:
        try:
            record = build(name, motion, parameters, options).run(motion.duration)
        except Tripped as trip:
            if len(names) == 1:
                raise
            metrics[f"{name}_diverged_s"] = float(trip.record.time[-1])
            continue
        metrics |= {f"{name}_{key}": value for key, value in judge(record, whole).items()}
    metrics["floor_2_rms_with_over_locked_sink"] = float(np.std(whole["x2"]) / np.std(locked["x2"]))
    metrics["floor_2_peak_with_over_locked_sink"] = float(np.abs(whole["x2"]).max() / np.abs(locked["x2"]).max())
    metrics["sink_stroke_mm"] = float(1e3 * np.abs(whole["position"]).max())
    return Run(metrics, record)


TEST = VirtualTest(
    name="table_sink",
    run=run,
    space=SPACE,
    published=PUBLISHED,
    settings=(
        "case", "scale", "curvature", "damping", "noise", "force_noise", "corner", "prediction", "moves", "move_weight",
        "disturbance_gain", "order", "spacing", "lead",
    ),
    drawing=partial(draw_table, sink=True),
    pictures=draw_sink,
)  # fmt: skip
