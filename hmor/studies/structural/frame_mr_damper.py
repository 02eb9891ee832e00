"""Three-storey frame with a magnetorheological damper moved by a slow electric actuator (CS2), under MPC.

Numerical: M x'' + C x' + K x = -M 1 a_g - gamma f. Physical: the damper at the first floor, driven by the actuator
y / u = 3060 / (s^2 + 267 s + 3060); its voltage is bang-bang in the target. Target r = x_1, measured y. Frame, damper
and actuator are one system for RK4 at 4096 Hz; the controller runs at 1024 Hz on the extrapolated target.
Published: Tsokanas, Wagg and Stojadinovic, Frontiers in Built Environment 6:127 (2020).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from hmor.studies.base import Options, VirtualTest, ground_motion, tracked
from hmor.studies.settings import truth_of, whole_of
from mor import LogNormal, OdeSystem, ParameterSpace, ode, prediction_model
from mor.dynamics.structure import LinearStructure
from mor.models.actuators import electric_drive
from mor.models.benchmark_frame import benchmark_structure
from mor.models.mr_damper import SEMI_ACTIVE_PARAMETERS, bang_bang, dahl
from rt_runtime import Extrapolator, Horizon, Loop, Mpc, Noise, Table, horizon_leads, previous
from rt_runtime.checks import Array

RATE = 4096.0
EVERY = 4
DRIVE = (3060.0, 267.0)
NOISE = 0.15
"""Standard deviation of the load cell in N per sample."""

SPACE = ParameterSpace(
    {
        name: LogNormal.from_mean_cv(mean, 0.2, unit=unit)
        for name, mean, unit in (
            ("beam_length", 0.762, "m"),
            ("column_length", 0.635, "m"),
            ("floor_mass", 1000.0, "kg"),
            ("damping_ratio", 0.05, ""),
            ("k_xa", 978.0, "Ns/m"),
            ("k_wa", 60.11, "N"),
        )
    }
)
PUBLISHED = {
    "nominal": {"J1_ms": 0.0, "J2_percent": 1.88, "J3_percent": 2.07},
    "mean": {"J1_ms": 0.0, "J2_percent": 2.93, "J3_percent": 3.02},
    "std": {"J1_ms": 0.0, "J2_percent": 0.63, "J3_percent": 0.60},
}


def _plant(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    """States x1..x3, v1..v3, W, piston, piston velocity; inputs a_g, command, force noise."""
    dx[6], force = dahl(x[8], x[6], bang_bang(x[0], x[3], p[5], p[6]), p)
    for i in range(3):
        dx[i] = x[3 + i]
        total = -u[0]
        for j in range(3):
            total -= p[10 + 3 * i + j] * x[j] + p[19 + 3 * i + j] * x[3 + j]
        dx[3 + i] = total
    dx[3] -= (force + u[2]) * p[9]
    dx[7] = x[8]
    dx[8] = p[7] * (u[1] - x[7]) - p[8] * x[8]
    y[0] = x[0]
    y[1] = x[7]
    y[2] = force


@cache
def plant() -> OdeSystem:
    """Compile frame, damper and actuator as one system."""
    own = [parameter.name for parameter in SEMI_ACTIVE_PARAMETERS] + ["stiffness", "damping", "first_inverse_mass"]
    matrices = [f"{name}{i}{j}" for name in "kc" for i in (1, 2, 3) for j in (1, 2, 3)]
    return ode(
        states=["x1", "x2", "x3", "v1", "v2", "v3", "W", "piston", "piston_velocity"],
        inputs={"ground": "m/s2", "command": "m", "force_noise": "N"},
        outputs={"target": "m", "measured": "m", "force": "N"},
        parameters={name: 0.0 for name in own + matrices},
        name="frame_mr_damper",
    )(_plant)


def plant_parameters(frame: LinearStructure, damper: Mapping[str, float]) -> dict[str, float]:
    """Return the parameters of `plant`: M^-1 K, M^-1 C, the damper's numbers, the drive's."""
    rows = {"k": np.linalg.solve(frame.M, frame.K), "c": np.linalg.solve(frame.M, frame.C)}
    values = {f"{n}{i + 1}{j + 1}": float(rows[n][i, j]) for n in "kc" for i in range(3) for j in range(3)}
    values |= {parameter.name: damper.get(parameter.name, parameter.value) for parameter in SEMI_ACTIVE_PARAMETERS}
    values |= {"stiffness": DRIVE[0], "damping": DRIVE[1]}
    return values | {"first_inverse_mass": float(1.0 / frame.M[0, 0])}


def controller(settings: Mapping[str, Any]) -> tuple[Extrapolator, Mpc]:
    """Return the extrapolator of the target and the controller."""
    spacing, preview = whole_of(settings, "spacing", 8), truth_of(settings, "preview", True)
    model = prediction_model(electric_drive(*DRIVE), EVERY / RATE)
    horizon = Horizon(
        10,
        output_weight=64.073,
        move_weight=float(settings.get("move_weight", 0.002)),
        bounds=(-0.25, 0.25),
        rate_limit=settings.get("rate_limit"),
        rate_unit=None if settings.get("rate_limit") is None else "per second",
        preview=preview,
    )
    leads = horizon_leads(10, EVERY) if preview else np.array([float(settings.get("lead", spacing))])
    return Extrapolator(order=4, spacing=spacing, leads=leads), Mpc(model, horizon)


def build(parameters: Mapping[str, float], options: Options) -> tuple[Loop, float]:
    """Return the loop of one virtual test and its duration in s."""
    motion = ground_motion(options, scale=0.4)
    values = dict(zip(SPACE.names, SPACE.mean, strict=True)) | dict(parameters)
    shape = ("beam_length", "column_length", "floor_mass", "damping_ratio")
    frame = benchmark_structure(**{name: values[name] for name in shape})
    damper = {k: values[k] for k in ("k_xa", "k_wa")}
    loop = Loop(RATE)
    extrapolator, mpc = controller(options.settings)
    ahead = [f"ahead{i}" for i in range(extrapolator.n_out)]
    units = {"ground": "m/s2", "force_noise": "N", "target": "m", "measured": "m", "force": "N", "command": "m"}
    for name in (*units, *ahead, "iterations", "status"):
        loop.signal(name, unit=units.get(name, "m" if name in ahead else ""))
    # RK4 holds the ground over the step that ends now: half a sample earlier is its middle.
    loop.add("ground", Table(motion.time + 0.5 / RATE, motion.values), outputs=["ground"])
    loop.add("noise", Noise(NOISE, seed=options.seed), outputs=["force_noise"])
    block = plant().block(dt=1 / RATE, parameters=plant_parameters(frame, damper), update="start")
    loop.add(
        "plant",
        block,
        inputs=["ground", previous("command"), "force_noise"],
        outputs=["target", "measured", "force"],
    )
    loop.add("extrapolator", extrapolator, inputs=["target"], outputs=ahead)
    outputs = ["command", "iterations", "status"]
    loop.add("mpc", mpc, inputs=[*ahead, "measured"], outputs=outputs, every=EVERY)
    loop.record(["target", "measured", "command", "force", "iterations", "status"])
    return loop, motion.duration


TEST = VirtualTest(
    name="frame_mr_damper",
    run=tracked(build),
    space=SPACE,
    published=PUBLISHED,
    settings=("spacing", "lead", "preview", "move_weight", "rate_limit"),
)
