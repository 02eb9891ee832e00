"""Railway bridge with a magnetorheological damper: a train crosses at several speeds, the damper stands in the rig.

A tick of 1 ms: actuator, damper, load cell and displacement sensor with noise; then the bridge (five modes under the
axle loads of EN 1991-2's train A4, pulled by the measured force), the stretch of the damper as target, and the
controller with a preview from the state of the bridge. Najafi and Spencer, NSEL Report 051 (2021), section 4.4, show
pictures and no numbers. Preview and weights were chosen at 140, 169 and 180 km/h; the other speeds judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from hmor.rigs.catalogue import PhysicalSide
from hmor.studies.base import Options, Run, VirtualTest
from hmor.studies.settings import whole_of
from hmor.studies.structural.railway_pictures import draw_set_up, pictures
from mor import Normal, ParameterSpace, prediction_model
from mor.dynamics.tracking_design import design_report, model_preview
from mor.dynamics.transfer import StateSpaceMatrices, TransferFunction
from mor.models.mr_damper import mr_damper
from mor.models.railway_bridge import ACTUATOR, DAMPER, HSLM_A4, LOAD_CELL, STROKE, Brace, Girder
from rt_runtime import Gain, Horizon, Loop, Noise, Record, StateSpace, Sum, Table, TrackingMpc, previous
from rt_runtime.bundle.rom import LoadedBundle
from rt_runtime.checks import Array, one_of, positive
from rt_runtime.engine.signal_names import Previous
from rt_runtime.errors import ConfigError

RATE = 1000.0
DT = 1 / RATE
NOISE = (1e-5, 50.0)
"""Standard deviations of displacement sensor (m) and load cell (N) per sample."""

SPEEDS = (100.0, 120.0, 140.0, 150.0, 160.0, 165.0, 169.0, 173.0, 180.0, 200.0, 220.0, 240.0)
"""In km/h."""

RESONANCE = 169.0
DAMPERS = {"off": 0.0, "on": 2.0}
"""Voltage at the coil of the damper."""

AFTER = 3.0
"""Seconds of free vibration behind the train."""

FINE = 8
"""Steps of the reference in a tick."""

GIRDER, BRACE = Girder(), Brace()
PLACES = (GIRDER.span / 2, GIRDER.span / 4)
SPACE = ParameterSpace({"gain": Normal(1.0, 0.01), "speed": Normal(1.0, 0.01)})
"""What may differ from the identified actuator: static gain and pole frequencies."""


def bridge() -> StateSpaceMatrices:
    """Return the bridge: modal loads and force of the damper in; stretch, its rate, deflections, accelerations out."""
    return GIRDER.state_space(BRACE.lever(GIRDER), PLACES)


def train(speed: float, dt: float) -> Table:
    """Return the modal loads at `speed` km/h; held over a step they are those of its middle."""
    t = np.arange(int(duration(speed) / dt) + 2) * dt
    return Table(t, HSLM_A4.modal_loads(GIRDER, speed / 3.6, t + dt / 2))


def duration(speed: float) -> float:
    """Return the length of a run in s."""
    return HSLM_A4.duration(GIRDER, positive(speed, "speed", "study 'railway_bridge'") / 3.6) + AFTER


def controller(kind: str, settings: Mapping[str, Any]) -> TrackingMpc | None:
    """Return the controller; its preview follows the bridge under its present axle loads and the measured force.

    The state of the preview is [q, q', modal loads, force]: loads and force are held over the horizon.
    """
    if kind == "none":
        return None
    steps, part = whole_of(settings, "prediction", 30), bridge()
    n, held = len(part.A), part.B.shape[1]
    A = np.block([[part.A, part.B], [np.zeros((held, n + held))]])
    seen = np.hstack([part.C[:1], np.zeros((1, held))])
    target = StateSpaceMatrices(A, np.zeros((n + held, 1)), seen, np.zeros((1, 1)))
    lead = float(settings.get("lead", 0.0))
    preview = model_preview(target, stiffness=[[0.0]], force_inputs=[0], steps=steps, dt=DT, lead=lead)
    model = prediction_model(ACTUATOR, DT, input_variance=1e-11, noise_variance=1e-10, disturbance_gain=1e-6)
    horizon = Horizon(
        steps,
        control=10,
        output_weight=1.0,
        move_weight=float(settings.get("move_weight", 0.03)),
        bounds=(-0.9 * STROKE, 0.9 * STROKE),
    )
    return TrackingMpc(model, horizon, preview=preview)


def add_rig(loop: Loop, command: str | Previous, plant: TransferFunction, noise: Sequence[float], seed: int) -> None:
    """Add actuator, damper and sensors: `command` and `voltage` to `position` and `force` as they are measured."""
    units = {"piston": "m", "piston_rate": "m/s", "damper_force": "N", "noise_1": "m", "noise_2": "N"}
    for name, unit in (units | {"position": "m", "force": "N"}).items():
        loop.signal(name, unit=unit)
    a = plant.state_space()
    moving = StateSpace(a.A, a.B, np.vstack([a.C, a.C @ a.A]), dt=DT, update="start")
    loop.add("actuator", moving, inputs=[command], outputs=["piston", "piston_rate"])
    damper = mr_damper().block(dt=DT, parameters=DAMPER, update="start")
    loop.add("damper", damper, inputs=["piston_rate", "voltage"], outputs=["damper_force"])
    loop.add("noise", Noise(noise, seed=seed), outputs=["noise_1", "noise_2"])
    loop.add("sensor", Sum("++"), inputs=["piston", "noise_1"], outputs=["position"])
    loop.add("load_cell", Sum("++"), inputs=["damper_force", "noise_2"], outputs=["force"])


def add_bridge(loop: Loop, speed: float, kind: str, settings: Mapping[str, Any]) -> None:
    """Add what runs beside a rig: the bridge under the train, pulled by `force`, and the controller to `wanted`."""
    part, modes = bridge(), GIRDER.modes
    n = 2 * modes
    loop.signal(f"load[{modes}]", unit="N")
    for name, unit in {"stretch": "m", "stretch_rate": "m/s"}.items():
        loop.signal(name, unit=unit)
    loop.signal("deflection[2]", unit="m")
    loop.signal("acceleration[2]", unit="m/s2")
    loop.signal(f"q[{n}]")
    loop.add("train", train(speed, DT), outputs=[f"load[{modes}]"])
    C, D = np.vstack([part.C, np.eye(n)]), np.vstack([part.D, np.zeros((n, modes + 1))])
    outputs = ["stretch", "stretch_rate", "deflection[2]", "acceleration[2]", f"q[{n}]"]
    block = StateSpace(part.A, part.B, C, D, dt=DT)
    loop.add("bridge", block, inputs=[f"load[{modes}]", "force"], outputs=outputs)
    found = controller(kind, settings)
    if found is None:
        loop.add("control", Gain(1.0), inputs=["stretch"], outputs=["wanted"])
        return
    loop.signal("iterations")
    loop.signal("status")
    inputs = ["stretch", "position", f"q[{n}]", f"load[{modes}]", "force"]
    loop.add("control", found, inputs=inputs, outputs=["wanted", "iterations", "status"])
    loop.require("Controller", lambda: design_report(found, ACTUATOR.state_space()).problems)


def build(speed: float, voltage: float, parameters: Mapping[str, float], options: Options) -> Loop:
    """Build the loop of one crossing at `speed` km/h with the damper at `voltage`."""
    kind = one_of(str(options.settings.get("control", "state")), "control", "railway_bridge", ("state", "none"))
    noise = np.array(NOISE) * float(options.settings.get("noise", 1.0))
    plant = ACTUATOR.varied(gain=parameters.get("gain", 1.0), speed=parameters.get("speed", 1.0))
    loop = Loop(RATE)
    loop.constant("voltage", voltage, unit="V")
    loop.signal("wanted", unit="m")
    add_rig(loop, previous("wanted"), plant, noise.tolist(), options.seed)
    add_bridge(loop, speed, kind, options.settings)
    loop.require("Target", lambda: target_problems(speed, voltage))
    return loop


def target_problems(speed: float, voltage: float) -> Sequence[str]:
    """Compare what the undivided bridge would ask for with stroke and load cell."""
    whole = complete(speed, voltage)
    found = []
    for what, most, limit, unit in (
        ("Stroke of the actuator", float(np.abs(whole["stretch"]).max()), STROKE, "m"),
        ("Force on the load cell", float(np.abs(whole["force"]).max()), LOAD_CELL, "N"),
    ):
        if not most <= 0.9 * limit:
            found.append(f"{what} must stay within 90 % of {limit:g} {unit}, got {most:.3g} {unit} at {speed:g} km/h.")
    return found


@cache
def complete(speed: float, voltage: float | None) -> Record:
    """Return the crossing of the undivided bridge, bare (None) or with the damper, at an eighth of the tick."""
    dt, modes, part = DT / FINE, GIRDER.modes, bridge()
    loop = Loop(FINE * RATE)
    loop.signal(f"load[{modes}]", unit="N")
    for name, unit in {"stretch": "m", "stretch_rate": "m/s", "force": "N"}.items():
        loop.signal(name, unit=unit)
    loop.signal("deflection[2]", unit="m")
    loop.signal("acceleration[2]", unit="m/s2")
    loop.constant("voltage", voltage or 0.0, unit="V")
    loop.add("train", train(speed, dt), outputs=[f"load[{modes}]"])
    block = StateSpace(part.A, part.B, part.C, part.D, dt=dt)
    outputs = ["stretch", "stretch_rate", "deflection[2]", "acceleration[2]"]
    loop.add("bridge", block, inputs=[f"load[{modes}]", previous("force")], outputs=outputs)
    damper = mr_damper().block(dt=dt, parameters=DAMPER) if voltage is not None else Gain([[0.0, 0.0]])
    loop.add("damper", damper, inputs=["stretch_rate", "voltage"], outputs=["force"])
    loop.record(["stretch", "force", "deflection[2]", "acceleration[2]"], every=FINE)
    return loop.run(duration(speed))


def maxima(record: Record) -> dict[str, float]:
    """Return the largest deflection in mm and the largest acceleration in m/s2 at midspan and quarter span."""
    return {
        "mm": float(1e3 * np.abs(record["deflection[2]"]).max()),
        "m_s2": float(np.abs(record["acceleration[2]"]).max()),
    }


def error(values: Array, reference: Array) -> float:
    """Return 100 sqrt(sum e^2 / sum r^2) over what both have."""
    n = min(len(values), len(reference))
    return float(100 * np.sqrt(np.sum((values[:n] - reference[:n]) ** 2) / np.sum(reference[:n] ** 2)))


def run(parameters: Mapping[str, float], options: Options) -> Run:
    """Cross the bridge at every speed, or the one of the setting `speed`: bare, damper without and with voltage."""
    speeds = (float(options.settings["speed"]),) if "speed" in options.settings else SPEEDS
    metrics: dict[str, float] = {}
    tracking, response, kept = [], [], None
    for speed in speeds:
        metrics |= {f"bare_{speed:g}_{key}": value for key, value in maxima(complete(speed, None)).items()}
        for name, voltage in DAMPERS.items():
            record = build(speed, voltage, parameters, options).run(duration(speed))
            metrics |= {f"{name}_{speed:g}_{key}": value for key, value in maxima(record).items()}
            tracking.append(error(record["piston"], record["stretch"]))
            response.append(error(record["deflection[2]"], complete(speed, voltage)["deflection[2]"]))
            if kept is None or speed == RESONANCE:
                kept = record
    if kept is None:
        raise ConfigError("study 'railway_bridge' must have at least one speed.")
    whole = {"tracking_worst": max(tracking), "response_worst": max(response)}
    return Run(whole | {"force_kN": float(np.abs(kept["damper_force"]).max() / 1e3)} | metrics, kept)


def damper_rig(rate: float) -> PhysicalSide:
    """Actuator, damper and sensors as a rig of their own: `command` and `voltage` in, `position` and `force` out."""
    if rate != RATE:
        raise ConfigError(f"rate of the rig of railway_bridge must be {RATE:g} Hz, got {rate:g} Hz.")
    loop = Loop(rate)
    loop.constant("command", 0.0, unit="m")
    loop.constant("voltage", 0.0, unit="V")
    add_rig(loop, "command", ACTUATOR, NOISE, seed=0)
    return PhysicalSide(loop, ("command", "voltage"), ("position", "force"))


def bridge_side(loop: Loop, bundles: Mapping[str, LoadedBundle], settings: Mapping[str, Any]) -> None:
    """Numerical side for `damper_rig`; reads `position` and `force`, gives `wanted` and `wanted_voltage`.

    Settings: `speed` in km/h, `voltage` at the damper, and those of the controller.
    """
    speed, voltage = float(settings.get("speed", RESONANCE)), float(settings.get("voltage", 2.0))
    loop.constant("wanted_voltage", voltage, unit="V")
    loop.signal("wanted", unit="m")
    add_bridge(loop, speed, "state", settings)
    loop.require("Target", lambda: target_problems(speed, voltage))


TEST = VirtualTest(
    name="railway_bridge",
    run=run,
    space=SPACE,
    settings=("speed", "control", "noise", "lead", "prediction", "move_weight"),
    ground_motion=False,
    drawing=lambda: draw_set_up(GIRDER, BRACE, HSLM_A4),
    pictures=pictures,
)
