"""The virtual test of the benchmark frame as one plain recursion, without noise."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from mor.models.benchmark_frame import BenchmarkFrame


def held(A: np.ndarray, B: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    n, m = B.shape
    block = np.zeros((n + m, n + m))
    block[:n] = np.hstack([A, B]) * dt
    e = linalg.expm(block)
    return e[:n, :n], e[:n, n:]


def first_order(M: np.ndarray, C: np.ndarray, K: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n = len(M)
    inverse = np.linalg.inv(M)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ K, -inverse @ C]])
    return A, np.vstack([np.zeros((n, F.shape[1])), inverse @ F])


def plain_benchmark(frame: BenchmarkFrame, ground: np.ndarray, dt: float) -> dict[str, np.ndarray]:
    """Run len(ground) ticks; the actuator's polynomial and the controller's difference equations are written out."""
    whole, part = frame.reference, frame.specimen
    m, c, k = part.mass, part.damping, part.stiffness
    at = np.zeros((3, 3))
    at[0, 0] = 1.0
    pull = -(whole.M @ np.ones(3))[:, None]
    Ar, Br = held(*first_order(whole.M, whole.C, whole.K, pull), dt)
    forces = np.hstack([pull, -at[:, :1]])
    cut = 29.13, 2 * 0.0097 * np.sqrt(1.19e6 * 29.13), 1.19e6  # the nominal specimen, whatever the real one is
    An, Bn = held(*first_order(whole.M - cut[0] * at, whole.C - cut[1] * at, whole.K - cut[2] * at, forces), dt)

    h = frame.hydraulic
    sum_1, sum_2 = c + m * h.a3, k + c * h.a3 + h.a2
    den = np.array([
        m, sum_1 + m * h.b1, sum_2 + sum_1 * h.b1 + m * h.b2, k * h.a3 + sum_2 * h.b1 + sum_1 * h.b2,
        k * h.a3 * h.b1 + sum_2 * h.b2, k * h.a3 * h.b2 + h.a1b0,
    ])  # fmt: skip
    scale = 300.0 ** np.arange(6)  # time in units of 1/300 s keeps the companion matrix well scaled
    Ap = np.diag(np.ones(4), -1)
    Ap[0] = -(den / den[0] / scale)[1:]
    Ap, Bp = held(300.0 * Ap, 300.0 * np.eye(5)[:, :1], dt)
    output = h.gain * h.a1b0 / den[0] / scale[5]

    a, b = 0.5 * dt * 168.6, 0.5 * dt * 8570.0
    xr, xn, xp = np.zeros(6), np.zeros(6), np.zeros(5)
    x1 = x2 = force = lead = target_before = command = error_before = 0.0
    names = ("target", "measured", "command", "feedback", "reference_3", "x_3")
    out = {name: np.zeros(len(ground)) for name in names}
    for i, acceleration in enumerate(ground):
        target, position = xn[0], output * xp[4]
        now = m * (position - 2 * x1 + x2) / dt**2 + c * (position - x1) / dt + k * position
        lead = (50.8 * ((1 + a) * target - (1 - a) * target_before) + (1 - b) * lead) / (1 + b)
        error = lead - position
        command = command + 2.0 * (error - error_before) + 95.0 * 0.5 * dt * (error + error_before)
        for name, value in zip(names, (target, position, command, now, xr[2], xn[2]), strict=True):
            out[name][i] = value
        xr = Ar @ xr + Br[:, 0] * acceleration
        xn = An @ xn + Bn @ np.array([acceleration, force])
        xp = Ap @ xp + Bp[:, 0] * command
        force, x2, x1, target_before, error_before = now, x1, position, target, error
    return out
