"""Full-order hydraulic disc brake: lever, master cylinder, line, caliper, pad contact, friction, disc temperature.

With lever force F in N, wheel speed w, master piston x_m, v_m, its pressure p_m, line flow q, caliper pressure p_c,
caliper piston x_c, v_c and disc temperature T (pressures relative to the atmosphere):

    m_m v_m' = i F - A_m p_m - k_m x_m - c_m v_m                  lever of ratio i, piston, return spring, seal
    (V_m / beta) p_m' = A_m v_m - q                               fluid in the master cylinder
    I q' = p_m - p_c - R q - K q |q|                              inertance, restrictor (laminar), orifice (turbulent)
    C p_c' = q - A_c v_c                                          fluid, hose and caliper give way
    m_c v_c' = A_c p_c - k_s x_c - c_s v_c - N                    piston with pad, seal that pulls it back
    N = k_p d^2 / (d + d_0) + c_p v_c d / (d + d_0), at least 0,  pad on disc: d = x_c - gap > 0, asperities first
    tau = 2 N r mu tanh(v / v_0) + B_mu w N / (N + N_0)           two faces, sliding speed v = r w
    mu = (mu_k + (mu_s - mu_k) exp(-(v / v_s)^2)) / (1 + alpha (T - T_a))          Stribeck and fade
    C_d T' = tau w - h (T - T_a)                                  disc heats up and cools down

The torque has the sign of w: it opposes the rotation, and vanishes smoothly at standstill.

What is published and what is chosen: piston diameters, lever ratios and disc radii are those of light motorcycles and
scooters (12 to 16 mm master cylinder, 27 to 34 mm piston, disc of 220 to 240 mm); bulk modulus, density and viscosity
are those of DOT 4 fluid with a little air; friction coefficients and fade (a tenth at 370 degC) those of sintered pads.
Chosen are the restrictor and the compliance behind it, which give a lag of 22 to 25 ms, the pad stiffness (sintered
metal, about 2 GPa on a steel backing, which puts the piston on the pad at 10 kHz), and the regularisation speed v_0,
wide on purpose: the brake lets the wheel creep instead of holding it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import exp, pi, tanh

import numpy as np

from mor.compile.held import Held
from mor.compile.ode import OdeSystem, ode
from mor.data.ports import Parameter, Port
from mor.substructures.differential import OdeSubstructure
from rt_runtime.checks import Array, one_of

STATES = (
    Port("x_m", "m"),
    Port("v_m", "m/s"),
    Port("p_m", "Pa"),
    Port("q", "m3/s"),
    Port("p_c", "Pa"),
    Port("x_c", "m"),
    Port("v_c", "m/s"),
    Port("temperature", "degC"),
)
AMBIENT = 20.0


def _area(diameter: float) -> float:
    return pi * diameter**2 / 4


def _positive(name: str, value: float, unit: str) -> Parameter:
    return Parameter(name, value, unit, 1e-3 * value, 1e3 * value)


PARAMETERS = (
    _positive("lever_ratio", 5.0, ""),
    _positive("A_m", _area(14e-3), "m2"),
    _positive("m_m", 0.15, "kg"),
    _positive("k_m", 1500.0, "N/m"),
    _positive("c_m", 250.0, "Ns/m"),
    _positive("V_m", 4e-6, "m3"),
    _positive("beta", 1.2e9, "Pa"),
    _positive("inertance", 1.6e8, "kg/m4"),
    _positive("R", 4e10, "Pa s/m3"),
    _positive("K", 2.2e15, "Pa s2/m6"),
    _positive("C", 5e-13, "m3/Pa"),
    _positive("A_c", _area(32e-3), "m2"),
    _positive("m_c", 0.12, "kg"),
    _positive("k_s", 2.5e5, "N/m"),
    _positive("c_s", 150.0, "Ns/m"),
    _positive("gap", 6e-5, "m"),
    _positive("k_p", 5e8, "N/m"),
    _positive("c_p", 500.0, "Ns/m"),
    _positive("d_0", 5e-7, "m"),
    _positive("radius", 0.105, "m"),
    _positive("mu_k", 0.36, ""),
    _positive("mu_s", 0.45, ""),
    _positive("v_s", 1.5, "m/s"),
    _positive("v_0", 0.5, "m/s"),
    Parameter("B_mu", 0.13, "Nm s/rad", 0.0, 10.0),
    _positive("N_0", 100.0, "N"),
    Parameter("fade", 3e-4, "1/K", 0.0, 0.1),
    _positive("C_d", 550.0, "J/K"),
    Parameter("cooling", 8.0, "W/K", 0.0, 1e3),
)
"""The front brake; the rear one differs where `REAR` says so."""

REAR = {
    "lever_ratio": 4.0,
    "A_c": _area(30e-3),
    "radius": 0.09,
    "C_d": 420.0,
    "inertance": 2.0e8,
    "C": 4.5e-13,
}

SUBSTEPS = 3
"""Of RK4 in a tick of 0.1 ms: the piston on the pad (10 kHz) is stable up to 45 us, so two would diverge."""


def friction_of_speed(u: Array, p: Array, h: Array) -> None:
    """Wheel speed in rad/s, friction coefficient of cold pads and tanh(v / v_0): held as long as the wheel speed is."""
    w = u[1] * 0.10471975511965977
    v = p[19] * w
    h[0] = w
    h[1] = p[20] + (p[21] - p[20]) * exp(-((v / p[22]) ** 2))
    h[2] = tanh(v / p[23])


HELD = Held(("w_rad", "mu_cold", "direction"), friction_of_speed)


def brake_rhs(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
    """Right-hand side: lever force in N and wheel speed in rpm in, braking torque in Nm out; u[2:] as of HELD."""
    v_m, p_m, q, p_c, x_c, v_c, warm = x[1], x[2], x[3], x[4], x[5], x[6], x[7] - 20.0
    w = u[2]
    dx[0] = v_m
    dx[1] = (p[0] * u[0] - p[1] * p_m - p[3] * x[0] - p[4] * v_m) / p[2]
    dx[2] = (p[1] * v_m - q) * p[6] / p[5]
    dx[3] = (p_m - p_c - (p[8] + p[9] * abs(q)) * q) / p[7]
    dx[4] = (q - p[11] * v_c) / p[10]
    d = max(x_c - p[15], 0.0)
    touch = d / (d + p[18])
    normal = max((p[16] * d + p[17] * v_c) * touch, 0.0)
    dx[5] = v_c
    dx[6] = (p[11] * p_c - p[13] * x_c - p[14] * v_c - normal) / p[12]
    mu = u[3] / (1.0 + p[26] * warm)
    tau = 2.0 * normal * p[19] * mu * u[4] + p[24] * w * normal / (normal + p[25])
    dx[7] = (tau * w - p[28] * warm) / p[27]
    y[0] = tau


def brake_jacobian(t: float, x: Array, u: Array, p: Array, J: Array) -> None:
    """Derivative of the rates with respect to the states."""
    for i in range(8):
        for j in range(8):
            J[i, j] = 0.0
    v_c, warm = x[6], x[7] - 20.0
    w = u[2]
    J[0, 1] = 1.0
    J[1, 0] = -p[3] / p[2]
    J[1, 1] = -p[4] / p[2]
    J[1, 2] = -p[1] / p[2]
    J[2, 1] = p[1] * p[6] / p[5]
    J[2, 3] = -p[6] / p[5]
    J[3, 2] = 1.0 / p[7]
    J[3, 3] = -(p[8] + 2.0 * p[9] * abs(x[3])) / p[7]
    J[3, 4] = -1.0 / p[7]
    J[4, 3] = 1.0 / p[10]
    J[4, 6] = -p[11] / p[10]
    J[5, 6] = 1.0
    J[6, 4] = p[11] / p[12]
    J[6, 5] = -p[13] / p[12]
    J[6, 6] = -p[14] / p[12]
    J[7, 7] = -p[28] / p[27]
    d = x[5] - p[15]
    if d > 0.0 and p[16] * d + p[17] * v_c > 0.0:
        touch = d / (d + p[18])
        push = p[16] * d + p[17] * v_c
        normal = push * touch
        by_x = p[16] * touch + push * p[18] / ((d + p[18]) * (d + p[18]))
        by_v = p[17] * touch
        mu = u[3] / (1.0 + p[26] * warm)
        dry = 2.0 * p[19] * mu * u[4]
        heat = (dry + p[24] * w * p[25] / ((normal + p[25]) * (normal + p[25]))) * w / p[27]
        J[6, 5] -= by_x / p[12]
        J[6, 6] -= by_v / p[12]
        J[7, 5] = heat * by_x
        J[7, 6] = heat * by_v
        J[7, 7] -= dry * normal * p[26] / (1.0 + p[26] * warm) * w / p[27]


@cache
def _system() -> OdeSystem:
    """Compile the brake; front and rear share the code and differ in their numbers."""
    return ode(
        states=STATES,
        inputs={"F_br": "N", "w": "rpm"},
        outputs={"tau": "Nm"},
        parameters=PARAMETERS,
        initial={"temperature": AMBIENT},
        held=HELD,
        name="brake",
    )(brake_rhs)


@cache
def brake(side: str) -> OdeSubstructure:
    """Return the full-order brake of the "front" (F_br, w_fw -> tau_fw) or "rear" wheel (F_br, w_rw -> tau_rw)."""
    one_of(side, "side", "brake", ("front", "rear"))
    wheel = "fw" if side == "front" else "rw"
    changed = {} if side == "front" else REAR
    system = replace(
        _system(),
        name=f"{side}_brake",
        inputs=(Port("F_br", "N"), Port(f"w_{wheel}", "rpm")),
        outputs=(Port(f"tau_{wheel}", "Nm"),),
        parameters=tuple(_positive(p.name, changed[p.name], p.unit) if p.name in changed else p for p in PARAMETERS),
    )
    return OdeSubstructure(
        system,
        substeps=SUBSTEPS,
        jacobian=brake_jacobian,
        points=[(_pressed(system), (50.0, 100.0))],
        sizes={"v_m": 1e-3, "q": 1e-7, "v_c": 1e-3},
    )


def _pressed(system: OdeSystem) -> Array:
    """State in equilibrium with 50 N on the lever, where the pad is stiffest."""
    values = {p.name: p.value for p in system.parameters}
    x_c, pressure = equilibrium(values, np.array([50.0]))
    x_m = (values["lever_ratio"] * 50.0 - values["A_m"] * pressure[0]) / values["k_m"]
    return np.array([x_m, 0.0, pressure[0], 0.0, pressure[0], x_c[0], 0.0, AMBIENT])


def equilibrium(p: dict[str, float], force: Array) -> tuple[Array, Array]:
    """Return caliper travel in m and pressure in Pa at rest by bisection: the lever force grows with the travel."""

    def at(x_c: Array) -> tuple[Array, Array]:
        d = np.maximum(x_c - p["gap"], 0.0)
        pressure = (p["k_s"] * x_c + p["k_p"] * d * d / (d + p["d_0"])) / p["A_c"]
        x_m = (pressure * (p["V_m"] / p["beta"] + p["C"]) + p["A_c"] * x_c) / p["A_m"]
        return pressure, (p["A_m"] * pressure + p["k_m"] * x_m) / p["lever_ratio"]

    low, high = np.zeros_like(force), np.full_like(force, p["gap"] + 1e-3)
    low = np.where(force < 0, -high, low)
    for _ in range(80):
        middle = 0.5 * (low + high)
        below = at(middle)[1] < force
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    x_c = 0.5 * (low + high)
    return x_c, at(x_c)[0]
