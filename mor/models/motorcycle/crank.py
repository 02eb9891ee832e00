"""Combustion engine: torque map over throttle and speed, idle governor, viscous friction, crank, torsional damper.

With throttle thr, crank speed n_c in rpm (w_c in rad/s), speed n_en of the transmission and twist a of the damper:

    T = thr T_max max(0, 1 - ((n_c - n_p) / n_w)^2) + clip(g (n_i - n_c), 0, T_i)     map and idle governor
    J w_c' = T - mu n_c - tau_en                                                        mu in Nm/rpm
    a' = w_c - w_en,   tau_en = k a + c (w_c - w_en)                                    torsional damper

Chosen: a single of about 500 cc (46 Nm at 6000 rpm), idle near 1360 rpm, torsional mode near 22 Hz. J and mu are the
published uncertain parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from mor.compile.ode import OdeSystem, ode
from mor.data.ports import Parameter
from mor.substructures.differential import OdeSubstructure
from rt_runtime.checks import Array

PARAMETERS = (
    Parameter("J", 0.0115, "kg m2", 1e-4, 1.0),
    Parameter("mu", 0.001, "Nm/rpm", 0.0, 0.1),
    Parameter("T_max", 46.0, "Nm", 1.0, 500.0),
    Parameter("n_p", 6000.0, "rpm", 1000.0, 15000.0),
    Parameter("n_w", 6500.0, "rpm", 1000.0, 20000.0),
    Parameter("idle_gain", 0.01, "Nm/rpm", 1e-4, 1.0),
    Parameter("n_i", 1500.0, "rpm", 500.0, 3000.0),
    Parameter("T_i", 8.0, "Nm", 0.1, 50.0),
    Parameter("k", 110.0, "Nm/rad", 1.0, 1e5),
    Parameter("c", 0.6, "Nm s/rad", 0.0, 100.0),
)


def engine_rhs(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    """Right-hand side: throttle 0..1 and shaft speed in rpm in, torque on the shaft in Nm out."""
    w_c, twist = x[0], x[1]
    n_c = w_c * 9.549296585513721
    slip = w_c - u[1] * 0.10471975511965977
    torque = p[8] * twist + p[9] * slip
    off = (n_c - p[3]) * p[10]  # times 1 / n_w
    burnt = u[0] * p[2] * max(0.0, 1.0 - off * off) + min(max(p[5] * (p[6] - n_c), 0.0), p[7])
    dx[0] = (burnt - p[1] * n_c - torque) * p[11]  # times 1 / J
    dx[1] = slip
    y[0] = torque


def _derived(p: Mapping[str, float]) -> dict[str, float]:
    return {"per_n_w": 1 / p["n_w"], "per_J": 1 / p["J"]}


@cache
def _system() -> OdeSystem:
    return ode(
        states={"w_c": "rad/s", "twist": "rad"},
        inputs={"thr": "", "w_en": "rpm"},
        outputs={"tau_en": "Nm"},
        parameters=PARAMETERS,
        derived=_derived,
        name="engine",
    )(engine_rhs)


def idle_speed(p: Mapping[str, float]) -> float:
    """Return the idle speed in rpm, where governor and friction balance: g (n_i - n) = mu n."""
    return p["idle_gain"] * p["n_i"] / (p["idle_gain"] + p["mu"])


def _idling(p: Mapping[str, float]) -> Array:
    return np.array([idle_speed(p) * np.pi / 30, 0.0])


@cache
def engine() -> OdeSubstructure:
    """Return the engine (thr, w_en -> tau_en), idling at the start."""
    return OdeSubstructure(_system(), method="ab2", initial=_idling)
