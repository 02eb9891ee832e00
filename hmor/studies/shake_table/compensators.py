"""Five compensators, each designed on wrong models of one plant: a sine sweep from 0 to 10 Hz, no noise.

The plant is wn^2 / (s^2 + 2 zeta wn s + wn^2) with wn = 50 rad/s, zeta = 0.5; the designer knows another wn and zeta,
drawn from U[45, 55] rad/s and U[0.25, 0.75]. Najafi and Spencer, NSEL Report 051 (2021), section 3.6; they print
U[45, 50], which is one-sided. Weights of MBC and mMBC are not published; those of mMBC and the settings of the
predictive controller were chosen on models of seed 11, without noise; `noise_gain` tells what noise they would bear.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hmor.studies.base import Options, Run, VirtualTest
from hmor.studies.settings import whole_of
from hmor.studies.shake_table.drawings import draw_compensators, draw_sweep
from mor import ParameterSpace, TransferFunction, Uniform, prediction_model
from mor.dynamics.control_design import inverse_with_low_pass, low_pass, lqg_feedback
from mor.dynamics.tracking_design import design_report
from rt_runtime import (
    Gain,
    Horizon,
    Loop,
    ModelBasedCompensator,
    ModelReferenceAdaptation,
    Polynomial,
    Record,
    StateSpace,
    Sum,
    Table,
    TrackingMpc,
    previous,
)
from rt_runtime.checks import one_of, positive

RATE = 5000.0
DT = 1 / RATE
DURATION, LAST = 5.0, 10.0
"""The sweep: seconds, and frequency in Hz at its end."""

KINDS = ("ff", "mbc", "mmbc", "amrc", "mpc")
SPACE = ParameterSpace({"wn": Uniform(45.0, 55.0, unit="rad/s"), "zeta": Uniform(0.25, 0.75)})
PUBLISHED = {
    "median": {"ff_rmse": 32.6, "mbc_rmse": 32.0, "mmbc_rmse": 5.6, "amrc_rmse": 2.9}
    | {"ff_maxe": 49.0, "mbc_maxe": 49.5, "mmbc_maxe": 7.7, "amrc_maxe": 5.2}
}


def second_order(wn: float, zeta: float) -> TransferFunction:
    """Return wn^2 / (s^2 + 2 zeta wn s + wn^2)."""
    w, z = positive(wn, "wn", "second_order"), positive(zeta, "zeta", "second_order")
    return TransferFunction([w * w], [1.0, 2 * z * w, w * w])


PLANT = second_order(50.0, 0.5)


def compensator(kind: str, model: TransferFunction, settings: Mapping[str, Any]) -> ModelBasedCompensator | TrackingMpc:
    """Return the compensator designed on a model; "mbc" is the feedforward, its feedback stands beside it."""
    if kind == "mpc":
        known = prediction_model(
            model,
            DT,
            input_variance=1e-4,
            noise_variance=1e-4,
            disturbance_gain=float(settings.get("disturbance_gain", 1e-2)),
        )
        horizon = Horizon(
            whole_of(settings, "prediction", 20),
            control=whole_of(settings, "moves", 6),
            output_weight=1.0,
            move_weight=float(settings.get("move_weight", 0.02)),
        )
        return TrackingMpc(known, horizon, preview=Polynomial(3, whole_of(settings, "spacing", 20), 0.0))
    corner = float(settings.get("corner", 50.0))
    feedback, adaptation = None, None
    if kind in ("mmbc", "amrc"):
        weight, noise = float(settings.get("error_weight", 1000.0)), float(settings.get("process_noise", 100.0))
        feedback = lqg_feedback(low_pass(2, corner), error_weight=weight, process_noise=noise, dt=DT)
    if kind == "amrc":
        adaptation = ModelReferenceAdaptation(float(settings.get("rate", 200.0)), 1e3, corner=300.0)
    inverse = inverse_with_low_pass(model, order=2, corner=corner, dt=DT)
    return ModelBasedCompensator(inverse, dt=DT, feedback=feedback, adaptation=adaptation)


def build(kind: str, model: TransferFunction, settings: Mapping[str, Any]) -> Loop:
    """Build the loop of one compensator: the sweep, the plant, and what was designed on the model."""
    loop = Loop(RATE)
    for name in ("target", "command", "measured"):
        loop.signal(name, unit="m")
    t = np.arange(round(DURATION * RATE) + 1) * DT
    loop.add("target", Table(t, np.sin(np.pi * LAST / DURATION * t**2)), outputs=["target"])
    plant = PLANT.state_space()
    block = StateSpace(plant.A, plant.B, plant.C, dt=DT, update="start")
    loop.add("plant", block, inputs=[previous("command")], outputs=["measured"])
    law = compensator(kind, model, settings)
    both = ["target", "measured"]
    if kind == "mbc":
        for name in ("forward", "theta", "error", "back"):
            loop.signal(name)
        loop.add("forward", law, inputs=both, outputs=["forward", "theta"])
        loop.add("error", Gain([[1.0, -1.0]]), inputs=both, outputs=["error"])
        A, B, C, D = lqg_feedback(model, error_weight=1.0, process_noise=1.0, dt=DT)
        loop.add("back", StateSpace(A, B, C, D, dt=DT, method="discrete"), inputs=["error"], outputs=["back"])
        loop.add("command", Sum("++"), inputs=["forward", "back"], outputs=["command"])
        return loop
    further = ["iterations", "status"] if kind == "mpc" else ["theta"]
    for name in further:
        loop.signal(name)
    loop.add("control", law, inputs=both, outputs=["command", *further])
    return loop


def judge(record: Record) -> dict[str, float]:
    """Return root mean square and largest error over those of the target, in percent."""
    r, e = record["target"], record["target"] - record["measured"]
    return {
        "rmse": float(100 * np.sqrt(np.sum(e**2) / np.sum(r**2))),
        "maxe": float(100 * np.abs(e).max() / np.abs(r).max()),
    }


def run(parameters: Mapping[str, float], options: Options) -> Run:
    """Run all compensators on one model, or the one that the setting `kind` names."""
    kinds: tuple[str, ...] = KINDS
    if "kind" in options.settings:
        kinds = (one_of(str(options.settings["kind"]), "kind", "study 'compensators'", KINDS),)
    model = second_order(parameters.get("wn", 50.0), parameters.get("zeta", 0.5))
    settings = {name: value for name, value in options.settings.items() if name != "kind"}
    metrics: dict[str, float] = {}
    record = None
    for kind in kinds:
        record = build(kind, model, settings).run(DURATION)
        metrics |= {f"{kind}_{key}": value for key, value in judge(record).items()}
        if kind in ("mmbc", "mpc"):
            law = compensator(kind, model, settings)
            metrics[f"{kind}_noise_gain"] = design_report(law, PLANT.state_space()).noise_gain
    return Run(metrics, record)


TEST = VirtualTest(
    name="compensators",
    run=run,
    space=SPACE,
    published=PUBLISHED,
    settings=(
        "kind", "corner", "error_weight", "process_noise", "rate", "prediction", "moves", "move_weight",
        "disturbance_gain", "spacing",
    ),
    ground_motion=False,
    drawing=draw_sweep,
    pictures=draw_compensators,
)  # fmt: skip
