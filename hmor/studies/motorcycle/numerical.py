"""The numerical side of the motorcycle for a test beside a rig: driver, body, brakes, engine, adaptive MPC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hmor.studies.motorcycle.ampc import EVERY, RATE, controller
from mor import Substructure
from mor.models.motorcycle import body, engine, scenario, short_ride
from rt_runtime import LoadedBundle, Loop, Table, previous
from rt_runtime.checks import one_of
from rt_runtime.errors import ConfigError

RIDES = {"whole": scenario, "short": short_ride}
WHEELS = {"rear": "rw", "front": "fw"}


def numerical_side(
    loop: Loop, bundles: Mapping[str, LoadedBundle], settings: Mapping[str, Any], parts: Mapping[str, Substructure]
) -> None:
    """Add what stands beside the transmission, which is the rig: reads torque, w_en and tau_vd, writes wanted and w_vd.

    Parts: the brakes `rear` and `front`. Setting: `ride`, "whole" (45 s) or "short" (10 s). The controller leaves a
    measurement aside that is older than its tick: a rig that is always late must trip.
    """
    if abs(loop.rate / RATE - 1.0) > 1e-9:
        raise ConfigError(
            f"rate of [run] must be {RATE:g} Hz, as the controller of the motorcycle is made for, got {loop.rate:g} Hz."
        )
    dt = 1.0 / loop.rate
    extrapolator, control = controller("adaptive", {"design": "noisy", "noise": 0.0}, largest_age=0.0)
    ahead = [f"ahead{i}" for i in range(extrapolator.n_out)]
    extra = ["iterations", "status", "a1", "a2", "b1", "b2", "trace"]
    units = dict.fromkeys(("tau_rw", "tau_fw", "target", "wanted", *ahead), "Nm")
    units |= dict.fromkeys(("w_vd", "w_rw", "w_fw"), "rpm") | {"thr": "", "F_br": "N", "v": "m/s", "x": "m"}
    for name, unit in (units | dict.fromkeys(extra, "")).items():
        loop.signal(name, unit=unit)
    driving = RIDES[one_of(str(settings.get("ride", "whole")), "ride", "[run.settings]", tuple(RIDES))]()
    for name in ("thr", "F_br"):
        loop.add(f"driver.{name}", Table(driving.time, driving[name]), outputs=[name])
    loop.add(
        "body",
        body().block(dt=dt, update="start", fresh=["tau_vd"]),
        inputs=["tau_vd", previous("tau_rw"), previous("tau_fw")],
        outputs=["w_vd", "w_rw", "w_fw", "v", "x"],
    )
    for side, wheel in WHEELS.items():
        loop.add(f"{side}_brake", parts[side].block(dt=dt), inputs=["F_br", f"w_{wheel}"], outputs=[f"tau_{wheel}"])
    loop.add("engine", engine().block(dt=dt), inputs=["thr", "w_en"], outputs=["target"])
    loop.add("extrapolator", extrapolator, inputs=["target"], outputs=ahead)
    loop.add("controller", control, inputs=[*ahead, "torque", "rig.age"], outputs=["wanted", *extra], every=EVERY)
