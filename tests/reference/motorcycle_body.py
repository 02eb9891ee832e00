"""Rates of the motorcycle's body as its equations stand, without constants made beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from math import cos, pi, sin, tanh

import numpy as np

from rt_runtime.checks import Array


def road(x: float, a: float) -> tuple[float, float]:
    """Mean height and slope over x - a to x + a of 0.02 (cos(2 pi x / 3) - 1) from 2 m on."""
    k = 2 * pi / 3
    low, high = max(x - a, 2.0), max(x + a, 2.0)
    area = 0.02 * ((sin(k * high) - sin(k * low)) / k - (high - low))
    ends = [0.02 * (cos(k * at) - 1) if at > 2.0 else 0.0 for at in (x - a, x + a)]
    return area / (2 * a), (ends[1] - ends[0]) / (2 * a)


def rates(x: Array, u: Array, p: Mapping[str, float]) -> Array:
    """Return dx/dt (14) of the states in the order of mor.models.motorcycle.vehicle_body."""
    s, v, z, z_rate, theta, theta_rate = x[:6]
    M_b = p["M"] - p["m_r"] - p["m_f"]
    wheels = {}
    for side, i, sign, share in (("r", 6, -1.0, p["b_f"]), ("f", 8, 1.0, p["b_r"])):
        m, K_t, Z_t = p[f"m_{side}"], p[f"K_{side}t"], p[f"Z_{side}t"]
        arm = sign * p[f"b_{side}"]
        N_0 = 9.81 * (M_b * share / (p["b_r"] + p["b_f"]) + m)
        height, slope = road(s if side == "r" else s + p["b_r"] + p["b_f"], p["bridge"])
        d = N_0 / K_t + height - x[i]
        N = max(0.0, K_t * d + Z_t * (slope * v - x[i + 1]) * min(d / p["d_1"], 1.0)) if d > 0 else 0.0
        F = p[f"K_{side}s"] * (x[i] - z - arm * theta) + p[f"Z_{side}s"] * (x[i + 1] - z_rate - arm * theta_rate)
        w, bristle = (x[10], x[12]) if side == "r" else (x[11], x[13])
        slip, g = p[f"r_{side}"] * w - v, min(N / p["N_1"], 1.0)
        back = p["k_x"] * abs(slip) / p["mu_t"] + abs(v) / p["sigma"] + (1 - g) / p["T_u"]
        bristle_rate = g * slip - back * bristle
        X = N * (p["k_x"] * bristle + p["d_x"] * bristle_rate)
        drive = p["i_f"] * u[0] - u[1] if side == "r" else -u[2]
        turning = drive - p[f"r_{side}"] * (X + p["c_rr"] * N * tanh(v / p["v_e"]))
        wheels[side] = {"F": F, "N": N, "X": X, "arm": arm, "slope": slope, "bristle": bristle_rate}
        wheels[side] |= {"lift": (N - N_0 - F) / m, "spin": turning / p[f"I_{side}"]}
    r, f = wheels["r"], wheels["f"]
    push = sum(wheel["X"] - wheel["N"] * wheel["slope"] for wheel in (r, f))
    pitch = sum(wheel["arm"] * wheel["F"] + p["H"] * wheel["X"] for wheel in (r, f))
    return np.array(
        [
            v,
            (push - p["drag"] * v * abs(v)) / p["M"],
            z_rate,
            (r["F"] + f["F"]) / M_b,
            theta_rate,
            pitch / (M_b * p["gyration"] ** 2),
            x[7],
            r["lift"],
            x[9],
            f["lift"],
            r["spin"],
            f["spin"],
            r["bristle"],
            f["bristle"],
        ]
    )
