"""The numerical side of the viaduct for a test beside an actuator: deck, six reduced piers, MPC, simulated specimen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hmor.studies.viaduct.bridge import HEIGHTS, RATE, SPECIMEN, deck
from hmor.studies.viaduct.piers import pier_name
from hmor.studies.viaduct.records import RECORDS, record
from mor import Substructure, prediction_model
from mor.dynamics.transfer import TransferFunction
from rt_runtime import Extrapolator, Horizon, LoadedBundle, Loop, Mpc, Table, horizon_leads, previous
from rt_runtime.checks import one_of, positive
from rt_runtime.errors import ConfigError

ACTUATOR = ((3948.0,), (1.0, 88.0, 3948.0))
"""Transfer function of the actuator that the controller is made for: 10 Hz, damping ratio 0.7."""

STROKE = 0.5
"""Largest command in m."""

HORIZON = 12


def controller() -> tuple[Extrapolator, Mpc]:
    """Return the extrapolator of the target and the controller."""
    model = prediction_model(TransferFunction(*ACTUATOR), 1.0 / RATE)
    horizon = Horizon(HORIZON, output_weight=60.0, move_weight=0.02, bounds=(-STROKE, STROKE), preview=True)
    return Extrapolator(order=3, spacing=8, leads=horizon_leads(HORIZON, 1)), Mpc(model, horizon)


def numerical_side(
    loop: Loop, bundles: Mapping[str, LoadedBundle], settings: Mapping[str, Any], parts: Mapping[str, Substructure]
) -> None:
    """Add the bridge: reads the measured displacement x_m of the actuator, writes the wanted command.

    Parts: pier_7, pier_9, pier_12, and pier_14, which plays the specimen: it turns the measured displacement into its
    force. Settings: record ("el_centro", "synthetic", "pulse") and scale.
    """
    if abs(loop.rate / RATE - 1.0) > 1e-9:
        raise ConfigError(f"rate of [run] must be {RATE:g} Hz, as the deck is made for, got {loop.rate:g} Hz.")
    dt = 1.0 / loop.rate
    name = one_of(str(settings.get("record", "el_centro")), "record", "[run.settings]", RECORDS)
    motion = record(name).scaled(positive(float(settings.get("scale", 1.0)), "scale", "[run.settings]"))
    extrapolator, mpc = controller()
    ahead = [f"ahead{i}" for i in range(extrapolator.n_out)]
    n = len(HEIGHTS)
    x, F = [f"x{i}" for i in range(1, n + 1)], [f"F{i}" for i in range(1, n + 1)]
    units = {"ag": "m/s2"} | dict.fromkeys((*x, *ahead, "wanted"), "m") | dict.fromkeys(F, "N")
    for signal, unit in (units | {"iterations": "", "status": ""}).items():
        loop.signal(signal, unit=unit)
    loop.add("ground", Table(motion.time + 0.5 * dt, motion.values), outputs=["ag"])
    block = deck().block(dt=dt, update="start", fresh=["ag"])
    loop.add("deck", block, inputs=["ag", *(previous(force) for force in F)], outputs=x)
    for i, height in enumerate(HEIGHTS):
        kind = pier_name(height)
        if kind not in parts:
            raise ConfigError(f"parts of [run] must name '{kind}' of the viaduct, got {', '.join(parts) or 'none'}.")
        place, reads = (f"pier_{i + 1}", x[i]) if i != SPECIMEN else ("specimen", "x_m")
        loop.add(place, parts[kind].block(dt=dt), inputs=[reads], outputs=[F[i]])
    loop.add("extrapolator", extrapolator, inputs=[x[SPECIMEN]], outputs=ahead)
    loop.add("mpc", mpc, inputs=[*ahead, "x_m"], outputs=["wanted", "iterations", "status"])
