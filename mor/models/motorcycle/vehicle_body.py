"""Body: longitudinal motion, heave and pitch on two suspensions and tyres over the road, wheels with tyre slip, air.

Heights are deviations from the static equilibrium, h the road under a wheel, s = rear or front, z_s the unsprung mass,
y_s = z - b_r theta or z + b_f theta the point of the body above it (theta: nose up):

    F_s = K_s (z_s - y_s) + Z_s (z_s' - y_s')                                       suspension
    N_s = max(0, K_t d + Z_t d' min(d / d_1, 1)),  d = N_0 / K_t + h - z_s > 0      tyre, leaves the ground when d < 0
    m_s z_s'' = N_s - N_0 - F_s
    M_b z'' = F_r + F_f,   J_b theta'' = b_f F_f - b_r F_r + H (X_r + X_f)
    u_s' = g v_s - (k_x |v_s| / mu_t + |v| / sigma + (1 - g) / T_u) u_s             bristle deflection (LuGre tyre)
    X_s = N_s (k_x u_s + d_x u_s'),   v_s = r_s w_s - v,   g = min(N_s / N_1, 1)    tyre force, at most about mu_t N
    M v' = X_r + X_f - N_r h'_r - N_f h'_f - rho/2 CdA v |v|                        normal forces push along on a slope
    I_s w_s' = tau_drive - tau_brake - r_s X_s - c_rr r_s N_s tanh(v / v_e)         rolling resistance

M is the whole mass, M_b = M - m_r - m_f; the rear wheel is driven through a final drive of ratio i_f, w_vd = i_f w_r.
Position x is that of the rear contact, the front one is the wheelbase ahead. The road of the scenario has a sharp edge
at x = 2 m and then runs as 0.02 (cos(2 pi x / 3) - 1) m; a tyre feels its mean over the length 2 a that a wheel of its
radius bridges. The tyre is the lumped LuGre model (Canudas de Wit et al. 2003) with relaxation length sigma; the
bristles of a wheel in the air (N < N_1) spring back within T_u, so that it lands without an old deflection.

Tyre and suspension stiffnesses and dampings and the mass are the published uncertain parameters. Chosen, in the range
of touring scooters: geometry, wheel inertias, drag area, rolling resistance, tyre slip.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import cos, floor, sin, tanh

import numpy as np

from mor.compile.ode import OdeSystem, ode
from mor.data.ports import Parameter
from mor.substructures.differential import OdeSubstructure
from rt_runtime.checks import Array

ROAD_HEIGHT, ROAD_LENGTH = 0.02, 3.0
WAVE = 2 * np.pi / ROAD_LENGTH

PARAMETERS = (
    Parameter("K_rt", 58570.0, "N/m", 1e3, 1e7),
    Parameter("Z_rt", 11650.0, "Ns/m", 0.0, 1e5),
    Parameter("K_ft", 25000.0, "N/m", 1e3, 1e7),
    Parameter("Z_ft", 2134.0, "Ns/m", 0.0, 1e5),
    Parameter("K_rs", 125000.0, "N/m", 1e3, 1e7),
    Parameter("Z_rs", 10000.0, "Ns/m", 0.0, 1e5),
    Parameter("K_fs", 19000.0, "N/m", 1e3, 1e7),
    Parameter("Z_fs", 1250.0, "Ns/m", 0.0, 1e5),
    Parameter("M", 300.0, "kg", 60.0, 2000.0),
    Parameter("m_r", 18.0, "kg", 1.0, 50.0),
    Parameter("m_f", 14.0, "kg", 1.0, 50.0),
    Parameter("b_r", 0.68, "m", 0.1, 3.0),
    Parameter("b_f", 0.72, "m", 0.1, 3.0),
    Parameter("H", 0.55, "m", 0.0, 2.0),
    Parameter("gyration", 0.42, "m", 0.05, 3.0),
    Parameter("r_r", 0.31, "m", 0.1, 1.0),
    Parameter("r_f", 0.298, "m", 0.1, 1.0),
    Parameter("I_r", 0.75, "kg m2", 0.01, 10.0),
    Parameter("I_f", 0.45, "kg m2", 0.01, 10.0),
    Parameter("i_f", 7.0, "", 0.5, 30.0),
    Parameter("sigma", 0.2, "m", 0.01, 2.0),
    Parameter("k_x", 180.0, "1/m", 1.0, 1000.0),
    Parameter("d_x", 1.0, "s/m", 0.0, 10.0),
    Parameter("mu_t", 1.0, "", 0.05, 3.0),
    Parameter("c_rr", 0.010, "", 0.0, 1.0),
    Parameter("v_e", 0.03, "m/s", 1e-3, 10.0),
    Parameter("drag", 0.27, "kg/m", 0.0, 10.0),
    Parameter("bridge", 0.12, "m", 1e-3, 1.0),
    Parameter("d_1", 0.003, "m", 1e-6, 0.1),
    Parameter("N_1", 150.0, "N", 1.0, 1e4),
    Parameter("T_u", 0.005, "s", 1e-3, 10.0),
)
STATES = {
    "x": "m", "v": "m/s", "z": "m", "z_rate": "m/s", "theta": "rad", "theta_rate": "rad/s",
    "z_r": "m", "z_r_rate": "m/s", "z_f": "m",
    "z_f_rate": "m/s", "w_r": "rad/s", "w_f": "rad/s", "u_r": "m", "u_f": "m",
}  # fmt: skip


def road(x: float, a: float) -> tuple[float, float]:
    """Return height in m and slope of the road under a tyre at x, averaged over x - a to x + a."""
    if x + a <= 2.0:
        return 0.0, 0.0
    if x - a >= 2.0:
        part = 0.02 * sin(WAVE * a) / (WAVE * a)
        return part * cos(WAVE * x) - 0.02, -part * WAVE * sin(WAVE * x)
    ahead, edge = x + a, 2.0
    area = 0.02 * ((sin(WAVE * ahead) - sin(WAVE * edge)) / WAVE - (ahead - edge))
    return area / (2.0 * a), 0.02 * (cos(WAVE * ahead) - 1.0) / (2.0 * a)


# cos(2 pi s) and sin(2 pi s) / s in powers of s^2 for |s| <= 1/2, through Chebyshev nodes: off by 6e-15 at most.
COSINE = (
    0.99999999999999382, -19.739208802173775, 64.939394022015505, -85.456817173236327,
    60.244640500551312, -26.426243739288744, 7.9034173439305876, -1.7137170601324671,
    0.2796922603463222, -0.03193726296857279,
)  # fmt: skip
SINE = (
    6.2831853071795846, -41.341702240398268, 81.605249275877916, -76.70585974295835,
    42.058693681824529, -15.094638639381965, 3.8199166676246768, -0.71791913004726314,
    0.10353197926616055, -0.010694441844600296,
)  # fmt: skip


def _series(c: tuple[float, ...], q: float) -> float:
    """Sum c_i q^i, i = 0 to 9, in short chains."""
    q2 = q * q
    q4 = q2 * q2
    low = (c[0] + c[1] * q) + (c[2] + c[3] * q) * q2
    high = (c[4] + c[5] * q) + (c[6] + c[7] * q) * q2
    return low + high * q4 + (c[8] + c[9] * q) * (q4 * q4)


def _tyre(K: float, Z: float, per_d_1: float, d: float, rate: float) -> float:
    if d <= 0.0:
        return 0.0
    return max(0.0, K * d + Z * rate * min(d * per_d_1, 1.0))


def _derived(p: Mapping[str, float]) -> dict[str, float]:
    """Constants of a run; `per_` is one over it."""
    M_b, wheelbase, a = p["M"] - p["m_r"] - p["m_f"], p["b_r"] + p["b_f"], WAVE * p["bridge"]
    load_r = 9.81 * (M_b * p["b_f"] / wheelbase + p["m_r"])
    load_f = 9.81 * p["M"] - load_r
    return {
        "load_r": load_r,
        "load_f": load_f,
        "sunk_r": load_r / p["K_rt"],
        "sunk_f": load_f / p["K_ft"],
        "per_M": 1 / p["M"],
        "per_M_b": 1 / M_b,
        "per_J_b": 1 / (M_b * p["gyration"] ** 2),
        "per_m_r": 1 / p["m_r"],
        "per_m_f": 1 / p["m_f"],
        "per_I_r": 1 / p["I_r"],
        "per_I_f": 1 / p["I_f"],
        "per_d_1": 1 / p["d_1"],
        "per_N_1": 1 / p["N_1"],
        "per_T_u": 1 / p["T_u"],
        "per_sigma": 1 / p["sigma"],
        "grip": p["k_x"] / p["mu_t"],
        "per_v_e": 1 / p["v_e"],
        "wave": ROAD_HEIGHT * np.sin(a) / a,
        "ahead_cos": np.cos(WAVE * wheelbase),
        "ahead_sin": np.sin(WAVE * wheelbase),
    }


@cache
def _system() -> OdeSystem:
    from numba import njit

    road_under, tyre, series = (njit(function, error_model="numpy") for function in (road, _tyre, _series))

    def body_rhs(t: float, x: Array, u: Array, p: Array, dx: Array, y: Array) -> None:
        # Calls and branches come first and parameters are read where they are needed: so the rest stays in registers.
        v, a, b_r, b_f = x[1], p[27], p[11], p[12]
        if x[0] - a >= 2.0:  # both wheels on the wave: its sine and cosine at the front follow from those at the rear
            wave, ahead_cos, ahead_sin = p[48], p[49], p[50]
            turns = x[0] * 0.3333333333333333  # of the wave
            turns -= floor(turns + 0.5)
            c, s = series(COSINE, turns * turns), turns * series(SINE, turns * turns)
            h_r, slope_r = wave * c - 0.02, -WAVE * wave * s
            h_f = wave * (c * ahead_cos - s * ahead_sin) - 0.02
            slope_f = -WAVE * wave * (s * ahead_cos + c * ahead_sin)
        else:
            h_r, slope_r = road_under(x[0], a)
            h_f, slope_f = road_under(x[0] + b_r + b_f, a)
        c_rr, v_e, per_v_e = p[24], p[25], p[47]
        rolling = c_rr if v >= 0.0 else -c_rr
        if abs(v) < 20.0 * v_e:  # beyond, the tanh is 1
            rolling = c_rr * tanh(v * per_v_e)
        K_rt, Z_rt, K_ft, Z_ft, sunk_r, sunk_f, per_d_1 = p[0], p[1], p[2], p[3], p[33], p[34], p[42]
        N_r = tyre(K_rt, Z_rt, per_d_1, sunk_r + h_r - x[6], slope_r * v - x[7])
        N_f = tyre(K_ft, Z_ft, per_d_1, sunk_f + h_f - x[8], slope_f * v - x[9])
        r_r, r_f, k_x, d_x = p[15], p[16], p[21], p[22]
        per_N_1, per_T_u, per_sigma, grip = p[43], p[44], p[45], p[46]
        slip_r, slip_f, relax = r_r * x[10] - v, r_f * x[11] - v, abs(v) * per_sigma
        g_r, g_f = min(N_r * per_N_1, 1.0), min(N_f * per_N_1, 1.0)
        u_r_rate = g_r * slip_r - (grip * abs(slip_r) + relax + (1.0 - g_r) * per_T_u) * x[12]
        u_f_rate = g_f * slip_f - (grip * abs(slip_f) + relax + (1.0 - g_f) * per_T_u) * x[13]
        X_r = N_r * (k_x * x[12] + d_x * u_r_rate)
        X_f = N_f * (k_x * x[13] + d_x * u_f_rate)
        K_rs, Z_rs, K_fs, Z_fs, load_r, load_f = p[4], p[5], p[6], p[7], p[31], p[32]
        F_r = K_rs * (x[6] - x[2] + b_r * x[4]) + Z_rs * (x[7] - x[3] + b_r * x[5])
        F_f = K_fs * (x[8] - x[2] - b_f * x[4]) + Z_fs * (x[9] - x[3] - b_f * x[5])
        H, i_f, drag, per_M, per_M_b, per_J_b = p[13], p[19], p[26], p[35], p[36], p[37]
        per_m_r, per_m_f, per_I_r, per_I_f = p[38], p[39], p[40], p[41]
        dx[0] = v
        dx[1] = (X_r + X_f - N_r * slope_r - N_f * slope_f - drag * v * abs(v)) * per_M
        dx[2] = x[3]
        dx[3] = (F_r + F_f) * per_M_b
        dx[4] = x[5]
        dx[5] = (b_f * F_f - b_r * F_r + H * (X_r + X_f)) * per_J_b
        dx[6] = x[7]
        dx[7] = (N_r - load_r - F_r) * per_m_r
        dx[8] = x[9]
        dx[9] = (N_f - load_f - F_f) * per_m_f
        dx[10] = (i_f * u[0] - u[1] - r_r * (X_r + rolling * N_r)) * per_I_r
        dx[11] = (-u[2] - r_f * (X_f + rolling * N_f)) * per_I_f
        dx[12] = u_r_rate
        dx[13] = u_f_rate
        y[0] = i_f * x[10] * 9.549296585513721
        y[1] = x[10] * 9.549296585513721
        y[2] = x[11] * 9.549296585513721
        y[3] = v
        y[4] = x[0]

    return ode(
        states=STATES,
        inputs={"tau_vd": "Nm", "tau_rw": "Nm", "tau_fw": "Nm"},
        outputs={"w_vd": "rpm", "w_rw": "rpm", "w_fw": "rpm", "v": "m/s", "x": "m"},
        parameters=PARAMETERS,
        derived=_derived,
        name="body",
    )(body_rhs)


@cache
def body() -> OdeSubstructure:
    """Return the body (tau_vd, tau_rw, tau_fw -> w_vd, w_rw, w_fw, v, x), at rest on a flat road at the start."""
    return OdeSubstructure(_system(), method="ab2", direct=())
