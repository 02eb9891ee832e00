"""The numerical side of the motorcycle for a test beside a rig: driver, body, brakes, engine, adaptive MPC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hmor.studies.motorcycle.ampc import EVERY, RATE, controller
from hmor.studies.motorcycle.vehicle import add_control, add_vehicle
from mor import Substructure
from mor.models.motorcycle import scenario, short_ride
from rt_runtime import LoadedBundle, Loop
from rt_runtime._core import Block
from rt_runtime.checks import one_of
from rt_runtime.errors import ConfigError

RIDES = {"whole": scenario, "short": short_ride}


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
    ride = RIDES[one_of(str(settings.get("ride", "whole")), "ride", "[run.settings]", tuple(RIDES))]()

    def block(part: Substructure, update: str, fresh: Sequence[str]) -> Block:
        return part.block(dt=part.ticks(1.0 / loop.rate) / loop.rate, update=update, fresh=fresh)

    add_vehicle(loop, ride, parts, block, "tau_vd", ("tau_vd",))
    loop.signal("wanted", unit="Nm")
    control = controller("adaptive", {"design": "noisy", "noise": 0.0}, largest_age=0.0)
    add_control(loop, control, block, ["torque", "rig.age"], "wanted", EVERY)
