"""The three-storey hybrid-test benchmark in its four partitions, under PI with lead, mMBC, aMRC and MPC.

Numerical: the frame without its specimen; physical: servo-hydraulic cylinder and specimen as one transfer function; all
sampled with a zero-order hold at 4096 Hz, force by backward differences, one sample late, sensor noise on both.
Silva, Gomez, Maghareh, Dyke and Spencer (2020); controllers after Najafi and Spencer (2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from hmor.studies.base import Options, Run, VirtualTest, ground_motion
from hmor.studies.settings import whole_of
from hmor.studies.structural.benchmark_loop import benchmark_loop, judge_benchmark
from mor import Normal, ParameterSpace, prediction_model
from mor.dynamics.control_design import closed_loop, inverse_with_low_pass, low_pass, lqg_feedback, reference_correction
from mor.models.benchmark_frame import LIMITS, NOISE, RATE, BenchmarkFrame, benchmark_frame, sample_controller
from rt_runtime import Extrapolator, Gain, Horizon, Loop, ModelBasedCompensator, ModelReferenceAdaptation, Mpc, PiLead
from rt_runtime.checks import one_of

CONTROLLERS = ("pi", "mmbc", "amrc", "mpc")
SPACE = ParameterSpace(
    {
        "a3": Normal(3.3, 1.3, unit="1/s"),
        "b1": Normal(425.0, 3.3, unit="1/s"),
        "b2": Normal(9.9976e4, 3.3e3, unit="1/s2"),
        "stiffness": Normal(1.19e6, 5e4, unit="N/m"),
    }
)
PUBLISHED = {
    f"{controller}_{case}": {f"J{i + 1}": value for i, value in enumerate(row)}
    for controller, rows in {
        "pi": (
            (4.6, 10.38, 11.54, 36.08, 19.01, 32.26, 32.38, 14.85, 14.78),
            (4.6, 9.81, 11.08, 33.06, 17.05, 30.45, 30.54, 15.26, 15.21),
            (4.6, 9.04, 10.18, 49.85, 36.67, 49.79, 49.80, 35.53, 35.59),
            (4.6, 10.47, 11.31, 72.61, 35.19, 68.55, 68.71, 33.45, 33.32),
        ),
        "amrc": (
            (0.0, 3.23, 3.17, 5.98, 4.81, 4.21, 4.23, 2.27, 2.31),
            (0.0, 3.00, 2.95, 5.32, 3.83, 3.79, 3.81, 2.14, 2.15),
            (0.0, 9.49, 8.24, 15.02, 11.17, 11.61, 11.62, 7.12, 7.27),
            (0.0, 2.77, 2.92, 8.58, 5.51, 7.16, 7.19, 3.52, 3.56),
        ),
    }.items()
    for case, row in enumerate(rows, 1)
}


def add_controller(loop: Loop, *, frame: BenchmarkFrame, kind: str, settings: Mapping[str, Any]) -> None:
    """Add the controller from `target` and `measured` to `command`; it knows the nominal plant only."""
    dt = 1 / RATE
    plant = benchmark_frame(frame.case).plant
    if kind == "pi":
        lead, pi = sample_controller()
        kp, ki = pi.numerator
        compensator = PiLead(kp, ki, lead=(lead.numerator, lead.denominator), dt=dt)
        loop.add("pi", compensator, inputs=["target", "measured"], outputs=["command"])
        return
    if kind in ("mmbc", "amrc"):
        corner, order = float(settings.get("corner", 400.0)), 5
        feedback = lqg_feedback(low_pass(order, corner), error_weight=100.0, process_noise=100.0, dt=dt)
        adaptation = ModelReferenceAdaptation(float(settings.get("rate", 50.0)), 0.02) if kind == "amrc" else None
        inverse = inverse_with_low_pass(plant, order=order, corner=corner, dt=dt)
        loop.signal("theta", unit="m")
        block = ModelBasedCompensator(inverse, dt=dt, feedback=feedback, adaptation=adaptation)
        loop.add(kind, block, inputs=["target", "measured"], outputs=["command", "theta"])
        return
    every = whole_of(settings, "every", 4)
    variance = float(settings.get("input_variance", 1e-8))
    model = prediction_model(
        plant, every * dt, input_variance=variance, noise_variance=NOISE[0] ** 2, disturbance_gain=1e-9
    )
    horizon = Horizon(
        whole_of(settings, "prediction", 12),
        control=whole_of(settings, "control", 3),
        output_weight=1.0,
        move_weight=float(settings.get("move_weight", 0.05)),
        bounds=(-LIMITS["stroke"], LIMITS["stroke"]),
    )
    mpc = Mpc(model, horizon)
    nominal = closed_loop(mpc, plant.discretise(every * dt))
    correction = reference_correction(nominal, float(settings.get("frequency", 3.6)))
    leads, gains = correction.leads_and_gains(16 * dt)
    ahead = [f"ahead{i}" for i in range(3)]
    for name in (*ahead, "reference"):
        loop.signal(name, unit="m")
    loop.signal("iterations")
    loop.signal("status")
    extrapolator = Extrapolator(
        order=whole_of(settings, "order", 3), spacing=whole_of(settings, "spacing", 24), leads=leads * RATE
    )
    loop.add("extrapolator", extrapolator, inputs=["target"], outputs=ahead)
    loop.add("shaping", Gain(gains[None, :]), inputs=ahead, outputs=["reference"])
    outputs = ["command", "iterations", "status"]
    loop.add("mpc", mpc, inputs=["reference", "measured"], outputs=outputs, every=every)


def run(parameters: Mapping[str, float], options: Options) -> Run:
    """Run partitions and controllers: all sixteen, or the one that `case` and `controller` name."""
    settings = options.settings
    cases = [settings["case"]] if "case" in settings else [1, 2, 3, 4]
    kinds: tuple[str, ...] = CONTROLLERS
    if "controller" in settings:
        kinds = (one_of(str(settings["controller"]), "controller", "study 'benchmark_frame'", CONTROLLERS),)
    motion = ground_motion(options, scale=0.4)
    metrics: dict[str, float] = {}
    record = None
    for case in cases:
        frame = benchmark_frame(case)
        if parameters:
            hydraulic = replace(frame.hydraulic, **{name: parameters[name] for name in ("a3", "b1", "b2")})
            specimen = replace(frame.specimen, stiffness=parameters["stiffness"])
            frame = replace(frame, hydraulic=hydraulic, specimen=specimen)
        for kind in kinds:
            add = partial(add_controller, frame=frame, kind=kind, settings=options.settings)
            record = benchmark_loop(frame, motion, noise_seed=options.seed, add_controller=add).run(motion.duration)
            found = judge_benchmark(record).as_array()
            metrics |= {f"{kind}_{case}_J{i}": float(value) for i, value in enumerate(found, 1)}
    return Run(metrics, record)


TEST = VirtualTest(
    name="benchmark_frame",
    run=run,
    space=SPACE,
    published=PUBLISHED,
    settings=(
        "case", "controller", "corner", "rate", "every", "prediction", "control", "move_weight",
        "input_variance", "frequency", "order", "spacing",
    ),
)  # fmt: skip
