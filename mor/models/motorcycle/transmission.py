"""Electronically controlled continuously variable transmission: freewheeling clutch, belt of variable ratio, its servo.

With engine-side speed w_en (n_en in rpm), output shaft speed w_vd, ratio i and clutch-and-belt torque T:

    J_p w_en' = tau_en - T
    T = T_c max(0, tanh((w_en - i w_vd) / w_0)),   T_c = g max(0, n_en^2 - n_0^2)      clutch closes above n_0, slips
    i' = (clip(n_ref / n_vd, i_min, i_max) - i) / T_s                                  servo: engine at n_ref
    tau_vd = eta i T                                                                   belt losses

Below n_0 the clutch is open and no torque passes: the motorcycle stands still while the engine idles. When the wheel
overruns the engine it freewheels: the motorcycle sails with closed throttle and the brakes alone stop it. (In the
published study the torque tau_vd does not feel what the brakes do, 0.09 % against 1.4 % in the wheel speeds, so its
transmission passed none while braking either.) All values are chosen, in the range of scooter transmissions (ratio 0.8
to 2.8, clutch from 2000 rpm, efficiency 0.88).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import exp

import numpy as np

from mor.compile.ode import OdeSystem, ode
from mor.data.ports import Parameter
from mor.substructures.differential import OdeSubstructure
from rt_runtime.checks import Array

PARAMETERS = (
    Parameter("J_p", 0.06, "kg m2", 1e-3, 1.0),
    Parameter("clutch_gain", 7e-6, "Nm/rpm2", 1e-8, 1e-3),
    Parameter("n_0", 2000.0, "rpm", 1600.0, 5000.0),
    Parameter("w_0", 90.0, "rad/s", 1.0, 200.0),
    Parameter("n_ref", 4000.0, "rpm", 2500.0, 12000.0),
    Parameter("i_min", 0.8, "", 0.1, 10.0),
    Parameter("i_max", 2.8, "", 0.1, 10.0),
    Parameter("T_s", 0.25, "s", 0.01, 10.0),
    Parameter("eta", 0.88, "", 0.5, 1.0),
)
IDLE = 15000.0 / 11.0
"""Engine-side speed in rpm at the start, the engine's idle speed."""


def ecvt_rhs(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    """Right-hand side: engine torque and output shaft speed in rpm in; engine speed in rpm and output torque out."""
    per_J_p, per_w_0, per_T_s = p[9], p[10], p[11]
    w_en, i = x[0], x[1]
    n_en = w_en * 9.549296585513721
    slip = w_en - i * u[1] * 0.10471975511965977
    torque = 0.0
    if slip > 0.0 and n_en > p[2]:  # closed and driving; open or overrun it costs nothing
        e = exp(-2.0 * slip * per_w_0)  # tanh by one exponential
        torque = p[1] * (n_en * n_en - p[2] * p[2]) * (1.0 - e) / (1.0 + e)
    target = min(max(p[4] / max(u[1], 1.0), p[5]), p[6])
    dx[0] = (u[0] - torque) * per_J_p
    dx[1] = (target - i) * per_T_s
    y[0] = n_en
    y[1] = p[8] * i * torque


def _derived(p: Mapping[str, float]) -> dict[str, float]:
    return {"per_J_p": 1 / p["J_p"], "per_w_0": 1 / p["w_0"], "per_T_s": 1 / p["T_s"]}


@cache
def _system() -> OdeSystem:
    return ode(
        states={"w_en": "rad/s", "ratio": ""},
        inputs={"tau_en": "Nm", "w_vd": "rpm"},
        outputs={"w_en": "rpm", "tau_vd": "Nm"},
        parameters=PARAMETERS,
        initial={"w_en": IDLE * np.pi / 30, "ratio": 2.8},
        derived=_derived,
        name="ecvt",
    )(ecvt_rhs)


def _open(p: Mapping[str, float]) -> Array:
    return np.array([IDLE * np.pi / 30, p["i_max"]])


@cache
def ecvt() -> OdeSubstructure:
    """Return the transmission (tau_en, w_vd -> w_en, tau_vd), idling with the clutch open at the start."""
    top = (np.array([5000.0 * np.pi / 30, 1.5]), np.array([10.0, 3300.0]))
    return OdeSubstructure(_system(), method="ab2", direct=("w_vd",), points=[top], initial=_open)
